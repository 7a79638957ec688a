# Made by `python -m sigmastar.core.stubs` from the records of the families.
from sigmastar.trees.counts import TreeBasis as TreeBasis, frequent_trees as frequent_trees
from sigmastar.trees.data.binarize import (
    ENGLISH as ENGLISH,
    GENERIC as GENERIC,
    HeadRules as HeadRules,
    binarize as binarize,
    debinarize as debinarize,
    head_outward as head_outward,
    left as left,
    right as right,
)
from sigmastar.trees.data.brackets import (
    as_trees as as_trees,
    escaped as escaped,
    parse_brackets as parse_brackets,
    plain_label as plain_label,
    read_brackets as read_brackets,
    write_brackets as write_brackets,
)
from sigmastar.trees.data.productions import production_trees as production_trees
from sigmastar.trees.data.ranked import RankedAlphabet as RankedAlphabet, RankedTrees as RankedTrees
from sigmastar.trees.data.transforms import (
    collapse as collapse,
    composed as composed,
    expand as expand,
    relabelled as relabelled,
    tags as tags,
    with_root as with_root,
    without_empty as without_empty,
    without_functions as without_functions,
    without_root as without_root,
    without_traces as without_traces,
)
from sigmastar.trees.data.tree import Tree as Tree, bracketed as bracketed, fold as fold, to_nltk as to_nltk
from sigmastar.trees.draw import draw_tree as draw_tree, tree_text as tree_text
from sigmastar.trees.estimator import (
    SpectralLatentPCFG as SpectralLatentPCFG,
    SpectralTreeAutomaton as SpectralTreeAutomaton,
)
from sigmastar.trees.learn import (
    Moments as Moments,
    all_nodes as all_nodes,
    learn_latent_pcfg as learn_latent_pcfg,
    learn_tree_automaton as learn_tree_automaton,
    one_node as one_node,
    operators_of_moments as operators_of_moments,
    tree_automaton as tree_automaton,
)
from sigmastar.trees.model.automaton import TreeAutomaton as TreeAutomaton
from sigmastar.trees.model.generators import (
    make_latent_pcfg as make_latent_pcfg,
    make_tree_automaton as make_tree_automaton,
    make_treebank as make_treebank,
)
from sigmastar.trees.model.latent_pcfg import LatentPCFG as LatentPCFG
