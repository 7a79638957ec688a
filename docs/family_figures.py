"""Pictures of single families, drawn from known models and small computations by NumPy alone."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np
from figures import typed

from sigmastar.automata.draw.graph import draw_automaton
from sigmastar.automata.model.automaton import WeightedAutomaton
from sigmastar.automata.model.generators import make_hmm
from sigmastar.bilexical.draw import capacity_picture, plot_embedding
from sigmastar.core.alphabet import Alphabet
from sigmastar.core.figures import (
    draw_probabilities,
    new_figure,
    plot_learning_curves,
    plot_matrices,
    series_colour,
    tidy,
    to_svg,
)
from sigmastar.core.toy_english import sentences
from sigmastar.taggers.draw import plot_tags
from sigmastar.transducers.draw import draw_lattice
from sigmastar.trees.data.brackets import parse_brackets
from sigmastar.trees.draw import draw_tree


def _tag_counts() -> tuple[list[str], np.ndarray, np.ndarray, dict[str, np.ndarray]]:
    """Tags of a little English, what follows what, and tags of words, as probabilities."""
    nodes = sentences(600)
    tags = sorted({tag for node in nodes for tag in node.tags})
    start, moves = np.full(len(tags), 0.1), np.full((len(tags), len(tags)), 0.1)
    words: dict[str, np.ndarray] = {}
    for node in nodes:
        codes = [tags.index(tag) for tag in node.tags]
        start[codes[0]] += 1
        for here, there in pairwise(codes):
            moves[here, there] += 1
        for word, code in zip(node.words, codes, strict=True):
            words.setdefault(word, np.full(len(tags), 0.05))[code] += 1
    return tags, start / start.sum(), moves / moves.sum(axis=1, keepdims=True), words


def _posteriors(words: tuple[str, ...]) -> tuple[list[str], np.ndarray]:
    """Forwards and backwards through a chain of tags; a word that is not known may have any of them."""
    tags, start, moves, counts = _tag_counts()
    total = sum(counts.values())
    seen = [counts.get(word, total * 0 + 1.0) / total for word in words]
    ahead, behind = [start * seen[0]], [np.ones(len(tags))]
    for row in seen[1:]:
        ahead.append(ahead[-1] @ moves * row)
    for row in seen[:0:-1]:
        behind.append(moves @ (row * behind[-1]))
    table = np.array(ahead) * np.array(behind[::-1])
    return tags, table / table.sum(axis=1, keepdims=True)


def tags() -> str:
    node = typed()
    names, table = _posteriors(tuple(node.words))
    return to_svg(plot_tags(node.words, names, table, node.tags), "Tags of a sentence")


def unknown_word() -> str:
    words = ("the", "girl", "sees", "a", "blick", "with", "a", "telescope")
    names, table = _posteriors(words)
    title = "A word that was never seen: its neighbours tell"
    return to_svg(plot_tags(words, names, table, title=title), title)


def tag_moves() -> str:
    names, _, moves, _ = _tag_counts()
    figure = new_figure(5.2, 3.4)
    axes = figure.subplots()
    tidy(axes, "Which tag follows which", "next tag", "", grid="")
    draw_probabilities(axes, moves, names)
    axes.set_xticks(np.arange(len(names)) + 0.5, names)
    return to_svg(figure, "Which tag follows which")


def _grid(share: float, seed: int = 3) -> tuple[np.ndarray, np.ndarray]:
    """Values of a machine of two states, which turns by an angle per symbol, with some of them seen."""
    rng = np.random.default_rng(seed)
    words = ["", "a", "b", "aa", "ab", "ba", "bb", "aab", "aba", "abb", "baa", "bab"]
    angle = np.array([[0.5 * w.count("a") - 0.8 * w.count("b")] for w in words])
    whole = np.cos(angle + angle.T + 0.3)
    return whole, np.where(rng.random(whole.shape) < share, whole, np.nan)


def _completed(seen: np.ndarray, rank: int, rounds: int = 400) -> np.ndarray:
    """Alternating projections: rank, then what was seen."""
    known = ~np.isnan(seen)
    guess = np.where(known, seen, np.nanmean(seen))
    for _ in range(rounds):
        left, values, right = np.linalg.svd(guess)
        guess = np.where(known, seen, (left[:, :rank] * values[:rank]) @ right[:rank])
    return guess


def holes() -> str:
    whole, seen = _grid(0.45)
    found = {"seen": seen, "completed": _completed(seen, 2), "true": whole}
    return to_svg(plot_matrices(found, bend=1.0), "A Hankel matrix with holes, completed, and the true one")


def completion_curve() -> str:
    shares = np.array([0.15, 0.25, 0.35, 0.5, 0.65, 0.8])
    errors = np.array([[_lost(float(share), seed) for seed in range(12)] for share in shares])
    middle, low, high = np.median(errors, axis=1), *np.quantile(errors, [0.1, 0.9], axis=1)
    figure = plot_learning_curves(
        {"two states": (shares, middle, low, high)},
        "share of values that are seen",
        "relative error",
        "How many values are enough",
        log_x=False,
    )
    return to_svg(figure, "How many values are enough")


def _lost(share: float, seed: int) -> float:
    whole, seen = _grid(share, seed)
    found = _completed(seen, 2, 300)
    return max(float(np.linalg.norm(found - whole) / np.linalg.norm(whole)), 1e-6)


def completed_spectrum() -> str:
    whole, seen = _grid(0.45)
    axis = np.arange(1, 7)
    filled = np.where(np.isnan(seen), 0, seen)
    curves = {
        name: (axis, np.maximum(np.linalg.svd(matrix, compute_uv=False)[:6], 1e-6))
        for name, matrix in (("holes as zeros", filled), ("completed", _completed(seen, 2)), ("true", whole))
    }
    title = "Holes raise the rank, completion takes it down again"
    return to_svg(plot_learning_curves(curves, "number", "singular value", title, log_x=False), title)


def _series() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    hidden = np.repeat(rng.integers(0, 3, 14), 14)
    return hidden, np.array([[0, 0], [3, 1], [1, 4]])[hidden] + 0.7 * rng.standard_normal((len(hidden), 2))


def series() -> str:
    hidden, rows = _series()
    figure = new_figure(6.4, 3.0)
    axes = figure.subplots()
    tidy(axes, "A series of two columns, and the hidden states below", "row", "value")
    for column in (0, 1):
        axes.plot(rows[:, column], color=series_colour(column + 3), linewidth=1.1, label="xy"[column])
    for state in range(3):
        at = np.flatnonzero(hidden == state)
        axes.scatter(at, np.full(len(at), -3.0), s=9, marker="s", color=series_colour(state))
    return to_svg(figure, "A series and its states")


def clouds() -> str:
    hidden, rows = _series()
    figure = new_figure(5.0, 3.8)
    axes = figure.subplots()
    tidy(axes, "The same rows in the plane: a Gaussian per state", "x", "y")
    around = np.linspace(0, 2 * np.pi, 80)
    for state in range(3):
        mine = rows[hidden == state]
        axes.scatter(*mine.T, s=9, color=series_colour(state))
        values, vectors = np.linalg.eigh(np.cov(mine.T))
        ring = (
            mine.mean(axis=0)
            + 2 * (np.sqrt(values)[:, None] * [np.cos(around), np.sin(around)]).T @ vectors.T
        )
        axes.plot(*ring.T, color=series_colour(state), linewidth=1.2)
    return to_svg(figure, "Rows by their states, with rings of two standard deviations")


def alignments() -> str:
    """Two ways from letters to sounds, and how likely each is."""
    first = [(("p", "h"), ("F",)), (("o",), ("OW",)), (("n",), ("N",)), (("e",), ())]
    second = [(("p",), ()), (("h",), ("F",)), (("o",), ("OW",)), (("n", "e"), ("N",))]
    return draw_lattice([(first, 0.8), (second, 0.2)])


def zipf() -> str:
    counts: dict[str, int] = {}
    for node in sentences(3000):
        for word in node.words:
            counts[word] = counts.get(word, 0) + 1
    values = np.array(sorted(counts.values(), reverse=True), dtype=float)
    figure = plot_learning_curves(
        {"a little English": (np.arange(1, len(values) + 1), values / values.sum())},
        "rank of the word",
        "share of the tokens",
        "Few words are frequent, most are rare",
    )
    return to_svg(figure, "Few words are frequent, most are rare")


def _next_words() -> tuple[list[str], np.ndarray]:
    pairs: dict[tuple[str, str], int] = {}
    for node in sentences(3000):
        framed = ["<", *node.words, ">"]
        for pair in pairwise(framed):
            pairs[pair] = pairs.get(pair, 0) + 1
    words = sorted({word for pair in pairs for word in pair})
    table = np.zeros((len(words), len(words)))
    for (first, second), count in pairs.items():
        table[words.index(first), words.index(second)] = count
    return words, table


def next_words() -> str:
    words, table = _next_words()
    firsts = [word for word in ("<", "the", "girl", "sees", "with") if word in words]
    shares = table / np.maximum(table.sum(axis=1, keepdims=True), 1)
    best = np.argsort(-shares[[words.index(w) for w in firsts]].max(axis=0))[:12]
    figure = new_figure(6.6, 2.8)
    axes = figure.subplots()
    tidy(axes, "What comes after a word", "next word", "", grid="")
    draw_probabilities(axes, shares[np.ix_([words.index(w) for w in firsts], best)], firsts)
    axes.set_xticks(np.arange(len(best)) + 0.5, [words[k] for k in best], rotation=40, ha="right")
    return to_svg(figure, "What comes after a word")


def low_rank() -> str:
    """How much of a table of successors a few states keep."""
    _, table = _next_words()
    scaled = table / np.sqrt(np.maximum(np.outer(table.sum(axis=1), table.sum(axis=0)), 1))
    values = np.linalg.svd(scaled, compute_uv=False)
    kept = np.cumsum(values**2) / (values**2).sum()
    figure = plot_learning_curves(
        {"a little English": (np.arange(1, 13), kept[:12])},
        "states",
        "share that is kept",
        "A table of words by words has few dimensions",
        log_x=False,
        log_y=False,
    )
    return to_svg(figure, "A table of words by words has few dimensions")


def risk() -> str:
    """The excess risk of counted rules, by the number of trees, and the rate of theory."""
    rng = np.random.default_rng(0)
    truth = rng.dirichlet(np.ones(12))
    sizes = np.array([30, 100, 300, 1000, 3000, 10_000])
    found = []
    for size in sizes:
        drawn = (rng.multinomial(size, truth, 200) + 0.5) / (size + 6)
        found.append((truth * np.log(truth / drawn)).sum(axis=1))
    table = np.array(found)
    middle, low, high = table.mean(axis=1), *np.quantile(table, [0.1, 0.9], axis=1)
    curves = {"counted": (sizes, middle, low, high), "11 / (2 n)": (sizes, 11 / (2 * sizes))}
    title = "Excess risk of the twelve rules of a left-hand side"
    return to_svg(plot_learning_curves(curves, "trees", "nats per rule", title), title)


def derivations() -> str:
    """How many trees a string of so many words has: the Catalan numbers."""
    lengths = np.arange(2, 21)
    counts = [1.0]
    for n in range(1, 20):
        counts.append(counts[-1] * 2 * (2 * n - 1) / (n + 1))
    curves = {"binary trees": (lengths, np.array(counts[1:20]))}
    title = "Why strings are hard: trees above them"
    figure = plot_learning_curves(curves, "words", "trees", title, log_x=False)
    figure.axes[0].set_xticks(lengths[::3])
    return to_svg(figure, title)


def bracketing() -> str:
    return draw_tree(parse_brackets("(X (X (X a) (X b)) (X (X a) (X (X (X a) (X b)) (X b))))")[0])


def grammar_spectrum() -> str:
    """The Hankel matrix of insides and outsides of balanced brackets has one dimension."""
    probability = lambda n: np.array([1, 1, 2, 5, 14, 42, 132, 429])[n] * 0.4**n * 0.6 ** (n + 1)  # noqa: E731
    block = np.array([[probability(i) * probability(j) for j in range(4)] for i in range(4)])
    counted = np.random.default_rng(0).poisson(block * 3000) / 3000
    return to_svg(
        plot_matrices({"counted": counted, "one state": block}, bend=0.35), "Spans and what is around them"
    )


def relation() -> str:
    """Heads and modifiers of a relation of rank two: what points the same way goes together."""
    rng = np.random.default_rng(1)
    nouns = {"food": ("bread", "soup", "cake"), "people": ("girl", "teacher", "king")}
    verbs = {"eating": ("eat", "cook", "bake"), "meeting": ("greet", "ask", "thank")}
    centres = [np.array([1.0, 0.2]), np.array([0.1, 1.0])]
    groups = {}
    for kind in (nouns, verbs):
        for centre, (name, words) in zip(centres, kind.items(), strict=True):
            groups[name] = (words, centre + 0.12 * rng.standard_normal((len(words), 2)))
    return to_svg(plot_embedding(groups, "Verbs and their objects"), "Verbs and their objects")


def capacity() -> str:
    rng = np.random.default_rng(2)
    left, right = rng.standard_normal((40, 3)), rng.standard_normal((40, 3))
    noisy = left @ right.T + 0.6 * rng.standard_normal((40, 40))
    u, values, v = np.linalg.svd(noisy)
    ranks = [1, 2, 3, 5, 10, 20, 40]
    fits = [(u[:, :k] * values[:k]) @ v[:k] for k in ranks]
    truth = left @ right.T > 0
    hits = [100 * float(((fit > 0) == truth).mean()) for fit in fits]
    return capacity_picture({"cut to few dimensions": ([80 * k for k in ranks], hits)}, 40).svg


def distilled() -> str:
    machine = make_hmm(3, 2, np.random.default_rng(5), concentration=0.3)
    return draw_automaton(machine, label="A stand-in of three states")


def stand_in_curve() -> str:
    """How far the stand-in is from a black box of five states, by its own number of states."""
    rng = np.random.default_rng(8)
    machine = make_hmm(5, 3, rng, concentration=0.5)
    words = [""] + [a + b for a in ("", "0", "1", "2") for b in "012"]

    def path(word: str) -> np.ndarray:
        moves = [machine.transitions[int(symbol)] for symbol in word]
        return np.linalg.multi_dot([*moves, np.eye(5)]) if word else np.eye(5)

    outside = np.array([machine.initial @ path(w) for w in words])
    inside = np.array([path(w) @ machine.final for w in words]).T
    u, values, v = np.linalg.svd(outside @ inside)
    states = np.arange(1, 7)
    left = [np.abs((u[:, :k] * values[:k]) @ v[:k] - outside @ inside).sum() for k in states]
    curves = {"largest block": (states, np.maximum(left, 1e-12))}
    title = "Five states are enough for a box of five"
    return to_svg(plot_learning_curves(curves, "states", "what is lost", title, log_x=False), title)


def _machine(moves: np.ndarray, final: np.ndarray, symbols: str) -> WeightedAutomaton:
    """A deterministic automaton as a weighted one: ways that there are have weight 1."""
    n_states, n_symbols = moves.shape
    weights = np.zeros((n_symbols, n_states, n_states))
    for state, symbol in np.argwhere(moves >= 0):
        weights[symbol, state, moves[state, symbol]] = 1.0
    return WeightedAutomaton(Alphabet(tuple(symbols)), np.eye(n_states)[0], weights, final)


def rule() -> str:
    """Strings of a, c, d without dd."""
    moves = np.array([[0, 0, 1], [0, 0, -1]])
    return draw_automaton(_machine(moves, np.ones(2), "acd"), label="The rule: no d after d")


def odds() -> str:
    """How likely a rule is kept, by the length of a string, where symbols are drawn independently."""
    lengths = np.arange(0, 31, 3)
    curves = {}
    for share in (0.1, 0.2, 0.4):
        step = np.array([[1 - share, share], [1 - share, 0.0]])
        kept = [float(np.linalg.matrix_power(step, n)[0].sum()) for n in lengths]
        curves[f"d: {share:.0%} of the symbols"] = (lengths, np.array(kept))
    title = "The share of strings without dd"
    return to_svg(plot_learning_curves(curves, "length", "share", title, log_x=False), title)


def parity() -> str:
    """The number of ab, modulo 3, with the last symbol: what a distilled classifier finds."""
    moves = np.array([[[k + 3, k, k], [k + 3, (k + 1) % 3, k]] for k in range(3)])
    table = np.concatenate([moves[:, 0], moves[:, 1]])
    final = (np.arange(6) % 3 == 1).astype(float)
    return draw_automaton(_machine(table, final, "abc"), label="Six states that count ab")


PICTURES: dict[str, Callable[[], str]] = {
    "tags": tags,
    "unknown-word": unknown_word,
    "tag-moves": tag_moves,
    "holes": holes,
    "completion-curve": completion_curve,
    "completed-spectrum": completed_spectrum,
    "series": series,
    "clouds": clouds,
    "alignments": alignments,
    "zipf": zipf,
    "next-words": next_words,
    "low-rank": low_rank,
    "risk": risk,
    "derivations": derivations,
    "bracketing": bracketing,
    "grammar-spectrum": grammar_spectrum,
    "relation": relation,
    "capacity": capacity,
    "distilled": distilled,
    "stand-in-curve": stand_in_curve,
    "rule": rule,
    "odds": odds,
    "parity": parity,
}
