"""What the rest of the program knows of this family."""

from __future__ import annotations

from sigmastar.core.family import Command, Family, Kind

COMMANDS = {
    "evaluate": "sigmastar.automata.cli.evaluate:command",
    "score": "sigmastar.automata.cli.score:command",
    "predict": "sigmastar.automata.cli.predict:command",
    "sample": "sigmastar.automata.cli.sample:command",
    "show": "sigmastar.automata.cli.show:command",
    "convert": "sigmastar.automata.cli.convert:command",
}

FAMILY = Family(
    name="automata",
    summary="Weighted automata, hidden Markov models and n-grams: distributions on strings.",
    kinds={
        "automaton": Kind("sigmastar.automata.model.automaton:WeightedAutomaton", COMMANDS),
        "filtered-automaton": Kind("sigmastar.automata.model.filtered:FilteredAutomaton", COMMANDS),
        "averaged-filters": Kind("sigmastar.automata.model.averaged:AveragedFilters", COMMANDS),
        "ngram": Kind("sigmastar.automata.model.ngram:NgramModel", COMMANDS),
    },
    estimators={
        "SpectralAutomaton": "sigmastar.automata.estimator:SpectralAutomaton",
        "EMAutomaton": "sigmastar.automata.estimator:EMAutomaton",
        "NgramAutomaton": "sigmastar.automata.estimator:NgramAutomaton",
    },
    exports={
        "END": "sigmastar.automata.data.inputs:END",
        "Strings": "sigmastar.automata.data.strings:Strings",
        "WeightedAutomaton": "sigmastar.automata.model.automaton:WeightedAutomaton",
    },
    learn={
        "automaton": Command(
            "sigmastar.automata.cli.learn:command", "A weighted automaton, or an n-gram model, from strings."
        ),
    },
    demo="sigmastar.automata.demo:AutomataFamily",
)
