"""What the rest of the program knows of this family."""

from __future__ import annotations

from sigmastar.core.family import Command, Family, Kind, Pace

HERE = "sigmastar.bilexical"
COMMANDS = {
    module: {verb: f"{HERE}.cli.{module}:{verb}" for verb in verbs.split()}
    for module, verbs in {
        "vectors": "predict show convert",
        "operator": "evaluate score predict show convert",
        "attachment": "evaluate score predict show",
    }.items()
}
NAMES = {
    "data.pairs": "HeadSplit Pairs read_pairs split_heads",
    "data.quadruples": "Quadruples read_quadruples",
    "data.relations": "Pattern read_relation relation_pairs",
    "model.attachment": "AttachmentModel",
    "model.operator": "BilexicalModel MadeRelation make_relation",
    "model.vectors": "Vectors read_vectors read_word2vec write_word2vec",
    "metrics": "PairwiseAccuracy capacity_curve interval_over_splits pairwise_accuracy",
    "learn.attachment": "interpolated",
    "learn.vectors": "ChosenInnerProduct best_inner_product inner_product vector_forms",
    "draw": "capacity_picture operator_page plot_embedding word_map",
}
"""Names of the package beside the estimators, by module."""

FAMILY = Family(
    name="bilexical",
    summary="Word vectors, bilexical operators and prepositional-phrase attachment.",
    kinds={
        "vectors": Kind(f"{HERE}.model.vectors:Vectors", COMMANDS["vectors"]),
        "bilexical": Kind(f"{HERE}.model.operator:BilexicalModel", COMMANDS["operator"]),
        "attachment": Kind(f"{HERE}.model.attachment:AttachmentModel", COMMANDS["attachment"]),
    },
    estimators={
        "WordVectors": f"{HERE}.estimator.word_vectors:WordVectors",
        "BilexicalOperator": f"{HERE}.estimator.bilexical_operator:BilexicalOperator",
        "PPAttachment": f"{HERE}.estimator.pp_attachment:PPAttachment",
    },
    names={name: f"{HERE}.{module}:{name}" for module, names in NAMES.items() for name in names.split()},
    learn={
        "bilexical": Command(
            f"{HERE}.cli.learn:bilexical", "Modifiers that fit a head, from pairs and vectors."
        ),
        "attachment": Command(f"{HERE}.cli.learn:attachment", "Attachment of prepositional phrases."),
    },
    commands={
        "vectors": Command(f"{HERE}.cli.vectors:command", "Distributional word vectors from running text."),
    },
    formats={
        "pairs": f"{HERE}.data.pairs:read_pairs",
        "quadruples": f"{HERE}.data.quadruples:read_quadruples",
        "word2vec": f"{HERE}.model.vectors:read_word2vec",
    },
    metrics={
        "pairwise_accuracy": "Share of (compatible, other) modifiers in the right order, on unseen heads.",
        "pairwise_accuracy_matched": "The same among modifiers of like popularity.",
        "pairwise_accuracy_by_head": "The mean of the shares of the heads.",
        "popularity_accuracy": "Pairwise accuracy of the popularity of modifiers alone.",
        "accuracy": "Share of right attachments.",
        "p_value_against_linear": "McNemar's test of the pool against the linear judge.",
    },
    demo=f"{HERE}.demo:BilexicalFamily",
    demo_seconds=4,
    explore=f"{HERE}.explore:open_exhibit",
    examples={
        "words by the company they keep": f"{HERE}.explore:example_vectors",
        "verbs that fit a thing": f"{HERE}.explore:example_operator",
        "where a phrase attaches": f"{HERE}.explore:example_attachment",
    },
    laws=f"{HERE}.laws:BilexicalLaws",
    paces={"PPAttachment": Pace({"rows": 3e-4}, fixed=0.5)},
)
