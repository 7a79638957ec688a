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
    name="taggers",
    summary="Taggers: a tag for every word of a sentence.",
    kinds={
        "tagger": Kind("sigmastar.taggers.model.tagger:Tagger", COMMANDS),
    },
    estimators={
        "SpectralTagger": "sigmastar.taggers.estimator:SpectralTagger",
        "EMTagger": "sigmastar.taggers.estimator:EMTagger",
    },
    exports={
        "TaggedSentences": "sigmastar.taggers.data.sentences:TaggedSentences",
    },
    learn={
        "tagger": Command(
            "sigmastar.taggers.cli.learn:command", "A tagger of words, or of chunks, from tagged sentences."
        ),
    },
    demo="sigmastar.taggers.demo:TaggerFamily",
)
