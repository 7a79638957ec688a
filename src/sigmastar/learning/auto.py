"""`auto`: the best spectral start, polished by expectation-maximisation.

Anchored starts of several sizes race on held-out likelihood: a few iterations each, the better half
goes on, the winner climbs until held-out data say stop, and the last iterations see all strings.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sigmastar.factorization.rank import RankEvidence, noise_level
from sigmastar.learning.anchors import anchor_states, to_probabilistic
from sigmastar.learning.ascent import Climb, plain_steps
from sigmastar.learning.contexts import ContextModel, choose_classes, learn_contexts
from sigmastar.learning.mixing import HeldOut
from sigmastar.learning.moves import EMCorpus, maximize_smoothed
from sigmastar.operators.automaton import WeightedAutomaton
from sigmastar.statistics.contexts import ContextCounts
from sigmastar.structures.strings import Strings

Progress = Callable[[str], None]

SIZES = (5, 10, 20, 40, 80)
N_CLASSES = 1500
HELD_OUT = 0.1
_RACE = 20_000  # strings that the race is run on
_FIRST_LEG, _SECOND_LEG, _LONGEST, _LAST = 3, 9, 150, 3


@dataclass(frozen=True, eq=False)
class AutoFit:
    """A proper automaton, and why it has its size."""

    automaton: WeightedAutomaton
    evidence: RankEvidence
    held_out_score: float
    n_iterations: int


def learn_auto(
    strings: Strings,
    rng: np.random.Generator,
    n_states: int | None = None,
    progress: Progress | None = None,
) -> AutoFit:
    """Learn a proper automaton; `n_states=None` chooses among `SIZES`."""
    say = progress or (lambda _: None)
    kept, held = strings.split(HELD_OUT, rng) if len(strings) > 1 else (strings, strings)
    held_out = HeldOut.of(held)
    say("spectral starts")
    counts = ContextCounts.of(kept, *choose_classes(strings, N_CLASSES))
    contexts = learn_contexts(counts, n_states or max(SIZES))
    sizes = [n_states] if n_states else sorted({min(size, contexts.n_states) for size in SIZES})
    chosen, winner, scores = _race(contexts, sizes, kept, held_out, rng, say)
    climb = _climb(EMCorpus(kept, winner.n_states, np.float32), held_out, winner)
    climb.run(_LONGEST, progress=progress)
    say("last iterations on all strings")
    automaton = climb.best
    everything = plain_steps(EMCorpus(strings, automaton.n_states, np.float32), automaton, maximize_smoothed)
    for _ in range(_LAST):
        automaton, _ = next(everything)
    return AutoFit(automaton, _evidence(contexts, scores, chosen), climb.best_score, climb.n_iterations)


def _race(
    contexts: ContextModel,
    sizes: list[int],
    kept: Strings,
    held_out: HeldOut,
    rng: np.random.Generator,
    say: Progress,
) -> tuple[int, WeightedAutomaton, dict[int, float]]:
    """The size that does best after a few iterations, its automaton, and the held-out score of every size."""
    track = kept if len(kept) <= _RACE else kept.select(np.sort(rng.permutation(len(kept))[:_RACE]))
    runners = {}
    for size in sizes:
        say(f"race of starts: {size} states")
        part = contexts.leading(size)
        start = to_probabilistic(part, anchor_states(part))
        runners[size] = _climb(EMCorpus(track, start.n_states, np.float32), held_out, start).run(_FIRST_LEG)
    leaders = sorted(runners, key=lambda size: -runners[size].best_score)[:2]
    if len(leaders) > 1:
        for size in leaders:
            runners[size].run(_SECOND_LEG)
    best = max(leaders, key=lambda size: runners[size].best_score)
    return best, runners[best].best, {size: runner.best_score for size, runner in runners.items()}


def _climb(corpus: EMCorpus, held_out: HeldOut, start: WeightedAutomaton) -> Climb:
    return Climb(corpus, held_out, start, maximize_smoothed)


def _evidence(contexts: ContextModel, scores: dict[int, float], chosen: int) -> RankEvidence:
    counts = contexts.counts
    return RankEvidence(
        singular_values=contexts.singular_values,
        noise_level=noise_level(counts.pasts.n_classes, counts.futures.n_classes, int(counts.counts.sum())),
        candidates=tuple(scores),
        scores=tuple(scores.values()),
        chosen=chosen,
        reason="best held-out log-likelihood after a few iterations",
    )
