"""Brute-force twins of the fast kernels: slow, short, and plainly right."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np


def occurrences(string: tuple, word: tuple, anchored_left: bool, anchored_right: bool) -> int:
    """How often `word` occurs in `string`, only at its start or end where anchored."""
    n = len(word)
    places = [k for k in range(len(string) - n + 1) if string[k : k + n] == word]
    if anchored_left:
        places = [k for k in places if k == 0]
    if anchored_right:
        places = [k for k in places if k + n == len(string)]
    return len(places)


def frequent_strings(strings: list, size: int | None, anchored_left: bool, anchored_right: bool) -> list:
    """The `size` most frequent prefixes, suffixes or substrings; ties by length, then by symbols."""
    counts: dict = {(): 0}
    for string in strings:
        for start in [0] if anchored_left else range(len(string) + 1):
            for end in [len(string)] if anchored_right else range(start, len(string) + 1):
                word = tuple(string[start:end])
                counts[word] = counts.get(word, 0) + 1

    def order(word: tuple) -> tuple:
        return -counts[word], len(word), word[::-1] if anchored_right else word

    return sorted(counts, key=order)[:size]


def string_value(initial, transitions, final, codes) -> float:
    """The value of one string: a product of operators, entry by entry; unknown symbols (-1) give zero."""
    vector = list(initial)
    for code in codes:
        n = len(vector)
        vector = [
            sum(vector[i] * transitions[code][i][j] for i in range(n)) if code >= 0 else 0.0 for j in range(n)
        ]
    return float(sum(v * f for v, f in zip(vector, final, strict=True)))


def words_up_to(n_symbols: int, max_length: int) -> list:
    """All words as tuples of codes, shorter ones first, then in the order of their codes."""
    words: list = [()]
    level: list = [()]
    for _ in range(max_length):
        level = [(*word, code) for word in level for code in range(n_symbols)]
        words += level
    return words


def dfa_accepts(start: int, next_state, accepting, codes) -> bool:
    """Whether the walk over `codes` ends in an accepting state and never dies."""
    state = start
    for code in codes:
        state = next_state[state][code] if code >= 0 else -1
        if state < 0:
            return False
    return bool(accepting[state])


def hankel_rank(initial, transitions, final, max_length: int) -> int:
    """The numerical rank of the Hankel matrix on all words up to a length."""
    words = words_up_to(len(transitions), max_length)
    matrix = np.array([[string_value(initial, transitions, final, u + v) for v in words] for u in words])
    return int(np.linalg.matrix_rank(matrix, tol=1e-9 * np.linalg.norm(matrix))) if matrix.any() else 0


def prefix_counts(words: list) -> dict:
    """For every distinct prefix (the empty one always) how many words end there, and how many pass."""
    counts: dict = {(): [0, 0]}
    for word in words:
        for end in range(len(word) + 1):
            counts.setdefault(tuple(word[:end]), [0, 0])[1] += 1
        counts[tuple(word)][0] += 1
    return counts


def gap_context(word: tuple, gap: int, direction: str, edge: int) -> tuple:
    """All that stands beside a gap, read away from it, with the edge of the string as last symbol."""
    beside = word[:gap][::-1] if direction == "past" else word[gap:]
    return (*beside, edge)


def frequent_contexts(
    words: list, direction: str, edge: int, max_classes: int | None, min_count: int, max_depth: int | None
) -> list:
    """The most frequent contexts (shorter ones first where counts are equal), by length, then symbols."""
    counts: dict = {(): 0}
    for word in words:
        for gap in range(len(word) + 1):
            whole = gap_context(word, gap, direction, edge)
            longest = len(whole) if max_depth is None else min(len(whole), max_depth)
            for length in range(longest + 1):
                counts[whole[:length]] = counts.get(whole[:length], 0) + 1
    wanted = [context for context in counts if counts[context] >= min_count or not context]
    wanted = sorted(wanted, key=lambda c: (-counts[c], len(c), c))[:max_classes]
    return sorted(wanted, key=lambda c: (len(c), c))


def longest_context(contexts: list, whole: tuple) -> int:
    """The position of the longest of `contexts` that `whole` begins with."""
    fitting = [k for k, context in enumerate(contexts) if whole[: len(context)] == context]
    return max(fitting, key=lambda k: len(contexts[k]))


def class_counts(words: list, pasts: list, futures: list, edge: int) -> tuple[dict, dict, dict, dict]:
    """Gaps by (past, future), steps by (symbol, past, next future), ends by past, starts by future."""
    gaps: dict = {}
    steps: dict = {}
    ends: dict = {}
    starts: dict = {}
    for word in words:
        past = [longest_context(pasts, gap_context(word, g, "past", edge)) for g in range(len(word) + 1)]
        future = [
            longest_context(futures, gap_context(word, g, "future", edge)) for g in range(len(word) + 1)
        ]
        for pair in zip(past, future, strict=True):
            gaps[pair] = gaps.get(pair, 0) + 1
        for triple in zip(word, past, future[1:], strict=False):
            steps[triple] = steps.get(triple, 0) + 1
        ends[past[-1]] = ends.get(past[-1], 0) + 1
        starts[future[0]] = starts.get(future[0], 0) + 1
    return gaps, steps, ends, starts


def next_counts(words: list, contexts: list, edge: int) -> list:
    """For each context how often each outcome follows where the past begins with it; the end is `edge`."""
    rows: list = [{} for _ in contexts]
    for word in words:
        for gap, outcome in enumerate((*word, edge)):
            whole = gap_context(word, gap, "past", edge)
            for row, context in zip(rows, contexts, strict=True):
                if whole[: len(context)] == context:
                    row[outcome] = row.get(outcome, 0) + 1
    return rows


def witten_bell_row(contexts: list, rows: list, context: tuple, n_outcomes: int) -> list:
    """p(. | context), by the recursion of the textbook; what stands above the empty context is uniform."""
    below = [1.0 / n_outcomes] * n_outcomes
    if context:
        below = witten_bell_row(contexts, rows, context[:-1], n_outcomes)
    row = rows[contexts.index(context)]
    if not row:
        return below
    seen, total = len(row), sum(row.values())
    return [(row.get(y, 0) + seen * below[y]) / (total + seen) for y in range(n_outcomes)]


def kneser_ney_row(
    contexts: list, rows: list, context: tuple, n_outcomes: int, modified: bool = False
) -> list:
    """The same for Kneser-Ney: contexts that have longer ones count those an outcome was seen in."""
    below = [1.0 / n_outcomes] * n_outcomes
    if context:
        below = kneser_ney_row(contexts, rows, context[:-1], n_outcomes, modified)
    row = _kneser_ney_counts(contexts, rows, context)
    if not row:
        return below
    same_depth = [_kneser_ney_counts(contexts, rows, c) for c in contexts if len(c) == len(context)]
    n1, n2, n3, n4 = (sum(n == k for r in same_depth for n in r.values()) for k in (1, 2, 3, 4))
    discounts = [min(max(n1 / (n1 + 2 * n2) if n1 + n2 else 0.5, 0.1), 0.95)] * 3
    if modified and n1 and n2 and n3:
        share = n1 / (n1 + 2 * n2)
        three = [1 - 2 * share * n2 / n1, 2 - 3 * share * n3 / n2, 3 - 4 * share * n4 / n3]
        discounts = three if all(0 < d < k for k, d in enumerate(three, 1)) else discounts
    taken = {y: min(n, discounts[min(n, 3) - 1]) for y, n in row.items()}
    left, total = sum(taken.values()), sum(row.values())
    return [(row.get(y, 0) - taken.get(y, 0) + left * below[y]) / total for y in range(n_outcomes)]


def _kneser_ney_counts(contexts: list, rows: list, context: tuple) -> dict:
    longer = [k for k, c in enumerate(contexts) if len(c) == len(context) + 1 and c[:-1] == context]
    row = rows[contexts.index(context)]
    if not longer:
        return row
    numbers = {y: sum(y in rows[k] for k in longer) for y in row}
    return {y: n for y, n in numbers.items() if n}


def filter_word(
    start, transitions, mass, final, word, classes, backoff, restarts, mixing, limit
) -> tuple[list, list]:
    """One string through the restart filter: the distribution at every gap, the probabilities of its steps.

    `classes` are the context classes of the gaps, `backoff[r]` the back-off distribution of class r; a state
    with a coordinate beyond `limit` starts anew.
    """
    state, distributions, taken = np.asarray(start), [], []
    for gap, outcome in enumerate((*word, len(transitions))):
        weights = [max(float(state @ matrix @ mass), 0.0) for matrix in transitions]
        weights.append(max(float(state @ final), 0.0))
        total, given = sum(weights), backoff[classes[gap]]
        rate = mixing[classes[gap]] if total > 0 else 1.0
        own = [weight / total if total > 0 else 0.0 for weight in weights]
        mixed = [(1.0 - rate) * q + rate * g for q, g in zip(own, given, strict=True)]
        distributions.append(mixed)
        taken.append(mixed[outcome] if outcome >= 0 else 0.0)
        if gap == len(word):
            break
        restart = np.asarray(restarts[classes[gap + 1]])
        if outcome < 0:
            state = restart
            continue
        moved = (1.0 - rate) * (state @ transitions[outcome]) / total if own[outcome] > 0 else 0.0
        state = (moved + rate * given[outcome] * restart) / mixed[outcome]
        if not np.all(np.abs(state) < limit):
            state = restart
    return distributions, taken


def path_counts(initial, transitions, final, words) -> tuple[float, np.ndarray, np.ndarray, np.ndarray]:
    """Log-likelihood and expected starts, moves and stops, by going through every path of states."""
    n = len(initial)
    starts, moves, stops, log_likelihood = np.zeros(n), np.zeros_like(transitions), np.zeros(n), 0.0
    for word in words:
        weights = {
            path: float(
                initial[path[0]]
                * np.prod([transitions[a][path[t]][path[t + 1]] for t, a in enumerate(word)])
                * final[path[-1]]
            )
            for path in product(range(n), repeat=len(word) + 1)
        }
        total = sum(weights.values())
        log_likelihood += np.log(total)
        for path, weight in weights.items():
            starts[path[0]] += weight / total
            stops[path[-1]] += weight / total
            for t, a in enumerate(word):
                moves[a][path[t]][path[t + 1]] += weight / total
    return log_likelihood, starts, moves, stops


def derivations_by_search(rules: list, start: str, words: tuple, limit: int = 40) -> list:
    """All leftmost derivations of a string as lists of rule numbers; in right sides words are 1-tuples.

    Rules have no empty right sides, so a sentential form longer than the string is given up.
    """
    found, waiting = [], [((start,), ())]
    while waiting:
        form, used = waiting.pop()
        place = next((k for k, part in enumerate(form) if isinstance(part, str)), None)
        done = form if place is None else form[:place]
        if (
            tuple(part[0] for part in done) != words[: len(done)]
            or len(form) > len(words)
            or len(used) > limit
        ):
            continue
        if place is None:
            if len(form) == len(words):
                found.append(list(used))
            continue
        for number, (left, right) in enumerate(rules):
            if left == form[place]:
                waiting.append(((*form[:place], *right, *form[place + 1 :]), (*used, number)))
    return found


def projective_trees(n: int, single_root: bool = False) -> Iterator[tuple[int, ...]]:
    """The heads of all projective trees over n words, 0 is the root: by trying every choice of heads."""
    for heads in product(range(n + 1), repeat=n):
        if single_root and heads.count(0) != 1:
            continue
        if _reach_root(heads) and not any(_crossed(heads, word) for word in range(1, n + 1)):
            yield heads


def _reach_root(heads: tuple[int, ...]) -> bool:
    for word in range(1, len(heads) + 1):
        for _ in range(len(heads) + 1):
            word = heads[word - 1] if word else 0
        if word:
            return False
    return True


def _crossed(heads: tuple[int, ...], word: int) -> bool:
    """Whether the arc to `word` spans a word that its head does not dominate."""
    top = heads[word - 1]
    for between in range(min(word, top) + 1, max(word, top)):
        above = between
        while above not in (top, 0):
            above = heads[above - 1]
        if above != top:
            return True
    return False


def siblings_of(heads, head, direction) -> list[int]:
    """The modifiers of a head to one side, from the nearest on."""
    words = [w for w in range(1, len(heads) + 1) if heads[w - 1] == head and (w > head) == direction]
    return sorted(words, key=lambda w: abs(w - head))


def ways_of(heads) -> list[tuple[int, int, int]]:
    """Head, sibling next to it towards the head (0: none) and modifier, of every word."""
    found = []
    for head in range(len(heads) + 1):
        for direction in (0, 1):
            words = siblings_of(heads, head, direction)
            found += [(head, before, word) for before, word in zip([0, *words], words, strict=False)]
    return found


def stops_of(heads) -> list[tuple[int, int]]:
    """Each head with its last modifier: 0 where it has none to the left, itself where none to the right."""
    stops = []
    for head in range(len(heads) + 1):
        modifiers = [word for word, top in enumerate(heads, 1) if top == head]
        if head > 0:
            stops.append((head, min([word for word in modifiers if word < head], default=0)))
        stops.append((head, max([word for word in modifiers if word > head], default=head)))
    return stops


def tree_weight(heads, codes, automata, weights) -> float:
    """The weight of one tree: every head's modifiers to both sides, one matrix after the other."""
    total = 1.0
    for head in range(len(heads) + 1):
        for direction in (0, 1) if head else (1,):
            sort = 2 * codes[head] + (direction if head else 0)
            vector = automata.initial[sort].copy()
            for modifier in siblings_of(heads, head, direction):
                vector = vector @ automata.operators[sort, codes[modifier]] * weights[head, modifier]
            total *= vector @ automata.final[sort]
    return total


def backed_off(event, contexts, seen) -> float:
    """Collins (1999): from the coarsest context to the finest; `seen` lists (event, contexts) of the past."""
    value = 1e-6
    for level in reversed(range(len(contexts))):
        after = [e for e, known in seen if known[level] == contexts[level]]
        if after:
            share = len(after) / (len(after) + 5 * len(set(after)))
            value = share * after.count(event) / len(after) + (1 - share) * value
    return value
