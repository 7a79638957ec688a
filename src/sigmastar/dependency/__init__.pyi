# Made by `python -m sigmastar.core.stubs` from the records of the families.
from sigmastar.dependency.data.conllu import (
    format_conllu as format_conllu,
    read_conllu as read_conllu,
    read_dp as read_dp,
    read_treebank as read_treebank,
    write_conllu as write_conllu,
    write_dp as write_dp,
)
from sigmastar.dependency.data.projectivity import (
    lift as lift,
    lift_with_marks as lift_with_marks,
    projective_sentences as projective_sentences,
    undo_lifts as undo_lifts,
)
from sigmastar.dependency.data.treebank import DependencyTreebank as DependencyTreebank
from sigmastar.dependency.draw import draw_arcs as draw_arcs
from sigmastar.dependency.estimator import (
    DeterministicDependencyGrammar as DeterministicDependencyGrammar,
    EMDependencyGrammar as EMDependencyGrammar,
    SpectralDependencyGrammar as SpectralDependencyGrammar,
)
from sigmastar.dependency.gpu.heads import TorchHeads as TorchHeads
from sigmastar.dependency.learn.dfa import approximate_dfa as approximate_dfa
from sigmastar.dependency.metrics import attachment as attachment
from sigmastar.dependency.model.generators import make_head_automata as make_head_automata
from sigmastar.dependency.model.head_automata import (
    HeadAutomata as HeadAutomata,
    sample_trees as sample_trees,
)
from sigmastar.dependency.model.parser import DependencyParser as DependencyParser
