"""From strings to a proper grammar: starts of many sizes race, and held-out strings decide.

    starts    of each size: clusters of spans under the brackets of a completed grammar, clusters of all
              spans, and chance
    race      EM on the strings that are not held out; of each size the best start goes on, then the sizes
              that lead (`core.race`)
    size      the smallest whose held-out likelihood is within a hair of the best
    prior     the one under which the winner does best on the held-out strings
    last      EM on all strings

EM sees strings of up to `exact` symbols whole, and of longer ones the length (`GrammarCorpus`), so that no
mass is missing and the work is bounded: `exact` is as large as it allows. EM adds to completion the mass (a
distribution), longer strings and the last digits; completion adds to EM one start of three.

`ascend`, the last climb, is L-BFGS on the logarithms of the rules of a proper grammar:

    p(rule) = exp t(rule) / sum over the rules of the same left side
    dL / dt(rule) = uses(rule) - p(rule) * uses of all rules of its left side

Expected uses are those of EM, so a step costs the same; near the top, where EM creeps, it needs far fewer.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import optimize

from sigmastar.automata.data.strings import Strings
from sigmastar.core.arrays import Floats
from sigmastar.core.em import Climb, Problem, Step, Stopping, by_absolute, extrapolation, iterate, relaxed
from sigmastar.core.progress import Progress, counted, silent, stage
from sigmastar.core.race import Leg, leading, race
from sigmastar.core.resources import thread_map
from sigmastar.grammars.counts.span_occurrences import Tables
from sigmastar.grammars.data.substrings import (
    LEAST_EXACT,
    Counted,
    distinct_strings,
    exact_length,
    held_counts,
    some_of,
    within_length,
)
from sigmastar.grammars.learn.em import GrammarCorpus, RuleCounts, RulePrior, from_chance
from sigmastar.grammars.learn.starts import FOR_LIKELIHOOD, cca_start, posterior_tables
from sigmastar.grammars.model.grammar import WeightedGrammar

_SMALLEST = 1e-12  # probability of a rule: one that EM dropped may come back
_FLAT = 1e-10  # relative gain of a step that ends the climb


def ascend(
    corpus: GrammarCorpus,
    grammar: WeightedGrammar,
    max_iter: int,
    word_prior: float = 0.0,
    progress: Progress = silent,
) -> WeightedGrammar:
    """The proper grammar where the likelihood is highest nearby; words have `word_prior` more uses."""
    extra = word_prior * np.repeat(corpus.unigram[None, :], grammar.n_states, axis=0)
    n_symbols, steps = len(corpus.alphabet), [0]

    def cost(flat: Floats) -> tuple[float, Floats]:
        found, initial, rules = _grammar(flat, grammar)
        counts = corpus.expect(found)
        uses = np.hstack([counts.words.T + extra, counts.composition.reshape(len(initial), -1)])
        at_initial = counts.initial - counts.initial.sum() * initial
        at_rules = uses - uses.sum(axis=1, keepdims=True) * rules
        value = counts.log_likelihood + float((extra * np.log(rules[:, :n_symbols])).sum())
        if not np.isfinite(value):
            return 1e100, np.zeros_like(flat)
        return -value / corpus.n_strings, -np.concatenate([at_initial, at_rules.ravel()]) / corpus.n_strings

    def note(intermediate_result: optimize.OptimizeResult) -> None:
        steps[0] += 1
        message = f"last climb, step {steps[0]}: {-intermediate_result.fun:.4f} nats per string"
        progress(message, min(steps[0] / max_iter, 1.0))

    options = {"maxiter": max_iter, "maxfun": 2 * max_iter, "maxcor": 20, "ftol": _FLAT, "gtol": 1e-9}
    found = optimize.minimize(  # type: ignore[call-overload]
        cost, _logits(grammar), jac=True, method="L-BFGS-B", callback=note, options=options
    )
    return _grammar(np.asarray(found.x, dtype=np.float64), grammar)[0]


def _logits(grammar: WeightedGrammar) -> Floats:
    rules = np.hstack([grammar.words.T, grammar.composition.reshape(grammar.n_states, -1)])
    found: Floats = np.log(np.maximum(np.concatenate([grammar.initial, rules.ravel()]), _SMALLEST))
    return found


def _grammar(flat: Floats, like: WeightedGrammar) -> tuple[WeightedGrammar, Floats, Floats]:
    """The grammar at a point, with its initial probabilities and those of its rules by left side."""
    n, n_symbols = like.n_states, len(like.alphabet)
    initial, rules = _softmax(flat[None, :n])[0], _softmax(flat[n:].reshape(n, -1))
    composition = rules[:, n_symbols:].reshape(n, n, n)
    return WeightedGrammar(like.alphabet, initial, rules[:, :n_symbols].T, composition), initial, rules


def _softmax(rows: Floats) -> Floats:
    raised = np.exp(np.maximum(rows - rows.max(axis=1, keepdims=True), -690.0))
    found: Floats = raised / raised.sum(axis=1, keepdims=True)
    return found


SIZES, LARGER = (2, 4, 6, 8, 12, 16, 20), (28, 40)
"""Numbers of states that "auto" tries; each of the larger ones where the largest before it is best."""
FEW_STATES = 4
"""States where there are too few strings to hold any out."""
PAIR_PRIORS = (0.0, 5.0, 20.0)
FIRST, SECOND, LONG = 20, 40, 60  # iterations of the legs of the race
CLOSE, LEADERS = 2e-3, 3  # nats per string that are no evidence for more states; sizes that run to the end
RACE_CUTS, LAST_CUTS = 25_000, 60_000  # of substrings: what bounds the work of an iteration
COMPLETED = 8  # symbols of the strings that completed brackets are taken from
ONCE = replace(FOR_LIKELIHOOD, n_tries=1)  # the race is enough
_PATIENT = Stopping(by_absolute(1e-5), every=5, patience=4)
_LAST = Stopping(by_absolute(1e-6), every=5, patience=2)
_LAST_LOOK = 2  # iterations on all strings where more would overfit
_FALLEN = 1e-2  # nats per string below the best: the climb has begun to overfit

Climbing = Climb[WeightedGrammar, RuleCounts]


def _rebuilt(new: WeightedGrammar, arrays: Sequence[Floats]) -> WeightedGrammar:
    initial, words, composition = arrays
    sums = words.sum(axis=0) + composition.sum(axis=(1, 2))
    return replace(
        new,
        initial=initial / initial.sum(),
        words=words / sums,
        composition=composition / sums[:, None, None],
    )


STEP: Step[WeightedGrammar, RuleCounts] = relaxed(
    extrapolation(lambda grammar: (grammar.initial, grammar.words, grammar.composition), _rebuilt),
    growth=1.3,
    largest=30.0,
)


@dataclass(frozen=True, eq=False)
class Candidate:
    """A climb from a named start."""

    start: str
    n_states: int
    climb: Climbing

    @property
    def score(self) -> float:
        return self.climb.score

    @property
    def name(self) -> str:
        return f"{self.start}, {counted(self.n_states, 'state')}"

    def run(self, n_iterations: int, /) -> Candidate:
        return replace(self, climb=self.climb.run(n_iterations, _PATIENT))


@dataclass(frozen=True)
class ProperPlan:
    """What is asked for."""

    n_states: int | None = None  # None: by held-out strings
    word_prior: float = 0.1  # uses of words beside those that are counted
    pair_priors: tuple[float, ...] = PAIR_PRIORS  # those of pairs; held-out strings decide
    max_iter: int = 150  # steps of the last climb


@dataclass(frozen=True, eq=False)
class ProperFit:
    """A proper grammar, and how it was chosen."""

    grammar: WeightedGrammar
    start: str  # "completed", "clusters" or "random"
    evidence: dict[int, float]  # by number of states: log-likelihood per held-out string; empty without any
    exact: int  # strings of up to so many symbols were seen whole
    pair_prior: float


def learn_proper(
    strings: Strings,
    plan: ProperPlan,
    rng: np.random.Generator,
    completed: WeightedGrammar | None = None,
    *,
    weights: Floats | None = None,
    progress: Progress = silent,
) -> ProperFit:
    """A distribution by EM from the best start of the best size; `completed` gives one of the starts."""
    every = distinct_strings(*within_length(strings, weights, None)[:2])
    kept, held = held_counts(*every, rng)
    kept = some_of(kept, rng)
    exact = exact_length(kept[0], RACE_CUTS)
    corpus = GrammarCorpus.of(*kept, exact=exact)
    judge = None if held is None else GrammarCorpus.of(*held, exact=exact)
    problem = corpus.problem(RulePrior(plan.word_prior, plan.pair_priors[0]), judge)
    starts = Starts.from_strings(kept, LEAST_EXACT, completed)
    sizes = SIZES if judge is not None else (FEW_STATES,)
    asked = (plan.n_states,) if plan.n_states else sizes
    ran = _raced(_begun(problem, starts, asked, rng), stage(progress, 0.0, 0.5))
    winner, tried_last = smallest(ran), asked[-1]
    for number, size in enumerate(LARGER if not plan.n_states and judge is not None else ()):
        if winner.n_states != tried_last:
            break
        share = stage(progress, 0.5 + 0.05 * number, 0.55 + 0.05 * number)
        ran += _raced(_begun(problem, starts, (size,), rng, winner.start), share)
        winner, tried_last = smallest(ran), size
    tried = []
    for number, pairs in enumerate(plan.pair_priors if judge is not None else plan.pair_priors[:1]):
        progress(f"{winner.n_states} states, prior of {pairs:g} pairs", 0.6 + 0.03 * number)
        own = corpus.problem(RulePrior(plan.word_prior, pairs), judge)
        climb = Climb.begin(own, winner.climb.best, STEP) if number else winner.climb
        tried.append(climb.run(LONG, _PATIENT))
    number = int(np.argmax([climb.score for climb in tried]))
    prior = RulePrior(plan.word_prior, plan.pair_priors[number])
    exact = exact_length(every[0], LAST_CUTS)
    grammar = _last(GrammarCorpus.of(*every, exact=exact), tried[number], prior, plan.max_iter, progress)
    evidence = {} if judge is None else _evidence(ran)
    return ProperFit(grammar, winner.start, evidence, exact, prior.pairs)


def _last(
    corpus: GrammarCorpus, best: Climbing, prior: RulePrior, max_iter: int, progress: Progress
) -> WeightedGrammar:
    """On all strings: as far as it goes, unless the held-out strings tell that this is too far."""
    problem = corpus.problem(prior, name="EM on all strings")
    if _overfits(best) or prior.pairs:
        n_iterations = _LAST_LOOK if _overfits(best) else max_iter
        climb = Climb.begin(problem, best.best, STEP)
        return climb.run(n_iterations, _LAST, progress=stage(progress, 0.7, 1.0)).latest
    grammar = iterate(problem, best.best, _LAST_LOOK, STEP)
    return ascend(corpus, grammar, max_iter, prior.words, stage(progress, 0.7, 1.0))


def _begun(
    problem: Problem[WeightedGrammar, RuleCounts],
    starts: Starts,
    sizes: Sequence[int],
    rng: np.random.Generator,
    only: str | None = None,
) -> list[Candidate]:
    return [
        Candidate(name, size, Climb.begin(problem, start, STEP))
        for size in sizes
        for name, start in starts.of(size, rng)
        if only in (None, name)
    ]


@dataclass(frozen=True, eq=False)
class Starts:
    """Where EM may begin: clusters are of the spans of short strings, where there are any."""

    corpus: Counted
    short: Counted | None
    seen: tuple[Strings, Floats, Tables] | None  # strings with the brackets of a completed grammar

    @classmethod
    def from_strings(cls, corpus: Counted, exact: int, completed: WeightedGrammar | None) -> Starts:
        short, seen = _up_to(corpus, exact), _up_to(corpus, COMPLETED)
        if completed is None or seen is None:
            return cls(corpus, short, None)
        return cls(corpus, short, (*seen, posterior_tables(completed, seen[0])))

    def of(self, n_states: int, rng: np.random.Generator) -> Iterator[tuple[str, WeightedGrammar]]:
        if self.seen is not None:
            strings, counts, tables = self.seen
            yield "completed", cca_start(strings, counts, n_states, rng, tables)
        if self.short is not None:
            yield "clusters", cca_start(*self.short, n_states, rng, "none", ONCE)
        yield "random", from_chance(*self.corpus, n_states, rng)


def _up_to(corpus: Counted, length: int) -> Counted | None:
    strings, counts = corpus
    short = np.flatnonzero(strings.lengths <= length)
    return (strings.select(short), counts[short]) if len(short) else None


def _raced(begun: list[Candidate], progress: Progress) -> list[Candidate]:
    """Of each size the best start, then the leading sizes."""
    sizes = [candidate.n_states for candidate in begun]

    def best_of_each(scores: Sequence[float]) -> list[int]:
        order = leading(len(scores))(scores)
        return [next(k for k in order if sizes[k] == size) for size in sorted(set(sizes))]

    legs = (Leg(FIRST, best_of_each), Leg(SECOND, leading(LEADERS)), Leg(LONG, leading(1)))
    return race(begun, legs, run=thread_map, progress=progress)


def smallest(ran: Sequence[Candidate]) -> Candidate:
    """The candidate with the fewest states among those that are as good as the best."""
    best = max(candidate.score for candidate in ran)
    close = [candidate for candidate in ran if candidate.score >= best - CLOSE]
    return min(close, key=lambda candidate: (candidate.n_states, -candidate.score))


def _evidence(ran: Sequence[Candidate]) -> dict[int, float]:
    best: dict[int, float] = {}
    for candidate in ran:
        best[candidate.n_states] = max(candidate.score, best.get(candidate.n_states, -np.inf))
    return best


def _overfits(climb: Climbing) -> bool:
    judge = climb.problem.held_out
    return judge is not None and judge(climb.latest) < climb.score - _FALLEN
