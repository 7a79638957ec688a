"""What the rest of the program knows of this family."""

from __future__ import annotations

from sigmastar.core.family import Command, Family, Kind

CLI = "sigmastar.dependency.cli:"
DATA = "sigmastar.dependency.data."
ESTIMATOR = "sigmastar.dependency.estimator.grammars:"
MODEL = "sigmastar.dependency.model."

FAMILY = Family(
    name="dependency",
    summary="Dependency parsers: head automata, and trained arcs.",
    kinds={
        "dependency": Kind(
            f"{MODEL}parser:DependencyParser",
            {
                "evaluate": f"{CLI}evaluate",
                "score": f"{CLI}score",
                "predict": f"{CLI}predict",
                "sample": f"{CLI}sample",
                "show": f"{CLI}show",
            },
        ),
    },
    estimators={
        "SpectralDependencyGrammar": f"{ESTIMATOR}SpectralDependencyGrammar",
        "EMDependencyGrammar": f"{ESTIMATOR}EMDependencyGrammar",
        "DeterministicDependencyGrammar": f"{ESTIMATOR}DeterministicDependencyGrammar",
    },
    exports={
        "DependencyTreebank": f"{DATA}treebank:DependencyTreebank",
    },
    names={
        "read_treebank": f"{DATA}conllu:read_treebank",
        "read_conllu": f"{DATA}conllu:read_conllu",
        "format_conllu": f"{DATA}conllu:format_conllu",
        "write_conllu": f"{DATA}conllu:write_conllu",
        "read_dp": f"{DATA}conllu:read_dp",
        "write_dp": f"{DATA}conllu:write_dp",
        "lift": f"{DATA}projectivity:lift",
        "projective_sentences": f"{DATA}projectivity:projective_sentences",
        "DependencyParser": f"{MODEL}parser:DependencyParser",
        "HeadAutomata": f"{MODEL}head_automata:HeadAutomata",
        "sample_trees": f"{MODEL}head_automata:sample_trees",
        "make_head_automata": f"{MODEL}generators:make_head_automata",
        "attachment": "sigmastar.dependency.metrics:attachment",
        "approximate_dfa": "sigmastar.dependency.learn.dfa:approximate_dfa",
        "draw_arcs": "sigmastar.dependency.draw:draw_arcs",
    },
    learn={
        "dependency": Command(f"{CLI}learn_dependency", "A projective dependency parser from a treebank."),
    },
    formats={
        "conllu": f"{DATA}conllu:read_conllu",
        "dp": f"{DATA}conllu:read_dp",
    },
    metrics={
        "uas": "Share of words with the right head.",
        "uas_no_punct": "The same without punctuation.",
        "las": "Share of words with the right head and relation.",
        "n_fallback": "Number of sentences that the deterministic automata parsed.",
    },
    demo="sigmastar.dependency.demo:DependencyFamily",
    laws="sigmastar.dependency.laws:DependencyLaws",
)
