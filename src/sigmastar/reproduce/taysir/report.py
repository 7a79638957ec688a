"""Tables and claims beside the winners of TAYSIR 2023."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass

from sigmastar.core.page import Cell, Table
from sigmastar.core.provenance import Provenance
from sigmastar.reproduce.result import Claim, Reproduction, tabulated

NAME = "taysir"
TITLE = "TAYSIR 2023: networks into automata"
LANGUAGE_MODELS = {
    "2.1": (866, 0.063),
    "2.2": (131, 0.20),
    "2.4": (105, 0.010),
    "2.7": (170, 0.005),
    "2.8": (162, 0.010),
}
"""States of the winners' machines, and their MSE times 10^6 on fresh draws."""
CLASSIFIERS: dict[str, tuple[int, float | None, float, float]] = {
    "1.1": (7708, None, 0.054, 0.080),
    "1.2": (8, 0.0, 0.0, 0.0),
    "1.5": (5, 0.0, 0.0, 0.0),
    "1.7": (2, 0.0, 0.0, 0.0),
    "1.9": (201, 0.007, 0.018, 0.067),
}
"""States of the winners' machines, and shares of errors on validation words, edited and random ones."""
WINNERS = "the winners"
ABOUT = (
    "Networks of the TAYSIR competition at ICGI 2023 (Eyraud, Lambert, Tahri Joutei, Gaffarov, Cabanne, "
    "Heinz and Shibata, PMLR 217): language models as distributions on strings, and classifiers. Half of the "
    "validation words are given to the learner; the other half judges, with strings that a language model "
    "draws itself, or edited and random words of a classifier. Five networks of each track were at hand, not "
    "all of the competition's.",
    "The competition looked at the mean squared difference of string probabilities, times 10^6; a handful of "
    "short words makes up nearly all of it. So the divergence stands beside it, in millinats per symbol. The "
    "winners' figures were measured on the machines that they published, on strings drawn as ours are; the "
    "validation words they had seen.",
)


@dataclass(frozen=True)
class Modelled:
    """A stand-in for a language model: millinats per symbol on words and on own strings, MSE times 10^6."""

    network: str
    method: str
    n_states: int
    words: float | None
    own: float | None
    mse: float | None = None


@dataclass(frozen=True)
class Classified:
    """A stand-in for a classifier: its states and questions, and shares of errors."""

    network: str
    method: str
    n_states: int
    n_queries: int | None
    words: float | None
    edited: float
    random: float


def reproduction(
    modelled: Sequence[Modelled], classified: Sequence[Classified], quick: bool, origin: Provenance
) -> Reproduction:
    """The result."""
    about = (
        [*ABOUT, "This was a quick run: one network of each track, and few questions."] if quick else ABOUT
    )
    return Reproduction(
        NAME,
        TITLE,
        about,
        [_track_two(modelled), _track_one(classified)],
        [_claims_two(modelled), *_claims_one(classified)],
        {},
        {"modelled": [asdict(row) for row in modelled], "classified": [asdict(row) for row in classified]},
        origin,
    )


def _track_two(rows: Sequence[Modelled]) -> Table:
    columns: dict[str, str | Callable[[Modelled], Cell]] = {
        "network": "network",
        "method": "method",
        "states": lambda row: row.n_states or None,
        "words": "words",
        "own strings": "own",
        "MSE x 10^6": "mse",
    }
    shown = list[Modelled]()
    for network, (n_states, mse) in LANGUAGE_MODELS.items():
        mine = [row for row in rows if row.network == network]
        shown += [*mine, Modelled(network, WINNERS, n_states, None, None, mse)] if mine else []
    return tabulated("Track 2: divergence from language models, millinats per symbol", shown, columns)


def _track_one(rows: Sequence[Classified]) -> Table:
    columns = {
        "network": "network",
        "kind": "method",
        "states": "n_states",
        "questions": "n_queries",
        "words": "words",
        "edited": "edited",
        "random": "random",
    }
    shown = list[Classified]()
    for row in rows:
        n_states, words, *others = CLASSIFIERS[row.network]
        shown += [row, Classified(row.network, WINNERS, n_states, None, words, *others)]
    return tabulated("Track 1: share of words that are classified otherwise", shown, columns)


def _claims_two(rows: Sequence[Modelled]) -> Claim:
    asked = [row for row in rows if row.method.startswith("asked")]
    ratios = [(row.mse or 0.0) / LANGUAGE_MODELS[row.network][1] for row in asked]
    smaller = sum(row.n_states < LANGUAGE_MODELS[row.network][0] for row in asked)
    return Claim(
        "Language models have automata as near as the winners' in the mean squared error",
        f"at most {max(ratios):.2g} of theirs, with fewer states in {smaller} of {len(asked)}",
        all(ratio <= 1.0 for ratio in ratios),
    )


def _claims_one(rows: Sequence[Classified]) -> list[Claim]:
    smaller = [row.n_states <= CLASSIFIERS[row.network][0] for row in rows]
    winners = [CLASSIFIERS[row.network] for row in rows]
    better = [
        row.edited <= other[2] and row.random <= other[3] for row, other in zip(rows, winners, strict=True)
    ]
    sizes = ", ".join(
        f"{row.n_states} for {other[0]} ({row.network})" for row, other in zip(rows, winners, strict=True)
    )
    return [
        Claim("Classifiers have automata as small as the winners'", f"states: {sizes}", all(smaller)),
        Claim(
            "Classifiers have automata that err as little as the winners' on edited and random words",
            f"in {sum(better)} of {len(rows)}",
            all(better),
        ),
    ]
