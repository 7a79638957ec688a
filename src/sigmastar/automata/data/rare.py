"""Rare and unknown symbols as one class, the symbol `<unk>`.

Symbols that occur fewer than `min_count` times in the data become `<unk>` before anything is learned, so that
the model has an operator for what it has not met, and one where each rare symbol would have its own. A model
whose alphabet holds `<unk>`, of its data or by `min_count`, reads unknown symbols as it.
"""

from __future__ import annotations

import numpy as np

from sigmastar.automata.data.strings import Strings
from sigmastar.core.alphabet import UNKNOWN_CLASS, Alphabet


def pooled(strings: Strings, min_count: int) -> Strings:
    """Strings whose rare symbols, and those without a code, are `<unk>`, over an alphabet without the rare.

    Parameters
    ----------
    strings : Strings
        The data.
    min_count : int
        Least number of occurrences of a symbol that stays.

    Returns
    -------
    Strings
        The same number of strings, of the same lengths; `<unk>` is in the alphabet though nothing be rare.

    Examples
    --------
    >>> list(pooled(Strings.of([["a", "b"], ["a", "c"]]), 2))
    [('a', '<unk>'), ('a', '<unk>')]
    """
    known = strings.codes[strings.codes >= 0]
    often = np.bincount(known, minlength=len(strings.alphabet)) >= min_count
    kept = [symbol for symbol, stays in zip(strings.alphabet, often, strict=True) if stays]
    alphabet = Alphabet(kept if UNKNOWN_CLASS in kept else [*kept, UNKNOWN_CLASS])
    return in_class(strings.recoded(alphabet, allow_unknown=True))


def in_class(strings: Strings) -> Strings:
    """Strings whose symbols without a code are `<unk>`, which the alphabet holds."""
    unknown = strings.codes < 0
    if not unknown.any():
        return strings
    if UNKNOWN_CLASS not in strings.alphabet:
        raise ValueError(
            f"unknown='class' needs the symbol {UNKNOWN_CLASS}, which this model does not have; "
            "learn it with min_count=2 or more"
        )
    codes = np.where(unknown, np.int32(strings.alphabet.codes[UNKNOWN_CLASS]), strings.codes)
    return Strings(strings.alphabet, codes, strings.offsets)
