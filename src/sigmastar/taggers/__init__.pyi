# Made by `python -m sigmastar.core.stubs` from the records of the families.
from sigmastar.taggers.data.columns import TaggedLayout as TaggedLayout, read_tagged as read_tagged
from sigmastar.taggers.data.feature_templates import word_shape as word_shape
from sigmastar.taggers.data.generators import make_tagged as make_tagged
from sigmastar.taggers.data.sentences import TaggedSentences as TaggedSentences
from sigmastar.taggers.data.tokenizer import Tokenizer as Tokenizer
from sigmastar.taggers.draw import plot_tags as plot_tags
from sigmastar.taggers.estimator import (
    EMTagger as EMTagger,
    NgramTagger as NgramTagger,
    SpectralTagger as SpectralTagger,
)
from sigmastar.taggers.estimator.pipeline import Pipeline as Pipeline
from sigmastar.taggers.metrics import (
    chunk_counts as chunk_counts,
    n_nonpositive as n_nonpositive,
    tagging_scores as tagging_scores,
)
from sigmastar.taggers.model.pipeline import TextPipeline as TextPipeline
from sigmastar.taggers.model.tagger import Tagger as Tagger
