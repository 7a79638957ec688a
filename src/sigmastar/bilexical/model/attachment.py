"""Where a prepositional phrase attaches: log-odds of several judges, pooled.

linear      weights of word subsets                             Ratnaparkhi et al. (1994)
backed off  counts of ever smaller tuples                       Collins and Brooks (1995)
bilinear    phi(o)^T W_O phi(n) - phi(v)^T W_V phi(n), two matrices a preposition       equation 6

log Pr(N | x) / Pr(V | x) = c + sum_j w_j log-odds_j(x)         log-linear pooling, w from development
Pr(N | x) = sum_j w_j Pr_j(N | x), sum_j w_j = 1                linear interpolation, equation 7
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy import special

from sigmastar.bilexical.counts import BackedOffCounts, FeatureTable, normalized_word
from sigmastar.bilexical.data.quadruples import NOUN, VERB, Quadruples
from sigmastar.bilexical.model.vectors import Vectors, dense
from sigmastar.core.arrays import Array, Floats, Int64s
from sigmastar.core.model_reading import below
from sigmastar.core.notebook import Shown
from sigmastar.core.stored_parts import (
    Parts,
    check_header,
    distinct_texts,
    floats,
    integers,
    lists_of_texts,
    real,
)

Factors = tuple[Floats, Floats]

JUDGES = ("linear", "backed_off", "bilinear")
POOLINGS = ("log-linear", "linear")
_MARK, _N_MARKS = 0.5, 5  # the size, and the number, of the coordinates that are no vectors


@dataclass(frozen=True, eq=False)
class AttachmentModel(Shown):
    """What the judges have learned, and the weights of their votes.

    Parameters
    ----------
    features, linear : FeatureTable, array
        Subsets of words, and the weight of each.
    counts : BackedOffCounts
        How often tuples of words attached to the noun.
    vectors : Vectors
        As the bilinear forms use them.
    prepositions : tuple of str
        All that were met.
    bilinear : dict
        Two low-rank matrices for each frequent preposition.
    pool : dict
        The weight of each judge, and a constant where log-odds are pooled.
    pooling : {"log-linear", "linear"}
        Whether log-odds are added, or probabilities mixed.
    """

    features: FeatureTable
    linear: Floats
    counts: BackedOffCounts
    vectors: Vectors
    prepositions: tuple[str, ...]
    bilinear: dict[str, tuple[Factors, Factors]]
    pool: dict[str, float]
    pooling: str = "log-linear"

    def __post_init__(self) -> None:
        if self.pooling not in POOLINGS:
            raise ValueError(f"pooling={self.pooling!r} must be one of {', '.join(POOLINGS)}")
        shares = [self.pool.get(name, 0.0) for name in JUDGES]
        if self.pooling == "linear" and (min(shares) < 0 or abs(sum(shares) - 1.0) > 1e-6):
            raise ValueError(f"shares of judges must not be negative and sum to 1, found {shares}")

    def judgements(self, quadruples: Quadruples) -> dict[str, Floats]:
        """The log-odds for the noun by each judge alone."""
        places = Places.of(quadruples, self.vectors, self.prepositions)
        return {
            "linear": np.asarray(self.features.matrix(quadruples) @ self.linear),
            "backed_off": self.counts.log_odds(quadruples),
            "bilinear": bilinear_log_odds(self.bilinear, places),
        }

    def log_odds(self, quadruples: Quadruples) -> Floats:
        """The pooled log-odds of attachment to the noun."""
        found = self.judgements(quadruples)
        weights = {name: self.pool[name] for name in JUDGES if name in self.pool}
        if self.pooling == "linear":
            noun = sum((share * special.expit(found[name]) for name, share in weights.items()), start=0.0)
            verb = sum((share * special.expit(-found[name]) for name, share in weights.items()), start=0.0)
            return np.asarray(np.log(noun) - np.log(verb))
        total = np.full(len(quadruples), self.pool["constant"])
        for name, weight in weights.items():
            total += weight * found[name]
        return total

    def probabilities(self, quadruples: Quadruples) -> Floats:
        """Of attachment to the noun."""
        return np.asarray(special.expit(self.log_odds(quadruples)))

    def label_log_probabilities(self, quadruples: Quadruples) -> Floats:
        """log Pr(label | words) of each item."""
        odds = self.log_odds(quadruples)
        return -np.logaddexp(0.0, np.where(quadruples.to_noun, -odds, odds))

    def predict(self, quadruples: Quadruples) -> list[str]:
        """V or N of each item."""
        return [NOUN if odds > 0 else VERB for odds in self.log_odds(quadruples).tolist()]

    PARTS: ClassVar[Parts] = Parts(
        inner=("vectors.", "bilinear."),
        header={
            "features": lists_of_texts,
            "counted": lists_of_texts,
            "vectors": dict,
            "prepositions": distinct_texts,
            "pool": dict,
        },
        sizes={"features": "features", "counted": "counted"},
        arrays={
            "linear": floats("features"),
            "counts": integers("counted", least=0, most=2**53),
            "counts_to_noun": integers("counted", least=0, most=2**53),
        },
    )
    PAIR: ClassVar[Parts] = Parts(arrays={"left": floats("rows", "rank"), "right": floats("rows", "rank")})

    def to_parts(self) -> tuple[dict[str, Array], dict[str, Any]]:
        """Arrays and a description for a model file."""
        arrays, words = self.vectors.parts_below("vectors")
        arrays["linear"] = self.linear
        for name, (over_noun, over_verb) in self.bilinear.items():
            for side, pair in (("noun", over_noun), ("verb", over_verb)):
                arrays |= _named(f"bilinear.{self.prepositions.index(name)}.{side}", pair)
        arrays["counts"] = np.array(list(self.counts.total.values()), dtype=np.int64)
        arrays["counts_to_noun"] = np.array(
            [self.counts.to_noun[key] for key in self.counts.total], dtype=np.int64
        )
        header = {
            "features": [list(key) for key in self.features.places],
            "counted": [list(key) for key in self.counts.total],
            "vectors": words,
            "prepositions": list(self.prepositions),
            "pool": dict(self.pool),
            "pooling": self.pooling,
        }
        return arrays, header

    @classmethod
    def from_parts(cls, arrays: dict[str, Array], header: dict[str, Any]) -> AttachmentModel:
        """The model of a file, checked."""
        cls.PARTS.check(arrays, header)
        constant = "constant?" if header.get("pooling") == "linear" else "constant"
        check_header(header["pool"], {constant: real, **{f"{name}?": real for name in JUDGES}})
        if (arrays["counts_to_noun"] > arrays["counts"]).any():
            raise ValueError("more attachments to the noun than attachments")
        prepositions = tuple(header["prepositions"])
        features = FeatureTable({tuple(key): place for place, key in enumerate(header["features"])})
        if len(features.places) != len(arrays["linear"]):
            raise ValueError(f"{len(arrays['linear'])} weights for {len(features.places)} features")
        counted = [tuple(key) for key in header["counted"]]
        counts = BackedOffCounts(
            dict(zip(counted, arrays["counts_to_noun"].tolist(), strict=True)),
            dict(zip(counted, arrays["counts"].tolist(), strict=True)),
        )
        vectors = Vectors.from_below("vectors", arrays, header["vectors"])
        bilinear = cls._bilinear(below("bilinear.", arrays), prepositions, vectors.dimension + _N_MARKS)
        pool = {str(name): float(value) for name, value in header["pool"].items()}
        pooling = str(header.get("pooling", "log-linear"))
        return cls(features, arrays["linear"], counts, vectors, prepositions, bilinear, pool, pooling)

    @classmethod
    def _bilinear(
        cls, arrays: dict[str, Array], prepositions: tuple[str, ...], n_rows: int
    ) -> dict[str, tuple[Factors, Factors]]:
        """The matrices of prepositions, `NUMBER.noun.left` and so on."""
        found: dict[str, tuple[Factors, Factors]] = {}
        for k, name in enumerate(prepositions):
            sides = [below(f"{k}.{side}.", arrays) for side in ("noun", "verb")]
            if not any(sides):
                continue
            for side in sides:
                cls.PAIR.check(side, {}, rows=n_rows)
            noun, verb = ((side["left"], side["right"]) for side in sides)
            found[name] = noun, verb
        if 4 * len(found) != len(arrays):
            raise ValueError("matrices of prepositions that the model does not have")
        return found


@dataclass(frozen=True, eq=False)
class Places:
    """The coordinates of the words of some quadruples, and their prepositions as numbers, -1 if unknown."""

    verb: Floats
    noun: Floats
    second: Floats
    preposition: Int64s
    prepositions: tuple[str, ...]

    @classmethod
    def of(cls, quadruples: Quadruples, vectors: Vectors, prepositions: tuple[str, ...]) -> Places:
        number = {name: place for place, name in enumerate(prepositions)}
        found = np.array([number.get(word.lower(), -1) for word in quadruples.preposition], dtype=np.int64)
        columns = (quadruples.verb, quadruples.noun, quadruples.second)
        verb, noun, second = (word_coordinates(column, vectors) for column in columns)
        return cls(verb, noun, second, found, prepositions)


def word_coordinates(words: tuple[str, ...], vectors: Vectors) -> Floats:
    """The vector of each word, a constant, and marks of numbers, years, unknown words and capitals."""
    plain = [normalized_word(word) for word in words]
    marks = [
        [True, form == "<number>", form == "<year>", word not in vectors, word[:1].isupper()]
        for word, form in zip(words, plain, strict=True)
    ]
    return np.column_stack(
        [dense(vectors.rows(words)), _MARK * np.array(marks, dtype=np.float64).reshape(-1, _N_MARKS)]
    )


def bilinear_log_odds(factors: dict[str, tuple[Factors, Factors]], places: Places) -> Floats:
    """Equation 6; a preposition without matrices of its own adds nothing."""
    result = np.zeros(len(places.preposition))
    for name, pair in factors.items():
        rows = places.preposition == places.prepositions.index(name)
        if rows.any():
            result[rows] = block_scores(
                [(places.noun[rows], places.second[rows]), (-places.verb[rows], places.second[rows])], pair
            )
    return result


def block_scores(blocks: list[Factors], factors: tuple[Factors, ...]) -> Floats:
    """sum_b x_b^T L_b R_b^T z_b, item by item."""
    total = np.zeros(len(blocks[0][0]))
    for (left, right), (by_left, by_right) in zip(blocks, factors, strict=True):
        total += np.einsum("ik,ik->i", left @ by_left, right @ by_right)
    return total


def _named(name: str, pair: Factors) -> dict[str, Array]:
    return {f"{name}.left": pair[0], f"{name}.right": pair[1]}
