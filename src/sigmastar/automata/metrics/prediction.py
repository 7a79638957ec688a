"""How well a model predicts the next symbol.

    error rate   the share of gaps where the most likely symbol is not the one that follows
    NDCG at k    sum over ranks r = 1 .. k of p(symbol ranked r) / log2(r + 1), over a denominator,
                 the sum of the best ranking; mean over prefixes

The second is the score of SPiCe (Balle et al. 2016). The end of a string counts as a symbol, last in
order. Ties go to the symbol that comes first, so that results do not depend on the machine.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from sigmastar.automata.data.spice import END_OF_STRING, SpiceTargets
from sigmastar.automata.data.strings import Strings, require_strings
from sigmastar.automata.model.sequence import SequenceModel, next_distribution
from sigmastar.core.alphabet import Symbol

Array = NDArray[np.float64]

MAX_CELLS = 4_000_000  # next-symbol probabilities held at a time


def next_symbol_error(model: SequenceModel, strings: Strings, include_end: bool = True) -> float:
    """The error rate of the most likely next symbol over all gaps.

    Without `include_end` the gaps at the ends of strings are left out, and the end is never offered
    as a prediction.
    """
    errors = next_symbol_errors(model, strings, include_end)
    if len(errors) == 0:
        raise ValueError("all strings are empty: without their ends there is nothing to predict")
    return float(errors.mean())


def next_symbol_errors(model: SequenceModel, strings: Strings, include_end: bool = True) -> NDArray[np.bool_]:
    """Right or wrong at every gap, in corpus order."""
    require_strings(strings, "evaluate on")
    recoded = strings.recoded(model.alphabet, allow_unknown=True)
    return np.concatenate([_errors(model, piece, include_end) for piece in pieces(recoded)])


def ndcg(model: SequenceModel, prefixes: Strings, targets: SpiceTargets, k: int = 5) -> float:
    """Mean NDCG at k of the model's rankings; prefixes and targets are paired from the start."""
    return float(ndcg_scores(model, prefixes, targets, k).mean())


def ndcg_scores(model: SequenceModel, prefixes: Strings, targets: SpiceTargets, k: int = 5) -> Array:
    """NDCG at k of each prefix."""
    require_strings(prefixes, "evaluate on")
    n = min(len(prefixes), len(targets.denominators))
    return score_rankings(rank_next(model, prefixes.select(np.arange(n)), k), targets)


def rank_next(model: SequenceModel, prefixes: Strings, k: int = 5) -> list[tuple[Symbol, ...]]:
    """The k most likely next symbols after each prefix, best first; `END_OF_STRING` stands for the end."""
    recoded = prefixes.recoded(model.alphabet, allow_unknown=True)
    names = (*model.alphabet.symbols, END_OF_STRING)
    return [
        tuple(names[column] for column in row)
        for piece in pieces(recoded)
        for row in top_columns(next_distribution(model, piece), k).tolist()
    ]


def score_rankings(rankings: Sequence[Sequence[Symbol]], targets: SpiceTargets) -> Array:
    """NDCG of given rankings, at their own lengths; a symbol ranked twice is refused."""
    scores = np.zeros(min(len(rankings), len(targets.denominators)))
    for i in range(len(scores)):
        ranking, given = rankings[i], slice(targets.offsets[i], targets.offsets[i + 1])
        if len(set(ranking)) < len(ranking):
            raise ValueError(f"ranking {i + 1} names a symbol twice: {tuple(ranking)!r}")
        gains = dict(zip(targets.symbols[given].tolist(), targets.probabilities[given].tolist(), strict=True))
        discounted = sum(gains.get(symbol, 0.0) / np.log2(r + 2) for r, symbol in enumerate(ranking))
        scores[i] = discounted / targets.denominators[i]
    return scores


def top_columns(distributions: Array, k: int) -> NDArray[np.intp]:
    """The k largest columns of each row, best first, ties in column order."""
    return np.argsort(-distributions, axis=1, kind="stable")[:, :k]


def pieces(strings: Strings, max_cells: int | None = None) -> Iterator[Strings]:
    """Cut a corpus into runs of strings whose next-symbol tables stay small (one string at least)."""
    return strings.pieces((max_cells or MAX_CELLS) // (len(strings.alphabet) + 1))


def _errors(model: SequenceModel, strings: Strings, include_end: bool) -> NDArray[np.bool_]:
    distributions = model.gap_distributions(strings)
    following = strings.outcomes
    if not include_end:
        inner = following != len(strings.alphabet)
        distributions, following = distributions[inner, :-1], following[inner]
    if distributions.shape[1] == 0:
        return np.zeros(0, dtype=np.bool_)
    return np.asarray(distributions.argmax(axis=1) != following)
