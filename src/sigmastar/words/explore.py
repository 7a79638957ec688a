"""Word models in the explorer: what comes next, the way through the states, states by their words.

A vocabulary has tens of thousands of words and a model thousands of states: places in the plane are what is
known of the state, never rows of all words, and few strings are drawn.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from sigmastar.automata.data.formats import Layout
from sigmastar.automata.data.strings import Strings
from sigmastar.automata.explore import END, StringsExhibit
from sigmastar.core.alphabet import UNKNOWN
from sigmastar.core.arrays import Floats
from sigmastar.core.exhibit import Example, Inputs, View, learned_facts, spectrum, table
from sigmastar.core.toy_english import sentences
from sigmastar.words.estimator import WordModel
from sigmastar.words.model.hmm import WordHmm
from sigmastar.words.model.mixture import WordMixture, contexts_of

_DRAWN, _LONGEST, _STATES, _WORDS = 60, 40, 40, 6


class WordsExhibit(StringsExhibit):
    """A distribution on strings of words, by hidden states, with n-grams beside them or without."""

    what, unit = "A line of text", "words"

    def __init__(self, model: WordHmm | WordMixture, learned: Mapping[str, Any]) -> None:
        super().__init__(model, learned)
        self.is_bare = True  # places in the plane are states
        self.mixture = model if isinstance(model, WordMixture) else None
        self.states = model.states if isinstance(model, WordMixture) else model

    @cached_property
    def drawn(self) -> Strings:
        return self.model.sample(_DRAWN, np.random.default_rng(0), _LONGEST)

    def facts(self) -> dict[str, Any]:
        size = {"states": self.states.n_states, "words": len(self.names)}
        found = self.learned.get("held_out_perplexity")
        told = {"held-out perplexity": round(found, 1)} if isinstance(found, float) else {}
        return {"kind": "model of words", **size, **told, **learned_facts(self.learned)}

    def coded(self, symbols: Sequence[str]) -> Strings:
        """Words that are not known are read too, as the model reads them."""
        known = [self.written.get(symbol, symbol) for symbol in symbols]
        return Strings.of([known], alphabet=self.model.alphabet, allow_unknown=True)

    def overview(self) -> list[View]:
        return [*spectrum(self.learned), *self._states()]

    def answer(self, inputs: Inputs) -> list[View]:
        symbols, begun = self.symbols(inputs.get("text", ""))
        string = self.coded(symbols)
        gaps = self.model.gap_distributions(string)
        views = [self._next(gaps[-1], begun), self._surprise(symbols, gaps, string), self._now(string)]
        return [*views, self._path(symbols, self._points(string, gaps)), *self._members(symbols, string)]

    def _surprise(self, symbols: Sequence[str], gaps: Floats, string: Strings) -> View:
        chances = [
            None if code == UNKNOWN else float(gaps[place, code])
            for place, code in enumerate([*string.codes.tolist(), len(self.names)])
        ]
        bits = [None if chance is None else -float(np.log2(max(chance, 1e-300))) for chance in chances]
        tokens = [
            {
                "text": name,
                "value": value or 0.0,
                "below": "?" if value is None else None,
                "title": _told(value),
            }
            for name, value in zip([*symbols, "end"], bits, strict=True)
        ]
        known = [value for value in bits if value is not None]
        note = f"Perplexity {2 ** (sum(known) / len(known)):.1f} per known word, the end counted."
        return View("strip", "Surprise", {"tokens": tokens, "unit": "bits", "least": 4.0}, note)

    def _beliefs(self, string: Strings) -> Floats:
        """What is known of the state at every gap."""
        wanted = np.ones(string.n_gaps, dtype=bool)
        return np.asarray(self.states.beliefs(string, wanted, self.states.is_stream), dtype=np.float64)

    def _points(self, string: Strings, gaps: Floats) -> Floats:
        return np.sqrt(self._beliefs(string))

    def _now(self, string: Strings) -> View:
        belief = self._beliefs(string)[-1]
        best = np.argsort(-belief, kind="stable")[:_WORDS]
        rows = [(int(state), float(belief[state]), self._words_of(int(state))) for state in best]
        note = (
            "What is known of the hidden state of the next word, and the words that such a state emits most."
        )
        return table("Hidden states now", ("state", "probability", "its words"), rows, note)

    def _words_of(self, state: int) -> str:
        emitted = np.asarray(self.states.emissions.by_word[:, state], dtype=np.float64)
        names = [*self.names, END]
        return " · ".join(names[k] for k in np.argsort(-emitted, kind="stable")[:_WORDS])

    def _states(self) -> list[View]:
        """The states that drawn strings visit most, by what they emit and by what is theirs alone."""
        visits = [self._beliefs(self.coded(tuple(map(str, row)))).mean(axis=0) for row in self.drawn]
        use: Floats = np.array(visits).mean(axis=0)
        table_of = np.asarray(self.states.emissions.by_word, dtype=np.float64)
        overall = np.maximum(table_of @ use, 1e-12)
        names, rows = [*self.names, END], []
        for state in np.argsort(-use, kind="stable")[:_STATES]:
            share = table_of[:, state] * use[state] / overall  # of the uses of a word, those in this state
            own = np.argsort(-share * np.sqrt(table_of[:, state]), kind="stable")[:_WORDS]
            typical = " · ".join(names[k] for k in own)
            rows.append((int(state), float(use[state]), self._words_of(int(state)), typical))
        note = "Of the states that are used most: the words that each emits most, and those that are its own."
        columns = ("state", "share of the tokens", "emits", "its own")
        return [table("States by their words", columns, rows, note)]

    def _members(self, symbols: Sequence[str], string: Strings) -> list[View]:
        """At each place, how much the n-gram decides, and what either would have given the word."""
        if self.mixture is None:
            return []
        contexts = contexts_of(self.mixture.ngram, string, self.states.is_stream)
        rates = self.mixture.rate_of[contexts]
        places = list(range(len(rates)))
        data = {
            "x": places,
            "series": [{"name": "share of the n-gram", "y": rates.tolist()}],
            "x_name": "words so far",
            "y_name": "share of the n-gram",
        }
        note = "Contexts that were seen often are left to the n-gram, rare ones to the hidden states."
        return [View("lines", "Who decides", data, note)]


def _told(bits: float | None) -> str:
    return "not in the vocabulary" if bits is None else f"{bits:.2f} bits"


def open_exhibit(model: WordHmm | WordMixture, learned: Mapping[str, Any]) -> WordsExhibit:
    return WordsExhibit(model, learned)


def example() -> Example:
    """Words of a little English."""
    lines = [sentence.words for sentence in sentences(1500)]
    estimator = WordModel(n_states=8, order=3, random_state=0).fit(lines)
    found = {"held_out_perplexity": estimator.held_out_perplexity_, "layout": Layout().to_header()}
    return Example(estimator.model_, {"method": "words", "example": "the girl sees a dog with a ", **found})
