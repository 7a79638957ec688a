"""Pictures of guides that belong to no one family, drawn from small computations by NumPy alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product

import numpy as np

from sigmastar.core.em import NEVER, Climb, Problem
from sigmastar.core.figures import (
    INK,
    MUTED,
    draw_probabilities,
    new_figure,
    plot_learning_curves,
    series_colour,
    tidy,
    to_svg,
)
from sigmastar.core.progress import Event, Measure, Point, listening
from sigmastar.core.race import Leg, leading, race
from sigmastar.datasets import data_sets
from sigmastar.taggers.data.tokenizer import Tokenizer
from sigmastar.trees.data.brackets import parse_brackets
from sigmastar.trees.draw import draw_tree

TEXT = "Mr. Hill doesn't sleep well. It's 3.5 miles!"
Dice = tuple[np.ndarray, np.ndarray]  # shares of the dice, and the probabilities of their faces


def race_of_starts() -> str:
    """What a race reports: EM of loaded dice from several starts, the leaders of which run on."""
    rng = np.random.default_rng(4)
    faces = rng.dirichlet(np.full(6, 0.5), 5)
    rows = np.array([rng.multinomial(8, faces[k]) for k in rng.integers(0, 5, 300)])
    problem = Problem(lambda dice: _expected(dice, rows), _dice, len(rows))
    starts = [(np.full(5, 0.2), rng.dirichlet(np.ones(6), 5)) for _ in range(6)]
    heard: list[Event] = []
    with listening(heard.append):
        legs = [Leg(6, leading(3)), Leg(10, leading(2)), Leg(20, leading(1))]
        race([_Start(Climb.begin(problem, start)) for start in starts], legs)
    curves: dict[object, list[tuple[float, float]]] = {}
    for event in heard:
        if isinstance(event, Point) and event.measure is Measure.CLIMB and event.x > 2:
            curves.setdefault(event.curve, []).append((event.x, event.y))
    named = {f"start {k}": tuple(np.array(points).T) for k, points in enumerate(curves.values(), 1)}
    title = "A race of six starts"
    figure = plot_learning_curves(
        named, "iteration", "log-likelihood per item", title, log_x=False, log_y=False
    )
    return to_svg(figure, title)


class _Start:
    """A climb that runs as many iterations as its leg has."""

    def __init__(self, climb: Climb[Dice, Dice]) -> None:
        self.climb, self.score = climb, climb.score

    def run(self, n_iterations: int, /) -> _Start:
        return _Start(self.climb.run(n_iterations, NEVER))


def _expected(dice: Dice, rows: np.ndarray) -> tuple[Dice, float]:
    logs = np.log(dice[0]) + rows @ np.log(dice[1]).T
    top = logs.max(axis=1, keepdims=True)
    sums = np.exp(logs - top).sum(axis=1, keepdims=True)
    shares = np.exp(logs - top) / sums
    return (shares.sum(axis=0), shares.T @ rows), float((top + np.log(sums)).sum())


def _dice(counts: Dice) -> Dice:
    smooth = counts[1] + 0.01
    return counts[0] / counts[0].sum(), smooth / smooth.sum(axis=1, keepdims=True)


def odds_along() -> str:
    """How likely a rule will be kept, after each symbol of a string: contains ace, twelve symbols."""
    symbols, phrase, n = "abcde", "ace", 12
    step = np.zeros((4, 4))
    for state in range(3):
        for symbol in symbols:
            step[state, _matched(phrase, state, symbol)] += 1 / len(symbols)
    step[3, 3] = 1.0
    ahead = [np.linalg.matrix_power(step, left)[:, 3] for left in range(n + 1)]
    curves = {}
    for string in ("bdacbaceddab", "bacadbacbdea"):
        state, odds = 0, [ahead[n][0]]
        for place, symbol in enumerate(string, 1):
            state = _matched(phrase, state, symbol)
            odds.append(ahead[n - place][state])
        curves[string] = (np.arange(n + 1), np.array(odds))
    title = "The odds that ace will be there in the end"
    figure = plot_learning_curves(curves, "symbols so far", "probability", title, log_x=False, log_y=False)
    return to_svg(figure, title)


def _matched(phrase: str, state: int, symbol: str) -> int:
    """How much of a phrase stands at the end of what was read; all of it is kept."""
    if state == len(phrase):
        return state
    seen = phrase[:state] + symbol
    return next(k for k in range(len(seen), -1, -1) if seen.endswith(phrase[:k]))


def futures() -> str:
    """Prefixes by what they expect next, under a machine of three states."""
    moves = 0.82 * np.eye(3) + 0.06
    shown = np.array([[0.8, 0.1, 0.1], [0.15, 0.7, 0.15], [0.1, 0.25, 0.65]])
    ahead, state = [], []
    for word in product(range(3), repeat=5):
        belief = np.full(3, 1 / 3)
        for symbol in word:
            belief = (belief * shown[:, symbol]) @ moves
        belief /= belief.sum()
        ahead.append((belief @ shown)[:2])
        state.append(int(belief.argmax()))
    figure = new_figure(5.2, 3.8)
    axes = figure.subplots()
    tidy(axes, "Prefixes by what they expect next", "probability of 0", "probability of 1", grid="both")
    for number in range(3):
        mine = np.array([point for point, at in zip(ahead, state, strict=True) if at == number])
        label = f"mostly state {number}"
        axes.scatter(*mine.reshape(-1, 2).T, s=14, alpha=0.7, color=series_colour(number), label=label)
    axes.legend(frameon=False, fontsize=9)
    return to_svg(figure, "Prefixes by what they expect next")


def tokens() -> str:
    """A line of text in boxes: a box per word, a row per sentence."""
    rows = list(Tokenizer(frozenset({"Mr."})).sentences(TEXT))
    figure = new_figure(6.4, 1.8)
    axes = figure.subplots()
    tidy(axes, TEXT, grid="")
    axes.set_axis_off()
    for row, words in enumerate(rows):
        x = 0.0
        for word in words:
            axes.text(
                *(x, -row, word),
                family="monospace",
                color=INK,
                bbox={"boxstyle": "round,pad=0.35", "facecolor": "none", "edgecolor": series_colour(row)},
            )
            x += 0.36 * len(word) + 0.8
    axes.set_xlim(-0.5, 18)
    axes.set_ylim(-len(rows) + 0.3, 0.7)
    return to_svg(figure, "The words of two sentences")


def _answer(string: str) -> float:
    return float(string.count("ab") % 3 == 1)


WORDS = ["".join(word) for k in range(6) for word in product("abc", repeat=k)]


def _rows(tests: Sequence[str]) -> np.ndarray:
    """Answers to prefixes of up to five symbols, with tests put behind them."""
    return np.array([[_answer(word + test) for test in tests] for word in WORDS])


def answers() -> str:
    """The table that states come from: a row per prefix that differs from those before it."""
    tests = ("", "a", "b", "ab", "ba", "bab", "abab")
    table = _rows(tests)
    _, first = np.unique(table, axis=0, return_index=True)
    kept = np.sort(first)
    figure = new_figure(5.6, 3.2)
    axes = figure.subplots()
    tidy(axes, "Six prefixes that tests tell apart", "what is put behind", "prefix", grid="")
    draw_probabilities(axes, table[kept], [WORDS[k] or "nothing" for k in kept])
    figure.axes[-1].remove()  # answers are yes or no, and need no bar of shades
    axes.set_xticks(np.arange(len(tests)) + 0.5, [test or "nothing" for test in tests])
    return to_svg(figure, "Answers to prefixes with tests behind them")


def distinct_rows() -> str:
    """How many prefixes can be told apart, by the number of tests."""
    numbers = np.array([1, 2, 3, 6, 9, 12, 18, 24, 30])
    found = [len(np.unique(_rows(WORDS[:n]), axis=0)) for n in numbers]
    title = "States that tests tell apart"
    curves = {"prefixes of up to five symbols": (numbers, np.array(found, dtype=float))}
    figure = plot_learning_curves(curves, "tests", "states", title, log_x=False, log_y=False)
    figure.axes[0].set_yticks(range(1, 8))
    return to_svg(figure, title)


def merge_tree() -> str:
    """Eight shards, merged two by two."""
    return draw_tree(parse_brackets(_merged(0, 8))[0])


def _merged(begin: int, end: int) -> str:
    if end - begin == 1:
        return f"(counts {begin})"
    middle = (begin + end) // 2
    return f"({begin}-{end - 1} {_merged(begin, middle)} {_merged(middle, end)})"


def half_life() -> str:
    """What a string counts, by how many came after it."""
    ages = np.linspace(0, 10, 21)
    curves = {f"half life {life:g} million": (ages, 0.5 ** (ages / life)) for life in (1.0, 2.0, 5.0)}
    title = "How a stream forgets"
    figure = plot_learning_curves(
        curves, "million strings since", "what a string counts", title, log_x=False, log_y=False
    )
    return to_svg(figure, title)


def places() -> str:
    """Strings in order of their lengths: at each place the runtime reads all that are left in one step."""
    lengths = np.sort(np.random.default_rng(3).geometric(0.18, 40))[::-1]
    figure = new_figure(6.4, 2.8)
    axes = figure.subplots()
    tidy(axes, "Forty strings, read place by place", "place", "strings that are left")
    left = np.array([(lengths > place).sum() for place in range(lengths.max())])
    axes.bar(np.arange(1, len(left) + 1), left, 0.85, color=series_colour(0))
    axes.set_xticks(np.arange(1, len(left) + 1, 2))
    axes.text(
        *(0.98, 0.92, f"{lengths.sum()} symbols, {len(left)} steps"),
        transform=axes.transAxes,
        ha="right",
        color=MUTED,
    )
    return to_svg(figure, "Strings that are left at each place")


def set_files() -> str:
    """The public sets, by how many files they have, and whether they are downloaded or brought."""
    sets = data_sets()
    figure = new_figure(6.4, 3.4)
    axes = figure.subplots()
    tidy(axes, "Public sets", "files", "", grid="x")
    axes.set_xscale("log")
    for colour, wanted in enumerate((True, False)):
        at = [k for k, each in enumerate(sets.values()) if each.is_downloadable is wanted]
        sizes = [len(list(sets.values())[k].files) for k in at]
        label = "downloaded" if wanted else "bring your own"
        axes.barh(at, sizes, 0.7, left=0.5, color=series_colour(colour), label=label)
        for k, size in zip(at, sizes, strict=True):
            axes.text(size + 0.62, k, str(size), va="center", fontsize=8.5, color=MUTED)
    axes.set_yticks(range(len(sets)), list(sets))
    axes.set_xticks([])
    axes.invert_yaxis()
    axes.legend(frameon=False, fontsize=9, loc="center right")
    return to_svg(figure, "Public sets and their files")


def data_search() -> str:
    """Where a set is looked for, as a tree of questions."""
    return draw_tree(
        parse_brackets(
            "(SIGMASTAR_DATA (there check-and-read) (missing (cache (there check-and-read) "
            "(missing (licence (agreed download-and-check) (refused message))))))"
        )[0]
    )


PICTURES: dict[str, Callable[[], str]] = {
    "race-of-starts": race_of_starts,
    "odds-along": odds_along,
    "futures": futures,
    "tokens": tokens,
    "answers": answers,
    "distinct-rows": distinct_rows,
    "merge-tree": merge_tree,
    "half-life": half_life,
    "places": places,
    "set-files": set_files,
    "data-search": data_search,
}
