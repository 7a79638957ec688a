"""What the rest of the program knows of this family."""

from __future__ import annotations

from sigmastar.core.family import Command, Family, Kind

HERE = "sigmastar.grammars"
COMMANDS = ("evaluate", "score", "predict", "sample", "show", "convert")

FAMILY = Family(
    name="grammars",
    summary="Weighted context-free grammars, from brackets or from bare strings.",
    kinds={
        "grammar": Kind(
            f"{HERE}.model.grammar:WeightedGrammar",
            {name: f"{HERE}.cli.models:{name}" for name in COMMANDS},
        ),
    },
    estimators={
        "SpectralGrammar": f"{HERE}.estimator.learners:SpectralGrammar",
        "CompletionGrammar": f"{HERE}.estimator.learners:CompletionGrammar",
        "EMGrammar": f"{HERE}.estimator.learners:EMGrammar",
    },
    exports={"WeightedGrammar": f"{HERE}.model.grammar:WeightedGrammar"},
    names={
        "Bracketings": f"{HERE}.data.bracketings:Bracketings",
        "baselines": f"{HERE}.metrics:baselines",
        "bracket_score": f"{HERE}.metrics:bracket_score",
        "dyck": f"{HERE}.model.generators:dyck",
        "empirical_l1": f"{HERE}.metrics:empirical_l1",
        "expected_length": f"{HERE}.model.mass:expected_length",
        "grammar_distances": f"{HERE}.metrics:grammar_distances",
        "grammar_values_up_to": f"{HERE}.model.mass:grammar_values_up_to",
        "length_masses": f"{HERE}.model.mass:length_masses",
        "normalized": f"{HERE}.model.mass:normalized",
        "of_rules": f"{HERE}.model.rules:of_rules",
        "random_grammar": f"{HERE}.model.generators:random_grammar",
        "read_sentences": f"{HERE}.data.bracketings:read_sentences",
        "to_rules": f"{HERE}.model.rules:to_rules",
        "total_mass": f"{HERE}.model.mass:total_mass",
    },
    learn={
        "grammar": Command(
            f"{HERE}.cli.learn:command", "A weighted grammar from brackets, or from bare strings."
        ),
    },
    formats={"trees or lines": f"{HERE}.data.bracketings:read_sentences"},
    metrics={
        "log_likelihood": "mean log-probability per string",
        "log_likelihood_possible": "the same over strings that have a probability",
        "n_impossible": "number of strings without a probability",
        "perplexity": "per symbol and end of string, of proper grammars",
        "l1": "sum of differences to frequencies, or to a reference",
        "kl": "divergence from a reference on short strings, in nats",
        "bracket_f1": "unlabelled F1 of spans, without single symbols and whole strings",
    },
    demo=f"{HERE}.demo:GrammarDemo",
    laws=f"{HERE}.laws:GrammarLaws",
)
