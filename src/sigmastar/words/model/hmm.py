"""Hidden Markov models of words with factored operators.

    A_w = diag(E_w) T         the operator of a word: n + n^2 / words numbers, not n^2

so that a model has n^2 + n x words numbers at most. A string is a run of words and its end, which is emitted
like a word. In a stream the next line goes on from the states that its end leaves; else strings begin anew.

States with less than the share `least` of the belief are dropped at every step. What remains is a proper
distribution, of nearly the same probabilities, at a fraction of the time; with `least` 0 nothing is dropped,
and the model is the hidden Markov model to rounding.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from sigmastar.automata.data.strings import Strings
from sigmastar.automata.model.hmm_conversion import Hmm
from sigmastar.automata.model.on_device import TensorSequence
from sigmastar.automata.model.sequence import sample_lockstep
from sigmastar.core.alphabet import Alphabet
from sigmastar.core.arrays import Array, Flags, Floats, Indices, Int32s, Int64s, Reals
from sigmastar.core.errors import InputError
from sigmastar.core.notebook import Shown
from sigmastar.core.stored_parts import ArrayPart, Parts, one_of, share, singles
from sigmastar.core.torch_device import on_device
from sigmastar.words.kernels.beams import Chain, Kept, Text, room_for, walk
from sigmastar.words.model.emissions import FORMS, Emissions

_ONE = 1.0 + 1e-5
_ROOM = 1 << 22  # states kept of all tokens of a piece
_MOST_NUMBERS = 1 << 25  # of a hidden Markov model that is written out

NOTHING = np.zeros((0, 0), np.float32)


def declared(more: Mapping[str, ArrayPart]) -> dict[str, Parts]:
    """What files hold, by the form of the emissions; `more` is beside the states."""
    header: dict[str, Any] = {"alphabet": Alphabet, "form": one_of(*FORMS), "is_stream": bool, "least": share}
    arrays = {
        "initial": singles("states", least=0.0, most=_ONE),
        "moves": singles("states", "states", least=0.0, most=_ONE),
    }
    return {
        name: Parts(header=header, arrays={**arrays, **form.PARTS, **more}) for name, form in FORMS.items()
    }


@dataclass(frozen=True, eq=False)
class WordHmm(Shown):
    """A distribution on strings of words by hidden states."""

    alphabet: Alphabet
    initial: Reals
    moves: Reals
    emissions: Emissions
    is_stream: bool = False
    least: float = 0.0

    @property
    def n_states(self) -> int:
        return len(self.initial)

    @property
    def transition(self) -> Reals:
        """`moves`, as hidden Markov models with stopping name it: what control looks ahead by."""
        return self.moves

    @cached_property
    def stop(self) -> Floats:
        """How probable the end is in each state."""
        table = self.emissions.by_word
        return np.asarray(table[-1] / np.maximum(table.sum(axis=0, dtype=np.float64), 1e-300))

    @cached_property
    def emission(self) -> Reals:
        """States by words, where the string goes on."""
        going = self.emissions.by_word[:-1]
        return np.asarray((going / np.maximum(going.sum(axis=0), 1e-30)).T)

    @property
    def chain(self) -> Chain:
        return Chain(self.initial, self.moves, self.emissions.by_word)

    def gap_probabilities(self, strings: Strings) -> Floats:
        """The probability of what follows each gap."""
        text = text_of(Strings.of(strings, None, self.alphabet, True), self.is_stream)
        return run(self.chain, text, self.least)

    def log_probability(self, strings: Strings) -> Floats:
        return log_sums(strings, self.gap_probabilities(strings))

    def gap_distributions(self, strings: Strings) -> Floats:
        known = Strings.of(strings, None, self.alphabet, True)
        return self.rows(self.beliefs(known, np.ones(known.n_gaps, dtype=bool), self.is_stream))

    def next_distribution(self, prefixes: Strings) -> Floats:
        """What comes after each prefix, the end last: no other gap is looked at."""
        return self.rows(self.next_beliefs(Strings.of(prefixes, None, self.alphabet, True)))

    def next_beliefs(self, prefixes: Strings) -> Reals:
        """What is known of the state after each prefix, each a text of its own."""
        wanted = np.zeros(prefixes.n_gaps, dtype=bool)
        wanted[prefixes.offsets[1:] + np.arange(len(prefixes))] = True
        return self.beliefs(prefixes, wanted, is_stream=False)

    def beliefs(self, strings: Strings, wanted: Flags, is_stream: bool) -> Reals:
        """What is known of the state at the gaps that are wanted: gaps x states."""
        rows = np.empty((int(wanted.sum()), self.n_states), self.initial.dtype)
        run(self.chain, text_of(strings, is_stream)._replace(wanted=wanted), self.least, rows)
        return rows

    def rows(self, beliefs: Reals) -> Floats:
        """Next words by what is known of the state; rows sum to one."""
        found = self.emissions.columns(beliefs).T.astype(np.float64, order="C")
        found /= found.sum(axis=1, keepdims=True)
        return found

    def start(self, size: int) -> Reals:
        rows: Array = np.repeat(self.initial[None], size, axis=0)
        return rows

    def advance(self, beliefs: Reals, rows: Indices, symbols: Indices) -> Reals:
        joint: Array = beliefs[rows] * self.emissions.by_word[symbols]
        joint /= joint.sum(axis=1, keepdims=True)
        following: Reals = joint @ self.moves
        return following

    def sample(self, n_strings: int, rng: np.random.Generator, max_length: int = 10_000) -> Strings:
        return sample_lockstep(self.alphabet, n_strings, rng, max_length, self.start, self.rows, self.advance)

    def on(self, device: str, precision: str = "float32") -> TensorSequence:
        """The same model with its beliefs on a device, by PyTorch; there no state is left out.

        Parameters
        ----------
        device : {"cpu", "cuda", "auto"}
            Where to work; "auto": a GPU where there is one.
        precision : {"float64", "float32", "bfloat16"}
            Numbers of products; sums are in float32 at least.

        Returns
        -------
        TensorSequence
            A model of strings.
        """
        from sigmastar.automata.gpu.markov import TorchMarkov
        from sigmastar.words.gpu.chains import probabilities

        table = np.asarray(self.emissions.by_word, dtype=np.float32 if precision != "float64" else np.float64)
        stop = table[-1].astype(np.float64)
        going = table[:-1].T / np.maximum(1.0 - stop, 1e-300)[:, None]
        start: Any = self.initial
        moves: Any = self.moves
        there = TorchMarkov(start, moves, going, stop, device=device, precision=precision)

        def logs(codes: Int32s, offsets: Int64s) -> Floats:
            if not self.is_stream:
                return there.log_probability(codes, offsets)
            strings = Strings(self.alphabet, codes, offsets)
            words = on_device(table, there.device, there.sums)
            found = probabilities(strings.outcomes, there.initial, there.transition, words, 1, 0)
            return log_sums(strings, found)

        def following(codes: Int32s, offsets: Int64s) -> Floats:
            beliefs: Any = there.beliefs(codes, offsets).astype(self.initial.dtype)
            return self.rows(beliefs)

        return TensorSequence(self, logs, following, self.is_stream)

    def to_hmm(self) -> Hmm:
        """The hidden Markov model with stopping, all numbers written out."""
        size = self.n_states * (self.n_states + len(self.alphabet))
        if size > _MOST_NUMBERS:
            raise InputError(
                f"{self.n_states} states over {len(self.alphabet)} words are {size:,} numbers; at most "
                f"{_MOST_NUMBERS:,} are written out: learn with fewer states, or keep the model file"
            )
        table = self.emissions.by_word.T.astype(np.float64)
        table /= table.sum(axis=1, keepdims=True)
        going = table[:, :-1] / np.maximum(table[:, :-1].sum(axis=1, keepdims=True), 1e-300)
        return Hmm(self.alphabet, _sure(self.initial), _sure(self.moves), _sure(going), table[:, -1])

    def with_least(self, least: float) -> WordHmm:
        return replace(self, least=least)

    PARTS: ClassVar[Mapping[str, Parts]] = declared({})

    def to_parts(self) -> tuple[dict[str, Array], dict[str, Any]]:
        form = next(name for name, kind in FORMS.items() if isinstance(self.emissions, kind))
        arrays = {"initial": self.initial, "moves": self.moves, **self.emissions.to_arrays()}
        header = {"alphabet": self.alphabet, "form": form, "is_stream": self.is_stream, "least": self.least}
        return arrays, header

    @classmethod
    def from_parts(
        cls, arrays: dict[str, Array], header: dict[str, Any], parts: Mapping[str, Parts] | None = None
    ) -> WordHmm:
        if header.get("form") not in FORMS:
            raise ValueError("'form' must be " + " or ".join(map(repr, FORMS)))
        form = FORMS[header["form"]]
        n_words = len(header["alphabet"]) + 1 if isinstance(header.get("alphabet"), Alphabet) else 0
        (parts or cls.PARTS)[header["form"]].check(arrays, header, words=n_words)
        emissions = form(*(arrays[name] for name in form.PARTS))
        model = cls(
            header["alphabet"], arrays["initial"], arrays["moves"], emissions,
            header["is_stream"], float(header["least"]),
        )  # fmt: skip
        kinds = {part.dtype for part in (model.initial, model.moves, emissions.by_word)}
        if not arrays["initial"].any() or len(kinds) > 1:
            raise ValueError("'initial', 'moves' and the words must be of one type, and not all zero")
        return model


def text_of(strings: Strings, is_stream: bool) -> Text:
    """The tokens of strings, ends included, and where nothing is known of what came before."""
    tokens = strings.outcomes.astype(np.int32)
    begins = np.zeros(len(tokens), dtype=bool)
    begins[(strings.offsets[:-1] + np.arange(len(strings)))[: 1 if is_stream else None]] = True
    return Text(tokens, begins, np.zeros(len(tokens), dtype=bool))


def run(chain: Chain, text: Text, least: float, rows: Array = NOTHING, most: int = 0) -> Floats:
    """Walk through a text; the probability of each token. `rows` gets what is wanted."""
    found, done = np.zeros(len(text.tokens)), 0
    for piece, kept, prior, place in pieces_of(chain, text, most):
        done += walk(piece, chain, prior, least, kept, found[place], rows[done:])
    return found


def pieces_of(chain: Chain, text: Text, most: int = 0) -> Iterator[tuple[Text, Kept, Array, slice]]:
    """Pieces of a text, with room for the states kept and what is known, which goes from piece to piece."""
    n, n_tokens = len(chain.initial), len(text.tokens)
    most = min(most or n, n)
    size = max(min(_ROOM // most, n_tokens), 1)
    room, prior = room_for(size, most, chain.initial), chain.initial.copy()
    for begin in range(0, n_tokens, size):
        place = slice(begin, min(begin + size, n_tokens))
        n_here = place.stop - begin
        here = Text(text.tokens[place], text.begins[place], text.wanted[place])
        yield here, Kept(*(part[:n_here] for part in room)), prior, place


def log_sums(strings: Strings, probabilities: Floats) -> Floats:
    """The log-probability of each string from those at its gaps."""
    with np.errstate(divide="ignore"):
        logs = np.log(probabilities)
    return np.add.reduceat(logs, strings.offsets[:-1] + np.arange(len(strings))) if len(strings) else logs


def _sure(rows: Array) -> Floats:
    exact = np.asarray(rows, dtype=np.float64)
    return np.asarray(exact / exact.sum(axis=-1, keepdims=True))
