# Made by `python -m sigmastar.core.stubs` from the records of the families.
from sigmastar.pcfg.data.binary_form import BinaryForm as BinaryForm
from sigmastar.pcfg.data.events import Derivations as Derivations, EventSystem as EventSystem
from sigmastar.pcfg.data.formulas import (
    Formula as Formula,
    parse_dimacs as parse_dimacs,
    read_dimacs as read_dimacs,
    write_dimacs as write_dimacs,
)
from sigmastar.pcfg.data.rules import (
    Grammar as Grammar,
    Rule as Rule,
    WeightedRules as WeightedRules,
    Word as Word,
    parse_rules as parse_rules,
    read_rules as read_rules,
    write_rules as write_rules,
)
from sigmastar.pcfg.estimator import ERMGrammar as ERMGrammar
from sigmastar.pcfg.model.hidden_markov import HiddenMarkovModel as HiddenMarkovModel
from sigmastar.pcfg.model.pcfg import ProbabilisticCFG as ProbabilisticCFG
from sigmastar.pcfg.model.probabilistic_grammar import (
    ProbabilisticGrammar as ProbabilisticGrammar,
    derivation_entropy as derivation_entropy,
    divergence as divergence,
    sample_derivations as sample_derivations,
)
from sigmastar.pcfg.theory.assumptions import (
    Assumptions as Assumptions,
    Counterexample as Counterexample,
    TailFit as TailFit,
    counterexample as counterexample,
    fit_tail as fit_tail,
)
from sigmastar.pcfg.theory.bounds import (
    Complexity as Complexity,
    SampleBound as SampleBound,
    automaton_samples as automaton_samples,
    entropy_bound as entropy_bound,
    latent_pcfg_samples as latent_pcfg_samples,
    multiplicative_samples as multiplicative_samples,
    multiplicative_samples_from_strings as multiplicative_samples_from_strings,
)
from sigmastar.pcfg.theory.hardness import (
    Reduction as Reduction,
    assignment_of as assignment_of,
    best_likelihood as best_likelihood,
    parameters_of as parameters_of,
    reduce_formula as reduce_formula,
)
from sigmastar.pcfg.theory.latent_pcfg import TheoremConstants as TheoremConstants
