# Made by `python -m sigmastar.core.stubs` from the records of the families.
from sigmastar.grammars.data.bracketings import Bracketings as Bracketings, read_sentences as read_sentences
from sigmastar.grammars.estimator.completion import CompletionGrammar as CompletionGrammar
from sigmastar.grammars.estimator.learners import EMGrammar as EMGrammar, SpectralGrammar as SpectralGrammar
from sigmastar.grammars.metrics import (
    baselines as baselines,
    bracket_score as bracket_score,
    empirical_l1 as empirical_l1,
    grammar_distances as grammar_distances,
)
from sigmastar.grammars.model.generators import dyck as dyck, random_grammar as random_grammar
from sigmastar.grammars.model.grammar import WeightedGrammar as WeightedGrammar
from sigmastar.grammars.model.mass import (
    expected_length as expected_length,
    grammar_values_up_to as grammar_values_up_to,
    length_masses as length_masses,
    normalized as normalized,
    total_mass as total_mass,
)
from sigmastar.grammars.model.rules import of_rules as of_rules, to_rules as to_rules
