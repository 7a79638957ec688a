"""Dependency parsers in the explorer: arcs with how sure they are, and all heads that a word might have."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from sigmastar.automata.explore import graph_view
from sigmastar.core.arrays import Floats
from sigmastar.core.errors import InputError
from sigmastar.core.exhibit import (
    Example,
    Field,
    Inputs,
    Judged,
    Row,
    View,
    learned_facts,
    table,
    words_of,
)
from sigmastar.core.toy_english import sentences
from sigmastar.dependency.data.conllu import read_treebank
from sigmastar.dependency.data.treebank import DependencyTreebank
from sigmastar.dependency.estimator import SpectralDependencyGrammar
from sigmastar.dependency.model.parser import DependencyParser

_LONGEST, _MOST_ROWS, _AUTOMATA = 80, 500, 3


class DependencyExhibit:
    """A parser of arcs between words."""

    def __init__(self, model: DependencyParser, learned: Mapping[str, Any]) -> None:
        self.model, self.learned = model, learned
        self.tags = sorted({part for symbol in map(str, model.alphabet) for part in symbol.split("+")[:1]})

    @property
    def fields(self) -> Sequence[Field]:
        example = str(self.learned.get("example") or " ".join(f"_/{tag}" for tag in self.tags[:4]))
        return (Field("text", "A sentence", example, hint="word/TAG, or word/UPOS/XPOS"),)

    def facts(self) -> dict[str, Any]:
        labels = 0 if self.model.labeller is None else len(self.model.labeller.labels)
        return {
            "kind": "dependency parser",
            "decided by": self.model.decided_by,
            "symbols": len(self.model.alphabet),
            "states, at most": int(self.model.automata.n_states.max()),
            "labels": labels,
            **learned_facts(self.learned),
        }

    def overview(self) -> list[View]:
        """The automata of the heads with the most states."""
        sorts = np.argsort(-self.model.automata.n_states, kind="stable")[:_AUTOMATA]
        names = [
            f"{symbol}, {side}" for symbol in map(str, self.model.alphabet) for side in ("left", "right")
        ]
        names.append("root, right")
        rows = [(name, int(size)) for name, size in zip(names, self.model.automata.n_states, strict=False)]
        drawn = [
            graph_view(self.model.automata.automaton(int(sort)), f"Modifiers of {names[int(sort)]}")
            for sort in sorts
        ]
        return [table("Head automata", ("head and side", "states"), rows), *drawn]

    def treebank(self, text: str) -> DependencyTreebank:
        parts = [word.rsplit("/", 2) for word in words_of(text, _LONGEST)]
        if not parts:
            raise InputError("type a sentence, each word with its tag: dogs/NOUN bark/VERB")
        if any(len(part) < 2 or not all(part) for part in parts):
            bare = next("/".join(part) for part in parts if len(part) < 2 or not all(part))
            raise InputError(f"{bare!r} has no tag; write word/TAG, such as {bare}/{self.tags[0]}")
        forms, upos = [part[0] for part in parts], [part[1] for part in parts]
        return DependencyTreebank.of([forms], [upos], xpos=[[part[-1] for part in parts]])

    def answer(self, inputs: Inputs) -> list[View]:
        return self.views(self.treebank(inputs.get("text", "")))

    def views(self, given: DependencyTreebank) -> list[View]:
        """What is found for one sentence with tags."""
        parse = self.model.parse(given, marginals=True)
        found = self.model.attached(given, parse.heads)
        shares = None if parse.n_fallback or not parse.marginals else parse.marginals[0]
        views = [self.arcs(found, shares)]
        if shares is not None:
            views.append(self._heads(given, found, shares))
        if parse.n_fallback:
            views.append(table("How it was found", ("", ""), [("parsed by", "the deterministic automata")]))
        return views

    def arcs(
        self, found: DependencyTreebank, shares: Floats | None, gold: Sequence[int] | None = None
    ) -> View:
        heads = found.head.tolist()
        data: dict[str, Any] = {"words": found.form, "tags": found.upos, "heads": heads}
        if self.model.labeller is not None:
            data["labels"] = found.deprel
        if shares is not None:
            table_of = _by_word(shares, len(heads))
            data["posteriors"] = [float(table_of[k, head]) for k, head in enumerate(heads)]
        if gold is not None:
            data["gold"] = list(gold)
        note = "The fainter an arc, the less sure it is."
        if gold is not None:
            note = "All heads are right." if list(gold) == heads else "Green arcs below are right ones."
        return View("arcs", "Arcs" if gold is None else "Found, beside the data", data, note)

    def _heads(self, given: DependencyTreebank, found: DependencyTreebank, shares: Floats) -> View:
        by_word = _by_word(shares, given.n_words)
        data = {
            "rows": ["root", *given.form],
            "columns": given.form,
            "values": np.clip(by_word.T, 0, 1),
            "marks": [(head, word) for word, head in enumerate(found.head.tolist())],
        }
        return View(
            "heat", "Every head of every word", data, "Columns: a word; rows: the head it might have."
        )

    def predict(self, inputs: Inputs) -> Any:
        found = self.model.predict(self.treebank(inputs.get("text", "")))
        labels = {} if self.model.labeller is None else {"labels": found.deprel}
        return {"words": found.form, "heads": found.head.tolist(), **labels}

    def found(self, gold: DependencyTreebank) -> DependencyTreebank:
        """Heads and labels of what is in a data file."""
        return self.model.attached(gold, self.model.parse(gold).heads)

    def typed(self, sentence: DependencyTreebank) -> str:
        """A sentence as it would be typed."""
        return " ".join(map("/".join, zip(sentence.form, sentence.upos, sentence.xpos, strict=True)))

    def judge(self, path: str) -> Judged:
        bank = read_treebank(path)
        short = np.flatnonzero((bank.lengths > 0) & (bank.lengths <= _LONGEST))[:_MOST_ROWS]
        gold = bank.select(short)
        found = self.found(gold)
        rows, confusion = [], Counter[tuple[str, str]]()
        if self.model.labeller is not None:
            confusion.update(zip(gold.deprel, found.deprel, strict=True))
        for number in range(len(gold)):
            mine, right = found.select([number]), gold.select([number])
            wrong = int((mine.head != right.head).sum())
            view = self.arcs(mine, None, right.head.tolist())
            rows.append(
                Row(
                    " ".join(right.form),
                    {"text": self.typed(right)},
                    right.n_words,
                    None,
                    float(wrong),
                    (view,),
                )
            )
        return Judged(rows, "loss", "wrong heads", confusion)


def _by_word(shares: Floats, n_words: int) -> Floats:
    """Posteriors as words x heads, the root first."""
    return np.asarray(shares)[: n_words + 1, -n_words:].T


def open_exhibit(model: DependencyParser, learned: Mapping[str, Any]) -> DependencyExhibit:
    return DependencyExhibit(model, learned)


def example() -> Example:
    """Heads and relations of a little English."""
    drawn = sentences(600)
    bank = DependencyTreebank.of(
        [node.words for node in drawn],
        [node.tags for node in drawn],
        [node.heads() for node in drawn],
        [node.relations() for node in drawn],
    )
    model = SpectralDependencyGrammar(random_state=0).fit(bank).model_
    typed = "the/D girl/N sees/V a/D dog/N with/P a/D telescope/N"
    return Example(model, {"method": "spectral+em", "example": typed})
