"""What the rest of the program knows of this family."""

from __future__ import annotations

from sigmastar.core.family import Command, Family, Kind, Pace

HERE = "sigmastar.trees."
COMMANDS = {name: f"{HERE}cli:{name}" for name in ("evaluate", "score", "sample", "show", "convert")}

NAMES = {
    "data.tree": "fold bracketed to_nltk",
    "data.brackets": "as_trees parse_brackets read_brackets write_brackets plain_label escaped",
    "data.transforms": "composed without_traces without_empty without_functions relabelled collapse expand "
    "with_root without_root tags",
    "data.binarize": "binarize debinarize right left head_outward HeadRules ENGLISH GENERIC",
    "data.ranked": "RankedAlphabet RankedTrees",
    "data.productions": "production_trees",
    "counts": "TreeBasis frequent_trees",
    "model.generators": "make_tree_automaton make_latent_pcfg make_treebank",
    "learn": "learn_tree_automaton tree_automaton learn_latent_pcfg Moments operators_of_moments all_nodes "
    "one_node",
    "draw": "draw_tree tree_text",
}

FAMILY = Family(
    name="trees",
    summary="Tree automata and latent-variable PCFGs as operators on trees.",
    kinds={
        "tree-automaton": Kind(f"{HERE}model.automaton:TreeAutomaton", COMMANDS),
        "latent-pcfg": Kind(f"{HERE}model.latent_pcfg:LatentPCFG", COMMANDS),
    },
    estimators={
        "SpectralTreeAutomaton": f"{HERE}estimator:SpectralTreeAutomaton",
        "SpectralLatentPCFG": f"{HERE}estimator:SpectralLatentPCFG",
    },
    exports={
        "Tree": f"{HERE}data.tree:Tree",
        "TreeAutomaton": f"{HERE}model.automaton:TreeAutomaton",
        "LatentPCFG": f"{HERE}model.latent_pcfg:LatentPCFG",
    },
    names={name: f"{HERE}{module}:{name}" for module, names in NAMES.items() for name in names.split()},
    learn={
        "trees": Command(
            f"{HERE}cli:learn_trees", "A tree automaton or a latent PCFG from trees in brackets."
        )
    },
    formats={"brackets": f"{HERE}data.brackets:read_brackets"},
    metrics={"log_probability": "Mean log-probability of trees"},
    pictures={f"{HERE}data.tree:Tree": f"{HERE}draw:draw_tree"},
    laws=f"{HERE}laws:TreeLaws",
    paces={
        "SpectralTreeAutomaton": Pace({"n_nodes": 3.4e-6}),
        "SpectralLatentPCFG": Pace({"n_nodes": 2.0e-6}),
    },
    explore=f"{HERE}explore:open_exhibit",
    examples={
        "trees of a little English": f"{HERE}explore:example_automaton",
    },
)
