"""How wrong predicted strings are: by word, and by symbol.

word error rate     the share of inputs whose prediction is none of the right outputs
symbol error rate   edit distance to the nearest right output, over that output's length, in total
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from sigmastar.automata.data.strings import Strings
from sigmastar.core.arrays import Flags, Floats, Int64s
from sigmastar.core.intervals import Estimate, bootstrap
from sigmastar.core.jit import kernel
from sigmastar.transducers.data import StringPairs
from sigmastar.transducers.model.joint_ngram import Ranking
from sigmastar.transducers.model.transducer import Transducer
from sigmastar.transducers.model.weighted_transducer import WeightedTransducer

Output = Sequence[Hashable]


@dataclass(frozen=True)
class TransductionScores:
    """Error rates of predictions for distinct inputs, and what each input added."""

    word_error_rate: Estimate
    symbol_error_rate: Estimate
    wrong: Flags
    edits: Int64s
    lengths: Int64s


def evaluate(
    model: Transducer | WeightedTransducer, pairs: StringPairs, rng: np.random.Generator
) -> TransductionScores:
    """Error rates of the best outputs of a transducer.

    Parameters
    ----------
    model : Transducer or WeightedTransducer
        Which predicts.
    pairs : StringPairs
        Inputs with their right outputs; an input with several of them may give any.
    rng : Generator
        Of the bootstrap.

    Returns
    -------
    TransductionScores
        With 95% intervals over inputs.
    """
    references = pairs.references()
    found = best_outputs(model.predict(Strings.of(list(references)), 1))
    return transduction_scores(found, list(references.values()), rng)


def best_outputs(rankings: Sequence[Ranking]) -> list[tuple[Hashable, ...]]:
    """The first output of each ranking; an empty one where there is none."""
    return [ranking[0][0] if ranking else () for ranking in rankings]


def transduction_scores(
    predicted: Sequence[Output], references: Sequence[Sequence[Output]], rng: np.random.Generator
) -> TransductionScores:
    """Judge one prediction per input against all its right outputs.

    Parameters
    ----------
    predicted : sequence of outputs
        One per input.
    references : sequence of lists of outputs
        Right ones, at least one per input.
    rng : Generator
        Of the bootstrap.

    Returns
    -------
    TransductionScores
        With 95% intervals over inputs.
    """
    if len(predicted) != len(references):
        raise ValueError(f"{len(predicted)} predictions for {len(references)} inputs")
    nearest = [
        min((edit_distance(found, right), len(right)) for right in rights)
        for found, rights in zip(predicted, references, strict=True)
    ]
    edits, lengths = (np.array(column, dtype=np.int64) for column in zip(*nearest, strict=True))
    wrong = edits > 0
    rows = np.arange(len(wrong), dtype=np.float64)

    def by_symbol(drawn: Floats) -> Floats:
        numbers = drawn.astype(np.int64)
        return np.asarray(edits[numbers].sum(axis=-1) / np.maximum(lengths[numbers].sum(axis=-1), 1))

    words = bootstrap(wrong.astype(np.float64), rng)
    return TransductionScores(words, bootstrap(rows, rng, by_symbol), wrong, edits, lengths)


def edit_distance(first: Output, second: Output) -> int:
    """The least number of insertions, deletions and substitutions.

    Parameters
    ----------
    first, second : sequences
        Of hashable symbols.

    Returns
    -------
    int
        Zero where they are equal.

    Examples
    --------
    >>> edit_distance("kitten", "sitting")
    3
    """
    if tuple(first) == tuple(second):
        return 0
    codes: dict[Hashable, int] = {}
    rows = [
        np.array([codes.setdefault(s, len(codes)) for s in row], dtype=np.int64) for row in (first, second)
    ]
    return int(_distance(rows[0], rows[1]))


@kernel
def _distance(first: Int64s, second: Int64s) -> int:
    row = np.arange(len(second) + 1)
    for i in range(len(first)):
        diagonal, row[0] = row[0], i + 1
        for j in range(len(second)):
            cheapest = min(diagonal + (first[i] != second[j]), row[j] + 1, row[j + 1] + 1)
            diagonal, row[j + 1] = row[j + 1], cheapest
    return int(row[-1])
