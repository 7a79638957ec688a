"""What the rest of the program knows of this family."""

from __future__ import annotations

from sigmastar.core.family import Command, Family, Kind

FAMILY = Family(
    name="taggers",
    summary="Taggers: a tag for every word of a sentence.",
    kinds={
        "tagger": Kind(
            "sigmastar.taggers.model.tagger:Tagger",
            {
                "evaluate": "sigmastar.taggers.cli.models:evaluate",
                "score": "sigmastar.taggers.cli.models:score",
                "predict": "sigmastar.taggers.cli.models:predict",
                "show": "sigmastar.taggers.cli.models:show",
            },
        ),
    },
    estimators={
        "SpectralTagger": "sigmastar.taggers.estimator:SpectralTagger",
        "EMTagger": "sigmastar.taggers.estimator:EMTagger",
        "NgramTagger": "sigmastar.taggers.estimator:NgramTagger",
    },
    exports={
        "TaggedSentences": "sigmastar.taggers.data.sentences:TaggedSentences",
    },
    names={
        "Tagger": "sigmastar.taggers.model.tagger:Tagger",
        "TaggedLayout": "sigmastar.taggers.data.columns:TaggedLayout",
        "read_tagged": "sigmastar.taggers.data.columns:read_tagged",
        "make_tagged": "sigmastar.taggers.data.generators:make_tagged",
        "word_shape": "sigmastar.taggers.data.features:word_shape",
        "tagging_scores": "sigmastar.taggers.metrics:tagging_scores",
        "chunk_counts": "sigmastar.taggers.metrics:chunk_counts",
        "n_nonpositive": "sigmastar.taggers.metrics:n_nonpositive",
        "plot_tags": "sigmastar.taggers.draw:plot_tags",
    },
    learn={
        "tagger": Command(
            "sigmastar.taggers.cli.learn:learn_tagger",
            "A tagger of words or chunks from tagged sentences.",
        ),
    },
    formats={
        "columns": "sigmastar.taggers.data.columns:read_tagged",
        "conllu": "sigmastar.taggers.data.columns:read_tagged",
    },
    metrics={
        "accuracy": "the share of words with the right tag",
        "unknown_accuracy": "the same of words that were not learned from",
        "chunk_f1": "the F1 of chunks, where tags are B-X, I-X and O",
        "n_nonpositive": "the number of sentences without a positive normalizer, of signed operators",
    },
    demo="sigmastar.taggers.demo:TaggerFamily",
    laws="sigmastar.taggers.laws:TaggerLaws",
)
