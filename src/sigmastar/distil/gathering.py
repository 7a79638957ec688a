"""What a learner asks: strings that were given, edits, continuations, and what the black box draws itself."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from sigmastar.automata.data.strings import Strings
from sigmastar.core.errors import InputError
from sigmastar.core.progress import Progress, announce
from sigmastar.core.resources import free_memory, require_memory
from sigmastar.distil.answer_files import keys_of
from sigmastar.distil.asked_strings import Asked, ask, together
from sigmastar.distil.pools import draw_gaps, edited
from sigmastar.distil.questions import Questions

POWERS = (4.0, 8.0)
"""Of the probabilities, for strings that stay near those that the black box was trained on."""
_DRAWN = {1.0: 0.22, 4.0: 0.07, 8.0: 0.07}  # shares of the budget, by power
_GIVEN, _EDITED = 0.15, 0.05
_CONTINUED = 0.05  # likewise, for each of the powers
_HELD_OUT = 0.1
_MOST_HELD = 400  # strings of a pool
_MOST_TIMES = 40  # that a string counts
_MOST_CELLS = 25_000_000  # probabilities that are kept
_CELL_BYTES = 56  # that a probability takes while all is learned from, with copies and futures
_LEAST = 1000  # answers below which nothing is learned


@dataclass(frozen=True, eq=False)
class Pool:
    """Strings of one origin, with answers; `held` are apart, to choose by."""

    name: str
    train: Asked
    held: Asked
    judges: bool  # whether its held-out strings count for the choice


def gather(
    questions: Questions,
    strings: Strings | None,
    rng: np.random.Generator,
    max_length: int,
    progress: Progress,
) -> list[Pool]:
    """Ask; about half of the budget is left for the futures of prefixes."""
    if questions.is_recorded:
        strings = _whole(questions.box.recorded)  # type: ignore[union-attr]
        return [_pool("recorded", ask(questions, strings), rng, True)]
    budget = affordable_answers(questions)
    if budget < 100:
        raise InputError(
            f"max_queries={questions.max_queries} is too small to learn from; 1000 is a beginning"
        )
    if budget < int(min(questions.left, 2 * _MOST_CELLS / (len(questions.alphabet) + 1))):
        progress(f"memory holds {budget} answers: no more are asked for", 0.0)
    pools = list[Pool]()
    for pool in _asked(questions, strings, budget, rng, max_length, progress):
        n_asked = questions.n_queries
        if not pools and n_asked > questions.n_read:  # a file does not tell how fast the black box is
            announce(questions.seconds / n_asked * max(budget - n_asked, 0), "asking")
        pools.append(pool)
    return pools


def _asked(
    questions: Questions,
    strings: Strings | None,
    budget: int,
    rng: np.random.Generator,
    max_length: int,
    progress: Progress,
) -> Iterator[Pool]:
    if strings is not None and len(strings):
        yield from _near(questions, strings, budget, rng, max_length, progress)
    longest = max_length
    for number, (power, share) in enumerate(_DRAWN.items()):
        progress("asking at strings it draws", 0.05 + 0.03 * number)
        drawn = draw_gaps(questions, max(int(share * budget), 20), rng, longest, power)
        if power == 1.0:  # sharpened strings may never end: most are no longer than the others
            longest = min(max_length, 2 + int(np.quantile(drawn.strings.lengths, 0.95)))
        yield _pool(f"drawn, power {power:g}", drawn, rng, power == 1.0 or strings is None)


def _near(
    questions: Questions,
    strings: Strings,
    budget: int,
    rng: np.random.Generator,
    max_length: int,
    progress: Progress,
) -> Iterator[Pool]:
    """The strings given, edits of them, and what follows where those that are learned from are cut."""
    some = _some(strings, int(_GIVEN * budget), rng)
    progress("asking at the strings given", 0.02)
    given = _pool("given", ask(questions, some), rng, True)
    yield given
    changed = edited(_some(some, int(_EDITED * budget), rng), rng)
    yield _pool("edited", ask(questions, changed), rng, False)
    begun = given.train.strings
    longest = min(max_length, 2 + int(begun.lengths.max()))
    for power in POWERS:
        more = draw_gaps(questions, max(int(_CONTINUED * budget), 20), rng, longest, power, begun)
        yield _pool(f"continued, power {power:g}", more, rng, False)


def affordable_answers(questions: Questions) -> int:
    """How many answers are asked for: those of the budget, if memory holds them.

    At less than what is worth the work it is refused; else fewer are asked for.
    """
    width = len(questions.alphabet) + 1
    wanted = min(questions.left, 2 * _MOST_CELLS / width)
    held = free_memory() / (_CELL_BYTES * width)
    if held < min(wanted, _LEAST):
        require_memory(
            _CELL_BYTES * width * min(wanted, _LEAST),
            f"a stand-in over {width - 1} symbols",
            "allow more by --max-memory",
        )
    return int(min(wanted, held))


def training(pools: list[Pool]) -> Asked:
    """All that is learned from; strings that were given count as much as all others, since they are few."""
    given = [pool.train for pool in pools if pool.name == "given"]
    others = [pool.train for pool in pools if pool.name != "given"]
    n_others = sum(part.strings.n_gaps for part in others)
    n_given = sum(part.strings.n_gaps for part in given)
    times = int(np.clip(round(n_others / max(n_given, 1)), 1, _MOST_TIMES)) if given else 0
    return together(given * times + others)


def sampled(pools: list[Pool], n_gaps: int, rng: np.random.Generator) -> Asked:
    """Some strings of every pool, those that judge first."""
    shares = np.array([2.0 if pool.judges else 1.0 for pool in pools])
    parts = [
        pool.train.select(_few(pool.train.strings, int(n_gaps * share), rng))
        for pool, share in zip(pools, shares / shares.sum(), strict=True)
    ]
    return together(parts)


def _pool(name: str, asked: Asked, rng: np.random.Generator, judges: bool) -> Pool:
    order = rng.permutation(len(asked))
    n_held = min(max(1, round(_HELD_OUT * len(asked))), _MOST_HELD, len(asked) - 1)
    if n_held < 1:
        return Pool(name, asked, asked, judges)
    return Pool(name, asked.select(np.sort(order[n_held:])), asked.select(np.sort(order[:n_held])), judges)


def _few(strings: Strings, n_gaps: int, rng: np.random.Generator) -> np.ndarray:
    """Indices of random strings of so many gaps in all, at least one."""
    order = rng.permutation(len(strings))
    sums = np.cumsum(strings.lengths[order] + 1)
    return np.sort(order[: max(1, int(np.searchsorted(sums, n_gaps, side="right")))])


def _some(strings: Strings, n_gaps: int, rng: np.random.Generator) -> Strings:
    return strings if strings.n_gaps <= n_gaps else strings.select(_few(strings, n_gaps, rng))


def _whole(recorded: Strings) -> Strings:
    """Recorded strings of which every prefix is recorded, and that are no prefix of another."""
    keys, codes = list(keys_of(recorded)), recorded.codes
    known, inner, whole = set(keys), set[bytes](), list[int]()
    for number, (begin, end) in enumerate(pairwise(recorded.offsets.tolist())):
        prefixes = [codes[begin:stop].tobytes() for stop in range(begin, end)]
        if all(prefix in known for prefix in prefixes):
            inner.update(prefixes)
            whole.append(number)
    kept = [number for number in whole if keys[number] not in inner]
    if not kept:
        raise InputError("no recorded string has answers at all of its prefixes: nothing can be learned")
    return recorded.select(kept)
