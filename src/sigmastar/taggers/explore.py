"""Taggers in the explorer: how sure each tag of each word is, and the best taggings of a sentence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from sigmastar.core.arrays import Floats
from sigmastar.core.errors import InputError
from sigmastar.core.exhibit import (
    Example,
    Exhibit,
    Field,
    Inputs,
    Judged,
    Row,
    View,
    learned_facts,
    limited,
    table,
    words_of,
)
from sigmastar.core.toy_english import sentences
from sigmastar.dependency.data.treebank import DependencyTreebank
from sigmastar.dependency.explore import DependencyExhibit
from sigmastar.taggers.data.columns import TaggedLayout, format_of
from sigmastar.taggers.data.feature_templates import word_of
from sigmastar.taggers.data.sentences import TaggedSentences
from sigmastar.taggers.estimator import SpectralTagger
from sigmastar.taggers.model.pipeline import TextPipeline
from sigmastar.taggers.model.tagger import Tagger

_BEST, _LIKELY, _MOST_ROWS = 8, 0.005, 2000
_LONGEST_TEXT, _MOST_SENTENCES, _TYPICAL = 80, 3, 6
_MEMBERS = {
    "RefinedTags": "hidden refinements of tags",
    "MarginTags": "features of words and neighbours",
    "HankelTags": "operators of tags",
    "WeightedTagger": "weighted automaton",
}


class TaggerExhibit:
    """A model of the tags of words."""

    def __init__(self, model: Tagger, learned: Mapping[str, Any]) -> None:
        self.model, self.learned = model, learned
        layout = learned.get("layout")
        self.layout: Mapping[str, Any] = layout if isinstance(layout, Mapping) else {}
        self.observed = tuple(map(str, self.layout.get("observed", ())))

    @property
    def fields(self) -> Sequence[Field]:
        hint = "words" if not self.observed else f"word/{'/'.join(self.observed)}"
        example = str(self.learned.get("example") or " ".join(list(self.model.lexicon.words)[:5]))
        return (Field("text", "A sentence", example, hint=hint),)

    def facts(self) -> dict[str, Any]:
        return {
            "kind": "tagger",
            "tags": len(self.model.tags),
            "known words": len(self.model.lexicon.words),
            "members": len(self.model.members),
            **learned_facts(self.learned),
        }

    def overview(self) -> list[View]:
        rows = [
            (_MEMBERS.get(type(member).__name__, type(member).__name__), weight)
            for member, weight in zip(self.model.members, self.model.weights, strict=True)
        ]
        note = "Their distributions are multiplied, each raised to its weight." if len(rows) > 1 else ""
        return [self._tags(), table("Members", ("model of tags", "weight"), rows, note)]

    def _tags(self) -> View:
        """Each tag with its share of the data, and the words that had it most often."""
        lexicon = self.model.lexicon
        counts, words = lexicon.counts.toarray(), np.array([word_of(word) for word in lexicon.words])
        shares = counts.sum(axis=0) / max(float(counts.sum()), 1.0)
        rows = []
        for tag in np.argsort(-shares, kind="stable").tolist():
            typical = np.argsort(-counts[:, tag], kind="stable")[:_TYPICAL]
            typical = typical[counts[typical, tag] > 0]
            rows.append(
                (
                    self.model.tags[tag],
                    float(shares[tag]),
                    int((counts[:, tag] > 0).sum()),
                    " · ".join(words[typical]),
                )
            )
        note = "Share of the words of the data, how many words had the tag, and which had it most often."
        return table("Tags", ("tag", "share", "words", "typical words"), rows, note)

    def sentence(self, text: str) -> TaggedSentences:
        """A typed sentence; what is observed beside words stands behind them, with slashes between."""
        words = words_of(text)
        if not self.observed:
            return TaggedSentences.of([words])
        cut = [word.rsplit("/", len(self.observed)) for word in words]
        if any(len(parts) != 1 + len(self.observed) for parts in cut):
            raise InputError(
                f"write each word as word/{'/'.join(self.observed)}: the model reads these columns"
            )
        return TaggedSentences.of([[tuple(parts) for parts in cut]])

    def answer(self, inputs: Inputs) -> list[View]:
        given = self.sentence(inputs.get("text", ""))
        if not given.n_words:
            raise InputError("type a sentence")
        shares, found, best = self.model.predict_all(given, _BEST)
        ranked = [(number, " ".join(tags), value) for number, (tags, value) in enumerate(best[0], 1)]
        note = "Of all sequences of tags, by their probability given the words."
        return [
            self.tagged(given.words, found, shares),
            self.heat(given.words, found, shares),
            table("Best sequences", ("rank", "tags", "probability"), ranked, note),
        ]

    def tagged(
        self, words: Sequence[str], found: Sequence[str], shares: Floats, gold: Sequence[str] | None = None
    ) -> View:
        """Words with their tags below; the stronger the line, the less sure."""
        codes = {tag: number for number, tag in enumerate(self.model.tags)}
        known = self.model.lexicon.word_codes
        tokens = []
        for place, (word, tag) in enumerate(zip(words, found, strict=True)):
            sure = float(shares[place, codes[tag]])
            right = "" if gold is None or gold[place] == tag else f"; right: {gold[place]}"
            unknown = "" if word in known else "; unknown word"
            tokens.append(
                {
                    "text": word,
                    "below": tag if not right else f"{tag} ≠ {gold[place] if gold else ''}",
                    "value": 1.0 - sure,
                    "title": f"{tag} {sure:.3f}{right}{unknown}",
                    "wrong": bool(right),
                }
            )
        title = "Tags" if gold is None else "Tags found, beside the data"
        note = (
            "The line below a word shows how unsure its tag is." if gold is None else "Wrong tags are framed."
        )
        return View("strip", title, {"tokens": tokens, "least": 0.5}, note)

    def heat(self, words: Sequence[str], found: Sequence[str], shares: Floats) -> View:
        shown = np.flatnonzero(shares.max(axis=0) >= _LIKELY)
        place = {self.model.tags[k]: number for number, k in enumerate(shown)}
        data = {
            "rows": [self.model.tags[k] for k in shown],
            "columns": list(words),
            "values": shares[:, shown].T,
            "marks": [(place[tag], number) for number, tag in enumerate(found) if tag in place],
        }
        return View("heat", "Posteriors of tags", data, "Rings mark the tags that were chosen.")

    def predict(self, inputs: Inputs) -> Any:
        given = self.sentence(inputs.get("text", ""))
        return {"words": given.words, "tags": self.model.predict(given) if given.n_words else []}

    def judge(self, path: str) -> Judged:
        chosen = str(self.layout.get("format") or format_of(path))
        gold = TaggedLayout(chosen, self.layout.get("label"), self.observed).read(path).sentences
        gold = gold.select(np.arange(min(len(gold), _MOST_ROWS)))
        found, losses = gold.cut(self.model.predict(gold)), -self.model.log_probability(gold)
        shares = np.split(self.model.predict_proba(gold), gold.offsets[1:-1])
        words, tags = gold.cut(gold.words), gold.cut(gold.tags or [])
        columns = [gold.cut(column) for column in gold.observed]
        rows, confusion = [], Counter[tuple[str, str]]()
        for k in range(len(gold)):
            confusion.update(zip(tags[k], found[k], strict=True))
            n_wrong = sum(a != b for a, b in zip(tags[k], found[k], strict=True))
            typed = [
                "/".join(parts) for parts in zip(words[k], *(column[k] for column in columns), strict=True)
            ]
            beside = self.tagged(words[k], found[k], shares[k], tags[k])
            text = " ".join(words[k])
            rows.append(
                Row(
                    text,
                    {"text": " ".join(typed)},
                    len(words[k]),
                    float(losses[k]),
                    float(n_wrong),
                    (beside,),
                )
            )
        return Judged(rows, "loss, nats", "wrong tags", confusion)


class PipelineExhibit(DependencyExhibit):
    """Tokenizer, tagger and parser of raw text, shown by the arcs that they end in."""

    def __init__(self, pipeline: TextPipeline, learned: Mapping[str, Any]) -> None:
        super().__init__(pipeline.parser, learned)
        self.pipeline = pipeline

    @property
    def fields(self) -> Sequence[Field]:
        example = str(self.learned.get("example") or " ".join(list(self.pipeline.tagger.lexicon.words)[:6]))
        return (Field("text", "Text", example, hint="plain text, one sentence or several"),)

    def facts(self) -> dict[str, Any]:
        tagger = self.pipeline.tagger
        own = {"kind": "pipeline", "tags": len(tagger.tags), "known words": len(tagger.lexicon.words)}
        return super().facts() | own

    def sentences(self, text: str) -> DependencyTreebank:
        """The sentences of a text, with tags."""
        found = [sentence for sentence in self.pipeline.tokenizer.sentences(text) if sentence]
        if not found:
            raise InputError("type a sentence")
        limited([word for sentence in found for word in sentence], _LONGEST_TEXT)
        return self.pipeline.tagged(self.pipeline.bare(found))

    def answer(self, inputs: Inputs) -> list[View]:
        given = self.sentences(inputs.get("text", ""))
        return [
            view
            for number in range(min(len(given), _MOST_SENTENCES))
            for view in self.views(given.select([number]))
        ]

    def predict(self, inputs: Inputs) -> Any:
        found = self.found(self.sentences(inputs.get("text", "")))
        return {
            "words": found.form,
            "tags": found.upos,
            "heads": found.head.tolist(),
            "labels": found.deprel,
            "sentences": found.lengths.tolist(),
        }

    def found(self, gold: DependencyTreebank) -> DependencyTreebank:
        return self.pipeline.parse(gold)

    def typed(self, sentence: DependencyTreebank) -> str:
        return " ".join(sentence.form)


def open_exhibit(model: Tagger | TextPipeline, learned: Mapping[str, Any]) -> Exhibit:
    return (
        PipelineExhibit(model, learned) if isinstance(model, TextPipeline) else TaggerExhibit(model, learned)
    )


def example() -> Example:
    """Tags of a little English."""
    drawn = sentences(400)
    fitted = SpectralTagger(random_state=0).fit([node.words for node in drawn], [node.tags for node in drawn])
    return Example(
        fitted.model_, {"method": "refined", "example": "the small dog sees a bird with a telescope"}
    )
