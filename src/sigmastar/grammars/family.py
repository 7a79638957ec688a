"""What the rest of the program knows of this family."""

from __future__ import annotations

from sigmastar.core.family import Command, Family, Kind, Pace

HERE = "sigmastar.grammars"
COMMANDS = {
    name: f"{HERE}.cli.models:{name}"
    for name in ("evaluate", "score", "predict", "sample", "show", "convert")
}

NAMES = {
    "data.bracketings": "Bracketings read_sentences",
    "model.generators": "dyck random_grammar",
    "model.mass": "expected_length grammar_values_up_to length_masses normalized total_mass",
    "model.rules": "of_rules to_rules",
    "metrics": "baselines bracket_score empirical_l1 grammar_distances",
}
"""Names of the package beside the estimators, by module."""

FAMILY = Family(
    name="grammars",
    summary="Weighted context-free grammars, from brackets or from bare strings.",
    kinds={"grammar": Kind(f"{HERE}.model.grammar:WeightedGrammar", COMMANDS)},
    estimators={
        "SpectralGrammar": f"{HERE}.estimator.learners:SpectralGrammar",
        "CompletionGrammar": f"{HERE}.estimator.completion:CompletionGrammar",
        "EMGrammar": f"{HERE}.estimator.learners:EMGrammar",
    },
    exports={"WeightedGrammar": f"{HERE}.model.grammar:WeightedGrammar"},
    names={name: f"{HERE}.{module}:{name}" for module, names in NAMES.items() for name in names.split()},
    learn={
        "grammar": Command(
            f"{HERE}.cli.learn:command", "A weighted grammar from brackets, or from bare strings."
        ),
    },
    formats={"trees or lines": f"{HERE}.data.bracketings:read_sentences"},
    metrics={
        "log_likelihood": "Mean log-probability per string.",
        "log_likelihood_possible": "The same over strings that have a probability.",
        "n_impossible": "Number of strings without a probability.",
        "perplexity": "Per symbol and end of string, of proper grammars.",
        "total_mass": "Weight of all strings together; 1 of proper grammars, none where it is infinite.",
        "l1": "Sum of differences to frequencies, or to a reference.",
        "kl": "Divergence from a reference on short strings, in nats.",
        "bracket_f1": "Unlabelled F1 of spans, without single symbols and whole strings.",
    },
    demo=f"{HERE}.demo:GrammarDemo",
    demo_seconds=12,
    explore=f"{HERE}.explore:open_exhibit",
    examples={
        "brackets of a little English": f"{HERE}.explore:example",
    },
    laws=f"{HERE}.laws:GrammarLaws",
    paces={
        "SpectralGrammar": Pace({"n_symbols": 1.2e-4, "n_symbols^2": 1.6e-9}),
    },
)
