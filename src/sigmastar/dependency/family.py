"""What the rest of the program knows of this family."""

from __future__ import annotations

from sigmastar.core.family import Command, Family, Kind, Pace

HERE = "sigmastar.dependency."
COMMANDS = {name: f"{HERE}cli.models:{name}" for name in ("evaluate", "score", "predict", "sample")}
COMMANDS |= {name: f"{HERE}cli.models:{name}" for name in ("show", "convert")}
NAMES = {
    "data.conllu": "read_treebank read_conllu format_conllu write_conllu read_dp write_dp",
    "data.projectivity": "lift projective_sentences lift_with_marks undo_lifts",
    "model.parser": "DependencyParser",
    "model.head_automata": "HeadAutomata sample_trees",
    "model.generators": "make_head_automata",
    "metrics": "attachment",
    "gpu.heads": "TorchHeads",
    "learn.dfa": "approximate_dfa",
    "draw": "draw_arcs",
}

FAMILY = Family(
    name="dependency",
    summary="Dependency parsers: head automata, and trained arcs.",
    kinds={"dependency": Kind(f"{HERE}model.parser:DependencyParser", COMMANDS)},
    estimators={
        name: f"{HERE}estimator:{name}"
        for name in ("SpectralDependencyGrammar", "EMDependencyGrammar", "DeterministicDependencyGrammar")
    },
    exports={"DependencyTreebank": f"{HERE}data.treebank:DependencyTreebank"},
    names={name: f"{HERE}{module}:{name}" for module, names in NAMES.items() for name in names.split()},
    learn={
        "dependency": Command(f"{HERE}cli.learn:command", "A dependency parser from a treebank."),
    },
    formats={
        "conllu": f"{HERE}data.conllu:read_conllu",
        "dp": f"{HERE}data.conllu:read_dp",
    },
    metrics={
        "uas": "Share of words with the right head.",
        "uas_no_punct": "The same without punctuation.",
        "las": "Share of words with the right head and relation.",
        "n_fallback": "Number of sentences that the deterministic automata parsed.",
    },
    demo="sigmastar.dependency.demo:DependencyFamily",
    demo_seconds=18,
    explore="sigmastar.dependency.explore:open_exhibit",
    examples={
        "arcs of a little English": "sigmastar.dependency.explore:example",
    },
    pictures={"sigmastar.dependency.data.treebank:DependencyTreebank": f"{HERE}draw:draw_sentences"},
    laws="sigmastar.dependency.laws:DependencyLaws",
    paces={"SpectralDependencyGrammar": Pace({"n_words": 1.8e-4})},
)
