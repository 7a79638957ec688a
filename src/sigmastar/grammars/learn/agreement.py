"""A start of EM from brackets that several grammars agree on.

    members   grammars by EM from clusters of spans under right-branching brackets, each with its own chance
              (and its own strings, where there are many)
    agree     the tree of each string that holds the most constituents by the mean of their posteriors
    start     clusters of spans under these trees

EM for brackets is noisy: members differ by more points of F1 than most settings do. Their mean is better than
each, and a grammar that begins at their trees is better than the mean, and as small as one member.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from sigmastar.automata.data.strings import Strings
from sigmastar.core.arrays import Floats
from sigmastar.core.parallel import thread_map
from sigmastar.grammars.data.counted import ENOUGH
from sigmastar.grammars.data.substrings import distinct_strings
from sigmastar.grammars.kernels.span_posteriors import best_spans
from sigmastar.grammars.learn.em import EMSettings, learn_grammar_em
from sigmastar.grammars.learn.starts import LONGEST, cca_start
from sigmastar.grammars.model.grammar import WeightedGrammar

MEMBERS, MEMBER_STRINGS, MOST_STRINGS = 6, 2000, 10_000
ELSEWHERE = 0.01
"""How probable a span is that is in no tree, beside one that is."""


def agreed_start(
    strings: Strings,
    weights: Floats,
    n_states: int,
    rng: np.random.Generator,
    settings: EMSettings,
) -> WeightedGrammar:
    """Clusters of spans under agreed brackets of short strings; right-branching ones where these are few."""
    short = np.flatnonzero((strings.lengths <= LONGEST) & (weights > 0.0))
    if len(short) < ENOUGH:
        return cca_start(strings, weights, n_states, rng, "right")
    short = _some(short, MOST_STRINGS, rng)
    part, counts = strings.select(short), weights[short]
    own = replace(settings, n_seeds=1, held_out=0.0, max_length=None)
    start = partial(cca_start, brackets="right")

    def member(chance: np.random.Generator) -> WeightedGrammar:
        chosen = _some(np.arange(len(part)), MEMBER_STRINGS, chance)
        seen, of_seen = part.select(chosen), counts[chosen]
        return learn_grammar_em(seen, n_states, chance, start, own, weights=of_seen).grammar

    members = list(thread_map(member, rng.spawn(MEMBERS)))
    distinct, counts = distinct_strings(part, counts)
    return cca_start(distinct, counts, n_states, rng, agreed_tables(members, distinct))


def agreed_tables(members: list[WeightedGrammar], strings: Strings) -> list[Floats]:
    """Of each string: one at the spans of the tree that the members agree on, little elsewhere."""
    found = [member.span_posteriors(strings) for member in members]
    return [_table(np.mean(tables, axis=0)) for tables in zip(*found, strict=True)]


def _table(mean: Floats) -> Floats:
    length = len(mean) - 1
    table = np.full_like(mean, ELSEWHERE)
    table[np.arange(length), np.arange(1, length + 1)] = 1.0
    begins, ends = np.array(best_spans(mean), dtype=np.int64).reshape(-1, 2).T
    table[begins, ends] = 1.0
    return table


def _some(numbers: np.ndarray, most: int, rng: np.random.Generator) -> np.ndarray:
    return numbers if len(numbers) <= most else np.sort(rng.choice(numbers, most, replace=False))
