# Made by `python -m sigmastar.core.stubs` from the records of the families.
from sigmastar.automata.counts.bases import (
    PREFIX as PREFIX,
    STRING as STRING,
    SUBSTRING as SUBSTRING,
    all_up_to as all_up_to,
    most_frequent as most_frequent,
)
from sigmastar.automata.counts.block_smoothing import (
    add_strings as add_strings,
    exact_blocks as exact_blocks,
    scale_by_counts as scale_by_counts,
    unigram_blocks as unigram_blocks,
)
from sigmastar.automata.counts.on_basis import count_strings as count_strings
from sigmastar.automata.data.formats import (
    FORMATS as FORMATS,
    read_lines as read_lines,
    write_lines as write_lines,
)
from sigmastar.automata.data.pautomac import (
    read_pautomac as read_pautomac,
    read_solution as read_solution,
    write_pautomac as write_pautomac,
)
from sigmastar.automata.data.spice import read_spice as read_spice, read_spice_targets as read_spice_targets
from sigmastar.automata.data.strings import Strings as Strings
from sigmastar.automata.draw.graph import draw_automaton as draw_automaton
from sigmastar.automata.draw.plots import (
    plot_next_symbols as plot_next_symbols,
    plot_spectrum as plot_spectrum,
)
from sigmastar.automata.estimator.em_and_ngram import (
    EMAutomaton as EMAutomaton,
    NgramAutomaton as NgramAutomaton,
)
from sigmastar.automata.estimator.spectral import SpectralAutomaton as SpectralAutomaton
from sigmastar.automata.gpu.markov import TorchMarkov as TorchMarkov
from sigmastar.automata.gpu.weighted import TorchAutomaton as TorchAutomaton
from sigmastar.automata.learn.repair import REPAIRS as REPAIRS
from sigmastar.automata.learn.spectral import (
    learn_automaton as learn_automaton,
    string_automaton as string_automaton,
)
from sigmastar.automata.metrics import (
    competition_perplexity as competition_perplexity,
    kl_by_sampling as kl_by_sampling,
    kl_on as kl_on,
    log_likelihood as log_likelihood,
    ndcg as ndcg,
    next_symbol_error as next_symbol_error,
    perplexity as perplexity,
)
from sigmastar.automata.model.algebra import (
    add as add,
    difference as difference,
    hadamard as hadamard,
    mixture as mixture,
    prefix_to_string as prefix_to_string,
    prefix_to_substring as prefix_to_substring,
    reverse as reverse,
    scale as scale,
    string_to_prefix as string_to_prefix,
    string_to_substring as string_to_substring,
    substring_to_prefix as substring_to_prefix,
    substring_to_string as substring_to_string,
)
from sigmastar.automata.model.arpa import read_arpa as read_arpa, write_arpa as write_arpa
from sigmastar.automata.model.att import read_att as read_att, write_att as write_att
from sigmastar.automata.model.automaton import WeightedAutomaton as WeightedAutomaton
from sigmastar.automata.model.classed import ClassedAutomaton as ClassedAutomaton
from sigmastar.automata.model.dfa import DFA as DFA, intersect as intersect
from sigmastar.automata.model.diagnosis import diagnose as diagnose
from sigmastar.automata.model.distances import (
    equivalent as equivalent,
    l1_up_to as l1_up_to,
    l2_distance as l2_distance,
    l2_norm as l2_norm,
    values_up_to as values_up_to,
)
from sigmastar.automata.model.dot import write_dot as write_dot
from sigmastar.automata.model.generators import (
    make_automaton as make_automaton,
    make_dyck as make_dyck,
    make_hmm as make_hmm,
    make_strings as make_strings,
)
from sigmastar.automata.model.hidden_states import (
    best_states as best_states,
    state_posteriors as state_posteriors,
)
from sigmastar.automata.model.hmm_conversion import (
    Hmm as Hmm,
    as_hmm as as_hmm,
    from_hmm as from_hmm,
    to_hmm as to_hmm,
)
from sigmastar.automata.model.minimize import (
    SingularValueAutomaton as SingularValueAutomaton,
    approximate as approximate,
    minimal_rank as minimal_rank,
    minimize as minimize,
)
from sigmastar.automata.model.ngram_smoothing import (
    NgramModel as NgramModel,
    kneser_ney as kneser_ney,
    modified_kneser_ney as modified_kneser_ney,
    witten_bell as witten_bell,
)
from sigmastar.automata.model.pautomac_machine import (
    read_pautomac_model as read_pautomac_model,
    write_pautomac_model as write_pautomac_model,
)
from sigmastar.automata.model.restart_filter import FilteredAutomaton as FilteredAutomaton
from sigmastar.automata.model.sequence import SequenceModel as SequenceModel
from sigmastar.core.alphabet import END as END
