"""Probabilistic grammars in the explorer: the best tree, the rules, and how loose the bounds are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from sigmastar.automata.data.strings import Strings
from sigmastar.automata.explore import StringsExhibit
from sigmastar.core.errors import InputError
from sigmastar.core.exhibit import (
    Example,
    Exhibit,
    Field,
    Inputs,
    Judged,
    Row,
    View,
    bars,
    learned_facts,
    table,
    words_of,
)
from sigmastar.core.toy_english import sentences
from sigmastar.pcfg.data.binary_form import BinaryForm
from sigmastar.pcfg.data.sentences import read_sentences
from sigmastar.pcfg.data.sentences import words_of as words_of_tree
from sigmastar.pcfg.estimator import ERMGrammar
from sigmastar.pcfg.model.hidden_markov import HiddenMarkovModel
from sigmastar.pcfg.model.pcfg import ProbabilisticCFG
from sigmastar.pcfg.model.probabilistic_grammar import (
    ProbabilisticGrammar,
    derivation_entropy,
    log_probability_of,
    sample_derivations,
)
from sigmastar.pcfg.theory.assumptions import estimate_assumptions
from sigmastar.pcfg.theory.bounds import Complexity
from sigmastar.trees.data.brackets import parse_brackets
from sigmastar.trees.data.tree import Tree
from sigmastar.trees.explore import tree_json, tree_view, trees_beside

_LONGEST, _RULES, _DRAWN, _MOST_ROWS = 40, 400, 2000, 500
_PRECISIONS = (3.0, 1.0, 0.3, 0.1, 0.03)


class PCFGExhibit:
    """A grammar and the probabilities of its rules."""

    def __init__(self, model: ProbabilisticCFG, learned: Mapping[str, Any]) -> None:
        self.model, self.learned = model, learned

    @property
    def fields(self) -> Sequence[Field]:
        example = str(self.learned.get("example") or self._drawn())
        return (Field("text", "A sentence", example, hint="words of the grammar"),)

    def _drawn(self) -> str:
        """A sentence of the grammar, not too long."""
        drawn = [list(map(str, words)) for words in self.model.sample(20, np.random.default_rng(0), _LONGEST)]
        lengths = [abs(len(words) - 7) for words in drawn]
        return " ".join(drawn[lengths.index(min(lengths))])

    def facts(self) -> dict[str, Any]:
        return {
            "kind": "probabilistic grammar",
            "rules": len(self.model.grammar.rules),
            "words": len(self.model.alphabet),
            **learned_facts(self.learned),
        }

    def overview(self) -> list[View]:
        order = np.argsort(-self.model.parameters, kind="stable")[:_RULES]
        rows = [
            (
                str(self.model.grammar.rules[k].left),
                _right(self.model.grammar.rules[k]),
                float(self.model.parameters[k]),
            )
            for k in order
        ]
        return [*bound_views(self.model), table("Rules", ("left", "right", "probability"), rows)]

    def coded(self, text: str) -> Strings:
        words = words_of(text, _LONGEST)
        if not words:
            raise InputError("type a sentence")
        return Strings.of([words], alphabet=self.model.alphabet)

    def answer(self, inputs: Inputs) -> list[View]:
        string = self.coded(inputs.get("text", ""))
        (tree,), log = self.model.best_trees(string), float(self.model.log_probability(string)[0])
        said = (
            f"Log-probability of the sentence {log:.4g}."
            if np.isfinite(log)
            else "The grammar has no such sentence."
        )
        views = [tree_view("The best tree", [] if tree is None else [("best", tree_json(tree))], said)]
        if tree is None:
            return views
        _, counts = self.model.expected_counts(string)
        used = np.argsort(-counts, kind="stable")[:24]
        pairs = [
            (f"{self.model.grammar.rules[k].left} → {_right(self.model.grammar.rules[k])}", float(counts[k]))
            for k in used
            if counts[k] > 1e-3
        ]
        top = float(counts.max())
        return [*views, bars("Rules used", pairs, "Expected number over all trees of the sentence.", top=top)]

    def predict(self, inputs: Inputs) -> Any:
        string = self.coded(inputs.get("text", ""))
        (tree,) = self.model.best_trees(string)
        return {
            "tree": None if tree is None else str(tree),
            "log_probability": float(self.model.log_probability(string)[0]),
        }

    def judge(self, path: str) -> Judged:
        data = [each for each in read_sentences(path) if len(words_of_tree(each)) <= _LONGEST][:_MOST_ROWS]
        strings = Strings.of(map(words_of_tree, data), alphabet=self.model.alphabet, allow_unknown=True)
        losses, found = -self.model.log_probability(strings), self.model.best_trees(strings)
        rows = []
        for each, loss, tree in zip(data, losses.tolist(), found, strict=True):
            text = " ".join(words_of_tree(each))
            beside: tuple[View, ...] = ()
            error: float | None = None
            if isinstance(each, Tree):
                error = float(tree != each)
                beside = (trees_beside(each, tree),)
            rows.append(Row(text, {"text": text}, len(text.split()), loss, error, beside))
        return Judged(rows, "loss, nats", "wrong trees")


def bound_views(model: ProbabilisticGrammar) -> list[View]:
    """How many samples the theory asks for, beside how far samples of a size are from the truth."""
    try:
        drawn = sample_derivations(model, _DRAWN, np.random.default_rng(0))
        losses, entropy = -log_probability_of(model, drawn), derivation_entropy(model)
        shape = Complexity(
            BinaryForm(model.events).binary.n_events, 1.5, estimate_assumptions(model, drawn), True
        )
    except (ValueError, ArithmeticError):  # derivations that need not end have no bound
        return []
    sizes = [2**k for k in range(4, 11)]
    measured = [
        float(np.mean([abs(losses[k : k + n].mean() - entropy) for k in range(0, _DRAWN - n + 1, n)]))
        for n in sizes
    ]
    # Few samples certify nothing: the curve of the bound begins where its precision is worth a picture.
    certified = [(shape.bound(epsilon, 0.1).log_samples / np.log(10), epsilon) for epsilon in _PRECISIONS]
    n, m = len(sizes), len(certified)
    data = {
        "x": [*np.log10(sizes), *(logarithm for logarithm, _ in certified)],
        "series": [
            {"name": "measured", "y": [*measured, *[None] * m]},
            {"name": "certified", "y": [*[None] * n, *(epsilon for _, epsilon in certified)]},
        ],
        "log": True,
        "x_name": "log10 of the number of samples",
        "y_name": "deviation, nats",
    }
    note = "How far the mean loss of so many samples is from its expectation, and when theory vouches for it."
    rows = [(epsilon, float(logarithm)) for logarithm, epsilon in certified]
    columns = ("deviation, nats", "log10 of samples")
    return [
        View("lines", "Bound against samples", data, note),
        table("Samples that the theory asks for", columns, rows, "With probability 0.9."),
    ]


def _right(rule: Any) -> str:
    return " ".join(getattr(part, "text", part) for part in rule.right)


def open_exhibit(model: ProbabilisticCFG | HiddenMarkovModel, learned: Mapping[str, Any]) -> Exhibit:
    """Hidden Markov models are models of strings, and shown as these."""
    return (
        PCFGExhibit(model, learned)
        if isinstance(model, ProbabilisticCFG)
        else _HiddenMarkovExhibit(model, learned)
    )


class _HiddenMarkovExhibit(StringsExhibit):
    """A hidden Markov model through its automaton."""

    def __init__(self, model: HiddenMarkovModel, learned: Mapping[str, Any]) -> None:
        super().__init__(model.automaton, learned)


def example() -> Example:
    """The rules of a little English, with probabilities from its trees."""
    trees = parse_brackets(" ".join(node.bracketed() for node in sentences(500)))
    model = ERMGrammar(random_state=0).fit(trees).model_
    return Example(model, {"method": "erm", "example": "the dog sees a cat with a telescope"})
