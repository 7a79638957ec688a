"""Components of spaCy pipelines: `sigmastar_tagger` and `sigmastar_parser`, by entry points.

    nlp = spacy.blank("en")
    nlp.add_pipe("sigmastar_tagger", config={"model": "tagger.sigma"})
    nlp.add_pipe("sigmastar_parser", config={"model": "parser.sigma"})

The tagger sets `pos` where its tags are universal ones, else `tag`; the parser reads both, and sets heads and
labels, and with them sentences. A file of a pipeline serves for both. spaCy is imported here alone, and finds
this module where both are installed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from spacy.attrs import DEP, HEAD
from spacy.language import Language
from spacy.tokens import Doc, Span
from spacy.util import minibatch

from sigmastar.core.model_reading import kind_of, load_model
from sigmastar.dependency.data.treebank import as_treebank
from sigmastar.taggers.data.sentences import TaggedSentences
from sigmastar.taggers.model.pipeline import BETWEEN

UNIVERSAL = frozenset(
    [
        "ADJ",
        "ADP",
        "ADV",
        "AUX",
        "CCONJ",
        "DET",
        "INTJ",
        "NOUN",
        "NUM",
        "PART",
        "PRON",
        "PROPN",
        "PUNCT",
        "SCONJ",
        "SYM",
        "VERB",
        "X",
        "SPACE",
    ]
)


_UNTAGGED = "sigmastar_parser reads tags, and no token has any; add sigmastar_tagger before it"


class _Component:
    """What both share: documents one by one, or in batches."""

    def __call__(self, doc: Doc) -> Doc:
        """The document, annotated."""
        self.annotate([doc])
        return doc

    def pipe(self, stream: Iterable[Doc], *, batch_size: int = 128) -> Iterator[Doc]:
        """Documents, annotated in batches."""
        for docs in minibatch(stream, batch_size):
            self.annotate(docs)
            yield from docs

    def annotate(self, docs: list[Doc]) -> None:
        """Set the attributes of all tokens."""
        raise NotImplementedError


class TaggerComponent(_Component):
    """A tagger of a model file.

    Parameters
    ----------
    model : str
        The file.
    """

    def __init__(self, model: str) -> None:
        self.tagger = _part(model, "tagger")
        self.is_joint = any(BETWEEN in tag for tag in self.tagger.tags)  # both tags at once, as in pipelines
        self.attribute = "pos_" if UNIVERSAL.issuperset(self.tagger.tags) else "tag_"

    def annotate(self, docs: list[Doc]) -> None:
        """Set the tag of each token."""
        parts = [part for doc in docs for part in _sentences(doc)]
        sentences = TaggedSentences.of([[token.text for token in part] for part in parts])
        tags = iter(self.tagger.predict(sentences))
        for part in parts:
            for token in part:
                if self.is_joint:
                    token.pos_, _, token.tag_ = next(tags).partition(BETWEEN)
                else:
                    setattr(token, self.attribute, next(tags))


class ParserComponent(_Component):
    """A dependency parser of a model file.

    Parameters
    ----------
    model : str
        The file.
    """

    def __init__(self, model: str) -> None:
        self.parser = _part(model, "parser")

    def annotate(self, docs: list[Doc]) -> None:
        """Set the head and the label of each token."""
        parts = [part for doc in docs for part in _sentences(doc)]
        words = [[(token.text, token.pos_ or "_", token.tag_ or "_") for token in part] for part in parts]
        if not words:
            return
        if not any(pos != "_" or tag != "_" for sentence in words for _, pos, tag in sentence):
            raise ValueError(_UNTAGGED)
        treebank = as_treebank(words)
        found = self.parser.attached(treebank, self.parser.parse(treebank).heads)
        labels = found.deprel or ["dep"] * len(found.head)
        labels = ["ROOT" if head == 0 else name for head, name in zip(found.head, labels, strict=True)]
        at = np.arange(len(found.head)) - np.repeat(found.sentence_offsets[:-1], found.lengths)
        moves = np.where(found.head == 0, 0, found.head - 1 - at).astype(np.int64).view(np.uint64)
        for doc, (low, high) in zip(docs, _ranges(docs), strict=True):
            codes = np.array([doc.vocab.strings.add(name) for name in labels[low:high]], dtype=np.uint64)
            doc.from_array([HEAD, DEP], np.column_stack([moves[low:high], codes]))


def _part(path: str, name: str) -> Any:
    """The tagger or the parser of a file, of its own or of a pipeline."""
    if kind_of(path) == "pipeline":
        return getattr(load_model(path), name)
    return load_model(path, {"parser": "dependency"}.get(name, name))


def _sentences(doc: Doc) -> list[Span]:
    """The sentences of a document where they are known, else all of it."""
    if not len(doc):
        return []
    return list(doc.sents) if doc.has_annotation("SENT_START") else [doc[:]]


def _ranges(docs: list[Doc]) -> Iterator[tuple[int, int]]:
    begin = 0
    for doc in docs:
        yield begin, begin + len(doc)
        begin += len(doc)


@Language.factory("sigmastar_tagger", assigns=["token.pos", "token.tag"])  # type: ignore[untyped-decorator]
def make_tagger(nlp: Language, name: str, model: str) -> Any:
    """The factory of `sigmastar_tagger`."""
    return TaggerComponent(model)


@Language.factory("sigmastar_parser", assigns=["token.head", "token.dep", "doc.sents"])  # type: ignore[untyped-decorator]
def make_parser(nlp: Language, name: str, model: str) -> Any:
    """The factory of `sigmastar_parser`."""
    return ParserComponent(model)
