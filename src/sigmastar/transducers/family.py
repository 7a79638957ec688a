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
    name="transducers",
    summary="Transducers: strings to strings.",
    kinds={
        "transducer": Kind("sigmastar.transducers.model.transducer:Transducer", COMMANDS),
        "weighted-transducer": Kind(
            "sigmastar.transducers.model.weighted_transducer:WeightedTransducer", COMMANDS
        ),
    },
    estimators={
        "SpectralTransducer": "sigmastar.transducers.estimator:SpectralTransducer",
    },
    exports={
        "StringPairs": "sigmastar.transducers.data.string_pairs:StringPairs",
        "WeightedTransducer": "sigmastar.transducers.model.weighted_transducer:WeightedTransducer",
    },
    learn={
        "transducer": Command(
            "sigmastar.transducers.cli.learn:command", "Strings to strings, from pairs of them."
        ),
    },
    demo="sigmastar.transducers.demo:TransducerFamily",
)
