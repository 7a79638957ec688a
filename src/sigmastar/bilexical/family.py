"""What the rest of the program knows of this family."""

from __future__ import annotations

from sigmastar.core.family import Command, Family, Kind

HERE = "sigmastar.bilexical"

FAMILY = Family(
    name="bilexical",
    summary="Word vectors, bilexical operators and prepositional-phrase attachment.",
    kinds={
        "vectors": Kind(
            f"{HERE}.model.vectors:Vectors",
            {
                "predict": f"{HERE}.cli.vectors:predict",
                "show": f"{HERE}.cli.vectors:show",
                "convert": f"{HERE}.cli.vectors:convert",
            },
        ),
        "bilexical": Kind(
            f"{HERE}.model.operator:BilexicalModel",
            {
                "evaluate": f"{HERE}.cli.operator:evaluate",
                "score": f"{HERE}.cli.operator:score",
                "predict": f"{HERE}.cli.operator:predict",
                "show": f"{HERE}.cli.operator:show",
                "convert": f"{HERE}.cli.operator:convert",
            },
        ),
        "attachment": Kind(
            f"{HERE}.model.attachment:AttachmentModel",
            {
                "evaluate": f"{HERE}.cli.attachment:evaluate",
                "score": f"{HERE}.cli.attachment:score",
                "predict": f"{HERE}.cli.attachment:predict",
                "show": f"{HERE}.cli.attachment:show",
            },
        ),
    },
    estimators={
        "WordVectors": f"{HERE}.estimator.word_vectors:WordVectors",
        "BilexicalOperator": f"{HERE}.estimator.bilexical_operator:BilexicalOperator",
        "PPAttachment": f"{HERE}.estimator.pp_attachment:PPAttachment",
    },
    names={
        "AttachmentModel": f"{HERE}.model.attachment:AttachmentModel",
        "BilexicalModel": f"{HERE}.model.operator:BilexicalModel",
        "HeadSplit": f"{HERE}.data.pairs:HeadSplit",
        "MadeRelation": f"{HERE}.model.generators:MadeRelation",
        "PairwiseAccuracy": f"{HERE}.metrics:PairwiseAccuracy",
        "Pairs": f"{HERE}.data.pairs:Pairs",
        "Pattern": f"{HERE}.data.relations:Pattern",
        "Quadruples": f"{HERE}.data.quadruples:Quadruples",
        "Vectors": f"{HERE}.model.vectors:Vectors",
        "capacity_curve": f"{HERE}.metrics:capacity_curve",
        "capacity_picture": f"{HERE}.draw:capacity_picture",
        "inner_product": f"{HERE}.learn.operator:inner_product",
        "interpolated": f"{HERE}.learn.attachment:interpolated",
        "interval_over_splits": f"{HERE}.metrics:interval_over_splits",
        "make_relation": f"{HERE}.model.generators:make_relation",
        "operator_page": f"{HERE}.draw:operator_page",
        "pairwise_accuracy": f"{HERE}.metrics:pairwise_accuracy",
        "plot_embedding": f"{HERE}.draw:plot_embedding",
        "read_pairs": f"{HERE}.data.pairs:read_pairs",
        "read_quadruples": f"{HERE}.data.quadruples:read_quadruples",
        "read_relation": f"{HERE}.data.relations:read_relation",
        "read_vectors": f"{HERE}.model.vectors:read_vectors",
        "read_word2vec": f"{HERE}.model.vectors:read_word2vec",
        "relation_pairs": f"{HERE}.data.relations:relation_pairs",
        "split_heads": f"{HERE}.data.pairs:split_heads",
        "word_map": f"{HERE}.draw:word_map",
        "write_word2vec": f"{HERE}.model.vectors:write_word2vec",
    },
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
    laws=f"{HERE}.laws:BilexicalLaws",
)
