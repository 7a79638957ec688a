"""Spectral learning of weighted automata, transducers, tree automata and grammars."""

from __future__ import annotations

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

# The public names and the modules that define them. A name is imported when it is first asked for:
# `import sigmastar` stays cheap. To publish a name, add `"Name": "sigmastar.layer.module"` here.
_EXPORTS: dict[str, str] = {
    "Alphabet": "sigmastar.structures.alphabet",
    "DependencyTreebank": "sigmastar.structures.dependencies",
    "DeterministicDependencyGrammar": "sigmastar.estimators.dependency",
    "BilexicalOperator": "sigmastar.estimators.bilexical",
    "EMAutomaton": "sigmastar.estimators.automata",
    "ERMGrammar": "sigmastar.estimators.erm",
    "CompletionGrammar": "sigmastar.estimators.grammar",
    "EMGrammar": "sigmastar.estimators.grammar",
    "EMDependencyGrammar": "sigmastar.estimators.dependency",
    "EMTagger": "sigmastar.estimators.tagger",
    "END": "sigmastar.estimators.symbols",
    "HankelClassifier": "sigmastar.estimators.hankel",
    "HankelRegressor": "sigmastar.estimators.hankel",
    "InputError": "sigmastar.errors",
    "ModelFileError": "sigmastar.errors",
    "NgramAutomaton": "sigmastar.estimators.automata",
    "NotFittedError": "sigmastar.errors",
    "PPAttachment": "sigmastar.estimators.bilexical",
    "SpectralAutomaton": "sigmastar.estimators.automata",
    "SpectralGrammar": "sigmastar.estimators.grammar",
    "WeightedGrammar": "sigmastar.operators.wcfg",
    "SpectralDependencyGrammar": "sigmastar.estimators.dependency",
    "SpectralTransducer": "sigmastar.estimators.transducers",
    "StringPairs": "sigmastar.structures.string_pairs",
    "WeightedTransducer": "sigmastar.operators.weighted_transducer",
    "SpectralTreeAutomaton": "sigmastar.estimators.tree_automata",
    "SpectralTreebankGrammar": "sigmastar.estimators.treebank",
    "EMTreebankGrammar": "sigmastar.estimators.treebank",
    "PCFG": "sigmastar.estimators.treebank",
    "SpectralTagger": "sigmastar.estimators.tagger",
    "Strings": "sigmastar.structures.strings",
    "TaggedSentences": "sigmastar.structures.tagged",
    "Tree": "sigmastar.structures.trees",
    "TreeAutomaton": "sigmastar.operators.tree_automaton",
    "UnknownSymbolError": "sigmastar.errors",
    "WeightedAutomaton": "sigmastar.operators.automaton",
    "load_model": "sigmastar.operators.files",
    "save_model": "sigmastar.operators.files",
}

__all__ = ["__version__", *_EXPORTS]


def __getattr__(name: str) -> Any:
    if name not in _EXPORTS:
        raise AttributeError(f"module 'sigmastar' has no attribute {name!r}")
    value = getattr(import_module(_EXPORTS[name]), name)
    globals()[name] = value  # so that the next access does not come here
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_EXPORTS})
