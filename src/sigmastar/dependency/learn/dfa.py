"""A deterministic automaton that approximates a head automaton (section 5.3 of Luque et al. 2012).

Forward vectors of frequent prefixes are clustered by the angles between them (group average); a prefix is in
the state of its cluster, and a modifier leads from the state of a prefix to that of the longer one. Where one
state and modifier lead to two states, these are merged, until none do.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np
from scipy.cluster.hierarchy import fcluster, linkage

from sigmastar.automata.data.strings import Strings
from sigmastar.automata.model.automaton import WeightedAutomaton
from sigmastar.core.alphabet import Symbol
from sigmastar.core.arrays import Floats, Indices

Prefix = tuple[int, ...]

STOP = "STOP"


@dataclass(frozen=True)
class HeadDFA:
    """Moves by (state, symbol) with how often each is used; state 0 is the initial one."""

    n_states: int
    moves: dict[tuple[int, Symbol], tuple[int, float]]
    stops: dict[int, float]

    def to_dot(self, name: str) -> str:
        """Graphviz text; symbols of the same move stand on one arrow, with the share of the state's uses."""
        totals = Counter(self.stops)
        for (state, _), (_, count) in self.moves.items():
            totals[state] += count  # type: ignore[assignment]
        arrows: dict[tuple[int, int], list[str]] = {}
        for (state, symbol), (target, count) in sorted(self.moves.items(), key=lambda move: -move[1][1]):
            arrows.setdefault((state, target), []).append(f"{symbol} {count / totals[state]:.2f}")
        lines = [f'digraph "{_quoted(name)}" {{', "  rankdir=LR;", "  node [shape=circle];"]
        for state in range(self.n_states):
            share = self.stops.get(state, 0.0) / max(totals[state], 1e-300)
            shape = ", shape=doublecircle" if share > 0.05 else ""
            label = "I" if state == 0 else str(state)
            lines.append(f'  {state} [label="{label}\\n{STOP} {share:.2f}"{shape}];')
        for (state, target), names in arrows.items():
            lines.append(f'  {state} -> {target} [label="{_quoted(", ".join(names[:6]))}"];')
        return "\n".join([*lines, "}", ""])


def approximate_dfa(
    automaton: WeightedAutomaton,
    strings: Strings,
    counts: Floats,
    n_clusters: int = 10,
    most_prefixes: int = 300,
) -> HeadDFA:
    """Clusters of the forward vectors of the most frequent prefixes, merged to a consistent automaton.

    Parameters
    ----------
    automaton : WeightedAutomaton
        Of one head and direction.
    strings : Strings
        Sequences of modifiers.
    counts : Floats
        How often each of them occurs.
    n_clusters : int
        Largest number of clusters.
    most_prefixes : int
        Largest number of prefixes that are clustered.

    Returns
    -------
    HeadDFA
        Moves and stops, counted on the sequences.
    """
    prefixes = _frequent_prefixes(strings, counts, most_prefixes)
    vectors = np.array([automaton.forward(np.array(p, dtype=np.int32)).mantissas[-1] for p in prefixes])
    state = _clusters(vectors, min(n_clusters, len(prefixes)))
    _merge(prefixes, state)
    state = np.unique(_first_is_zero(state), return_inverse=True)[1]
    return _counted(automaton, dict(zip(prefixes, state.tolist(), strict=True)), strings, counts)


def _frequent_prefixes(strings: Strings, counts: Floats, most: int) -> list[Prefix]:
    seen: Counter[Prefix] = Counter({(): 1})
    for low, high, count in zip(strings.offsets[:-1], strings.offsets[1:], counts.tolist(), strict=True):
        codes = tuple(strings.codes[low:high].tolist())
        for length in range(len(codes) + 1):
            seen[codes[:length]] += count
    frequent = [prefix for prefix, _ in seen.most_common(most)]
    kept = set(frequent)  # a prefix is at most as frequent as the shorter ones, ties may fall apart
    return sorted(
        (p for p in frequent if all(p[:k] in kept for k in range(len(p)))), key=lambda p: (len(p), p)
    )


def _clusters(vectors: Floats, n_clusters: int) -> Indices:
    sizes = np.linalg.norm(vectors, axis=1, keepdims=True)
    units = vectors / np.where(sizes > 0, sizes, 1.0)
    if len(units) < 2 or n_clusters < 2:
        return np.zeros(len(units), dtype=np.intp)
    tree = linkage(np.maximum(1.0 - units @ units.T, 0.0)[np.triu_indices(len(units), 1)], "average")
    return np.asarray(fcluster(tree, n_clusters, "maxclust") - 1, dtype=np.intp)


def _merge(prefixes: list[Prefix], state: Indices) -> None:
    place = {prefix: k for k, prefix in enumerate(prefixes)}
    changed = True
    while changed:
        changed, target = False, dict[tuple[int, int], int]()
        for prefix in prefixes[1:]:
            key, into = (int(state[place[prefix[:-1]]]), prefix[-1]), int(state[place[prefix]])
            other = target.setdefault(key, into)
            if other != into:
                state[state == into] = other
                changed = True
                break


def _first_is_zero(state: Indices) -> Indices:
    return np.where(state == state[0], -1, state)


def _counted(
    automaton: WeightedAutomaton, state: dict[Prefix, int], strings: Strings, counts: Floats
) -> HeadDFA:
    moves: dict[tuple[int, Symbol], tuple[int, float]] = {}
    stops: dict[int, float] = {}
    for low, high, count in zip(strings.offsets[:-1], strings.offsets[1:], counts.tolist(), strict=True):
        codes = tuple(strings.codes[low:high].tolist())
        for length in range(1, len(codes) + 1):
            if codes[:length] not in state:
                break
            key = (state[codes[: length - 1]], automaton.alphabet.symbols[codes[length - 1]])
            target, before = moves.get(key, (state[codes[:length]], 0.0))
            moves[key] = (target, before + count)
        else:
            stops[state[codes]] = stops.get(state[codes], 0.0) + count
    return HeadDFA(max(state.values()) + 1, moves, stops)


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')
