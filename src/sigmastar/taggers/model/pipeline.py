"""Tokenizer, tagger and parser as one model: from raw text to dependency trees.

The tagger gives each word both of its tags at once, UPOS and XPOS, as one symbol; the parser reads those.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from sigmastar.core.arrays import Array
from sigmastar.core.model_reading import above, below
from sigmastar.core.notebook import Shown
from sigmastar.core.progress import Progress, silent
from sigmastar.core.stored_parts import Parts
from sigmastar.core.word_classes import WordClasses
from sigmastar.dependency.data.treebank import DependencyTreebank
from sigmastar.dependency.model.parser import DependencyParser
from sigmastar.taggers.data.sentences import TaggedSentences
from sigmastar.taggers.data.tokenizer import Tokenizer
from sigmastar.taggers.model.tagger import Tagger

BATCH = 1000  # sentences that are parsed at a time
BETWEEN = "\t"  # the two tags of a word: no tag holds a tab


@dataclass(frozen=True, eq=False)
class TextPipeline(Shown):
    """What makes trees of text."""

    tokenizer: Tokenizer
    tagger: Tagger
    parser: DependencyParser

    @property
    def classes(self) -> WordClasses | None:
        """Of words, by raw text: tagger and parser read the same ones, or none."""
        return self.parser.vocabulary.classes

    def parse_text(self, text: str, progress: Progress = silent) -> DependencyTreebank:
        """The sentences of a text with tags, heads and relations."""
        return self.parse_words(list(self.tokenizer.sentences(text)), progress)

    def parse_words(self, sentences: list[list[str]], progress: Progress = silent) -> DependencyTreebank:
        """The same of sentences that are words already; those without a word are passed over."""
        parts = []
        self.parser.require_lengths(np.array([len(words) for words in sentences], dtype=np.int64))
        for begin in range(0, len(sentences), BATCH):
            progress("parsing", begin / len(sentences))
            parts.append(self.parse(self.bare(sentences[begin : begin + BATCH])))
        return DependencyTreebank.joined(parts)

    @staticmethod
    def bare(sentences: list[list[str]]) -> DependencyTreebank:
        """Words without tags and heads; sentences without a word are passed over."""
        sentences = [sentence for sentence in sentences if sentence]
        forms = [word for sentence in sentences for word in sentence]
        offsets = np.append(0, np.cumsum([len(sentence) for sentence in sentences])).astype(np.int64)
        blank = ["_"] * len(forms)
        heads = np.full(len(forms), -1, dtype=np.int32)
        return DependencyTreebank(forms, blank, blank, heads, blank, offsets)

    def parse(self, treebank: DependencyTreebank) -> DependencyTreebank:
        """Tags, heads and relations anew, from the words alone."""
        return self.parser.predict(self.tagged(treebank)) if treebank.n_words else treebank

    def tagged(self, treebank: DependencyTreebank) -> DependencyTreebank:
        """Tags anew, from the words alone."""
        tags = self.tagger.predict(TaggedSentences(treebank.form, None, treebank.sentence_offsets))
        return retagged(treebank, tags)

    PARTS: ClassVar[Parts] = Parts(
        header={"tokenizer": dict, "tagger": dict, "parser": dict, "classes?": dict},
        inner=("tagger.", "parser.", "classes."),
    )

    def to_parts(self) -> tuple[dict[str, Array], dict[str, Any]]:
        tagger, tagger_header = _tagger_with(self.tagger, None).to_parts()
        parser, parser_header = _parser_with(self.parser, None).to_parts()
        header = {"tokenizer": self.tokenizer.to_header(), "tagger": tagger_header, "parser": parser_header}
        arrays = above("tagger.", tagger) | above("parser.", parser)
        if self.classes is not None:
            numbers, header["classes"] = self.classes.to_parts()
            arrays |= above("classes.", numbers)
        return arrays, header

    @classmethod
    def from_parts(cls, arrays: dict[str, Array], header: dict[str, Any]) -> TextPipeline:
        cls.PARTS.check(arrays, header)
        tagger = Tagger.from_parts(below("tagger.", arrays), header["tagger"])
        parser = DependencyParser.from_parts(below("parser.", arrays), header["parser"])
        if "classes" in header:
            classes = WordClasses.from_parts(below("classes.", arrays), header["classes"])
            tagger, parser = _tagger_with(tagger, classes), _parser_with(parser, classes)
        return cls(Tokenizer.from_header(header["tokenizer"]), tagger, parser)


def _tagger_with(tagger: Tagger, classes: WordClasses | None) -> Tagger:
    """A tagger with classes of words: in the file of a pipeline they stand once, beside tagger and parser."""
    return replace(tagger, lexicon=replace(tagger.lexicon, raw=classes))


def _parser_with(parser: DependencyParser, classes: WordClasses | None) -> DependencyParser:
    return parser.with_parts(vocabulary=replace(parser.vocabulary, classes=classes))


def joint_tags(treebank: DependencyTreebank) -> list[str]:
    """Both tags of each word as one."""
    return [f"{upos}{BETWEEN}{xpos}" for upos, xpos in zip(treebank.upos, treebank.xpos, strict=True)]


def retagged(treebank: DependencyTreebank, tags: list[str]) -> DependencyTreebank:
    """The treebank with other tags, both of each word as one."""
    pairs = {tag: tag.partition(BETWEEN) for tag in set(tags)}
    upos, xpos = ({tag: pair[side] for tag, pair in pairs.items()} for side in (0, 2))
    return replace(treebank, upos=[upos[tag] for tag in tags], xpos=[xpos[tag] for tag in tags])
