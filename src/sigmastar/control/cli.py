"""Constraints of the command line."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import click
import numpy as np

from sigmastar.automata.data.strings import Strings
from sigmastar.automata.model.restart_filter import FilteredAutomaton
from sigmastar.control.constraints import avoids, contains, length, matches
from sigmastar.control.decoder import ConstrainedDecoder
from sigmastar.control.languages import Constraint, everything_of
from sigmastar.control.steering import SteeredModel
from sigmastar.core.alphabet import Alphabet, Symbol, written_codes
from sigmastar.core.errors import UnknownSymbolError
from sigmastar.core.progress import tell

_LENGTHS = re.compile(r"(\d*)(-?)(\d*)")


@dataclass(frozen=True, eq=False)
class Sampler:
    """Exact samples under a constraint, asked for as a model is."""

    decoder: ConstrainedDecoder

    def sample(self, n_strings: int, rng: np.random.Generator, max_length: int) -> Strings:
        return self.decoder.draw(n_strings, rng)


def constrained(
    model: Any, options: Mapping[str, Any], split: Callable[[str], Iterable[str]], max_length: int
) -> Sampler | SteeredModel:
    """The model under the constraints of the options, and a line about how likely they are."""
    constraint = everything_of(list(_constraints(options, split, model.alphabet)))
    if isinstance(model, FilteredAutomaton):
        decoder = ConstrainedDecoder(model.backoff, constraint, max_length)
        tell(
            "note: the n-gram inside the model looks ahead: all strings meet the constraint, shares are near",
            options["quiet"],
        )
        return SteeredModel(model, decoder)
    decoder = ConstrainedDecoder(model, constraint, max_length)
    share = decoder.probability()[0]
    tell(f"note: {share:.6g} of the strings of the model meet the constraint", options["quiet"])
    return Sampler(decoder)


def _constraints(
    options: Mapping[str, Any], split: Callable[[str], Iterable[str]], alphabet: Alphabet
) -> Iterable[Constraint]:
    codes = written_codes(alphabet)
    yield from (matches(pattern) for pattern in options["constraint"])
    yield from (contains(_phrase(text, split, codes, alphabet)) for text in options["contains"])
    yield from (avoids(_phrase(text, split, codes, alphabet)) for text in options["avoids"])
    if options["length"]:
        yield _length(options["length"])


def _phrase(
    text: str, split: Callable[[str], Iterable[str]], codes: Mapping[str, int], alphabet: Alphabet
) -> list[Symbol]:
    words = list(split(text))
    for word in words:
        if word not in codes:
            raise UnknownSymbolError(
                f"phrase {text!r}: {word!r} is not among the {len(alphabet)} symbols of the model"
            )
    return [alphabet.symbols[codes[word]] for word in words]


def _length(text: str) -> Constraint:
    """`5`, `5-8`, `5-` or `-8`."""
    found = _LENGTHS.fullmatch(text)
    if found is None or not (found[1] or found[3]):
        raise click.UsageError(f"--length {text!r} is not of the form 5, 5-8, 5- or -8")
    low, high = int(found[1] or 0), int(found[3]) if found[3] else None
    return length(low, high if found[2] else low)
