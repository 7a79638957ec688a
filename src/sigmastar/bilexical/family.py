"""What the rest of the program knows of this family."""

from __future__ import annotations

from sigmastar.core.family import Command, Family, Kind

COMMANDS = {
    "evaluate": "sigmastar.automata.cli.evaluate:command",
    "score": "sigmastar.automata.cli.score:command",
    "predict": "sigmastar.automata.cli.predict:command",
    "sample": "sigmastar.automata.cli.sample:command",
    "show": "sigmastar.automata.cli.show:command",
    "convert": "sigmastar.automata.cli.convert:command",
}

FAMILY = Family(
    name="bilexical",
    summary="Word vectors, bilexical operators and prepositional-phrase attachment.",
    kinds={
        "vectors": Kind("sigmastar.bilexical.model.vectors:Vectors", COMMANDS),
        "bilexical": Kind("sigmastar.bilexical.model.bilexical:BilexicalModel", COMMANDS),
        "attachment": Kind("sigmastar.bilexical.model.attachment:AttachmentModel", COMMANDS),
    },
    estimators={
        "BilexicalOperator": "sigmastar.bilexical.estimator:BilexicalOperator",
        "PPAttachment": "sigmastar.bilexical.estimator:PPAttachment",
    },
    learn={
        "bilexical": Command(
            "sigmastar.bilexical.cli.learn_bilexical:command",
            "Which modifiers fit a head, from pairs and vectors.",
        ),
        "attachment": Command(
            "sigmastar.bilexical.cli.learn_attachment:command", "Where prepositional phrases attach."
        ),
    },
    commands={
        "vectors": Command(
            "sigmastar.bilexical.cli.vectors:command", "Distributional word vectors from running text."
        ),
    },
    demo="sigmastar.bilexical.demo:BilexicalFamily",
)
