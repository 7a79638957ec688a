"""The record of this family."""

from __future__ import annotations

from sigmastar.core.family import Command, Family, Kind, Pace

HERE = "sigmastar.taggers"
COMMANDS = {name: f"{HERE}.cli.models:{name}" for name in ("evaluate", "score", "predict", "show", "convert")}
OF_PIPELINES = {name: f"{HERE}.cli.pipeline:{name}" for name in ("evaluate", "predict", "show")}

FAMILY = Family(
    name="taggers",
    summary="Taggers: a tag for every word of a sentence.",
    kinds={
        "tagger": Kind(f"{HERE}.model.tagger:Tagger", COMMANDS, f"{HERE}.model.runtime:TaggerRuntime"),
        "pipeline": Kind(f"{HERE}.model.pipeline:TextPipeline", OF_PIPELINES),
    },
    estimators={
        "SpectralTagger": f"{HERE}.estimator:SpectralTagger",
        "EMTagger": f"{HERE}.estimator:EMTagger",
        "NgramTagger": f"{HERE}.estimator:NgramTagger",
        "Pipeline": f"{HERE}.estimator.pipeline:Pipeline",
    },
    exports={"TaggedSentences": f"{HERE}.data.sentences:TaggedSentences"},
    names={
        "TaggedLayout": f"{HERE}.data.columns:TaggedLayout",
        "Tagger": f"{HERE}.model.tagger:Tagger",
        "TextPipeline": f"{HERE}.model.pipeline:TextPipeline",
        "Tokenizer": f"{HERE}.data.tokenizer:Tokenizer",
        "chunk_counts": f"{HERE}.metrics:chunk_counts",
        "make_tagged": f"{HERE}.data.generators:make_tagged",
        "n_nonpositive": f"{HERE}.metrics:n_nonpositive",
        "plot_tags": f"{HERE}.draw:plot_tags",
        "read_tagged": f"{HERE}.data.columns:read_tagged",
        "tagging_scores": f"{HERE}.metrics:tagging_scores",
        "word_shape": f"{HERE}.data.feature_templates:word_shape",
    },
    learn={
        "tagger": Command(
            f"{HERE}.cli.learn:learn_tagger", "A tagger of words or chunks from tagged sentences."
        ),
        "pipeline": Command(
            f"{HERE}.cli.pipeline:learn_pipeline", "Tokenizer, tagger and parser of raw text from a treebank."
        ),
    },
    formats=dict.fromkeys(("columns", "conllu"), f"{HERE}.data.columns:read_tagged"),
    metrics={
        "accuracy": "Share of words with the right tag.",
        "unknown_accuracy": "Share of words that were not learned from, with the right tag.",
        "chunk_f1": "F1 of chunks, where tags are B-X, I-X and O.",
        "upos": "Share of words with the right part of speech, of pipelines.",
        "uas_gold_tags": "Share of words with the right head where tags are given, of pipelines.",
        "n_nonpositive": "Number of sentences without a positive normalizer, for signed operators.",
    },
    demo=f"{HERE}.demo:TaggerFamily",
    demo_seconds=24,
    explore=f"{HERE}.explore:open_exhibit",
    examples={
        "tags of a little English": f"{HERE}.explore:example",
    },
    pictures={f"{HERE}.data.sentences:TaggedSentences": f"{HERE}.draw:draw_tagged"},
    laws=f"{HERE}.laws:TaggerLaws",
    paces={"SpectralTagger": Pace({"n_words": 6.5e-5}), "Pipeline": Pace({"n_words": 7.0e-4})},
)
