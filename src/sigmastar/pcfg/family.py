"""What the rest of the program knows of this family."""

from __future__ import annotations

from sigmastar.core.family import Command, Family, Kind

HERE = "sigmastar.pcfg"
COMMANDS = {verb: f"{HERE}.cli.models:{verb}" for verb in ("evaluate", "score", "predict", "sample", "show")}

NAMES = {
    "data.rules": "Grammar Rule WeightedRules Word parse_rules read_rules write_rules",
    "data.events": "Derivations EventSystem",
    "data.binary_form": "BinaryForm",
    "data.formulas": "Formula parse_dimacs read_dimacs write_dimacs",
    "model.pcfg": "ProbabilisticCFG",
    "model.hidden_markov": "HiddenMarkovModel",
    "model.probabilistic_grammar": "ProbabilisticGrammar derivation_entropy divergence sample_derivations",
    "theory.assumptions": "Assumptions TailFit fit_tail Counterexample counterexample",
    "theory.bounds": "Complexity SampleBound automaton_samples entropy_bound latent_pcfg_samples "
    "multiplicative_samples multiplicative_samples_from_strings",
    "theory.hardness": "Reduction assignment_of best_likelihood parameters_of reduce_formula",
    "theory.latent_pcfg": "TheoremConstants",
}
"""Names of the package beside the estimator, by module."""

FAMILY = Family(
    name="pcfg",
    summary="Probabilistic grammars on given rules: empirical risk minimization and its theory.",
    kinds={
        "pcfg": Kind(
            f"{HERE}.model.pcfg:ProbabilisticCFG",
            COMMANDS | {"convert": f"{HERE}.cli.models:convert_grammar"},
        ),
        "hidden-markov": Kind(
            f"{HERE}.model.hidden_markov:HiddenMarkovModel",
            COMMANDS | {"convert": f"{HERE}.cli.models:convert_hidden_markov"},
        ),
    },
    estimators={"ERMGrammar": f"{HERE}.estimator:ERMGrammar"},
    names={name: f"{HERE}.{module}:{name}" for module, names in NAMES.items() for name in names.split()},
    learn={
        "pcfg": Command(
            f"{HERE}.cli.learn:command", "Probabilities of a grammar's rules, from trees or strings."
        )
    },
    commands={
        "bound": Command(f"{HERE}.cli.bound:command", "Number of samples that the theory requires."),
        "hardness": Command(
            f"{HERE}.cli.hardness:command", "Satisfiability as maximum likelihood of a string."
        ),
    },
    formats={"rules": f"{HERE}.data.rules:read_rules", "dimacs": f"{HERE}.data.formulas:read_dimacs"},
    metrics={
        "log_loss": "Mean of -log p, in nats per sentence.",
        "log_loss_possible": "The same over the sentences that have a probability.",
        "n_impossible": "Number of sentences without a probability.",
        "symbol_perplexity": "Of a hidden Markov model: exp of the mean of -log p per symbol.",
        "next_symbol_error": "Of a hidden Markov model: share of next symbols that are predicted wrongly.",
    },
    demo=f"{HERE}.demo:GrammarFamily",
    demo_seconds=24,
    explore=f"{HERE}.explore:open_exhibit",
    examples={
        "rules of a little English": f"{HERE}.explore:example",
    },
    laws=f"{HERE}.laws:GrammarLaws",
)
