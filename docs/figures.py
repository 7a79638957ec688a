"""Pictures of the documentation, made from models when it is built: each function draws one.

Nothing is learned by compiled code here, which autodoc turns off: models are known ones, small blocks that
are solved by linear algebra alone, and a little English.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from sigmastar.automata.data.strings import Strings
from sigmastar.automata.draw.graph import draw_automaton
from sigmastar.automata.draw.plots import plot_next_symbols, plot_spectrum
from sigmastar.automata.model.automaton import WeightedAutomaton
from sigmastar.automata.model.generators import make_hmm
from sigmastar.bilexical.draw import plot_embedding
from sigmastar.core.alphabet import Alphabet
from sigmastar.core.figures import plot_learning_curves, plot_matrices, to_svg
from sigmastar.core.rank import split_half_noise
from sigmastar.core.toy_english import Node, sentences
from sigmastar.dependency.draw import draw_arcs
from sigmastar.grammars.model.generators import dyck
from sigmastar.pcfg.data.rules import Grammar
from sigmastar.pcfg.model.pcfg import ProbabilisticCFG
from sigmastar.transducers.data import StringPairs, Units
from sigmastar.transducers.draw import draw_lattice
from sigmastar.transducers.model.aligner import Aligner
from sigmastar.treebanks.draw import draw_chart
from sigmastar.trees.data.brackets import parse_brackets
from sigmastar.trees.draw import draw_tree

FOLDER = Path(__file__).parent / "pictures"
OUTSIDES, INSIDES = ("", "a", "ab"), ("", "b", "ab")
WRONG, RIGHT = (
    "(S (NP (D the) (N girl)) (VP (V sees) (NP (NP (D a) (N dog)) (PP (P with) (NP (D a) (N telescope))))))",
    "(S (NP (D the) (N girl)) (VP (V sees) (NP (D a) (N dog)) (PP (P with) (NP (D a) (N telescope)))))",
)


def write(app: object = None) -> None:
    """All pictures, into a folder of their own."""
    import family_figures  # which draws with what stands here
    import guide_figures
    import measured

    FOLDER.mkdir(exist_ok=True)
    others = (family_figures.PICTURES, guide_figures.PICTURES, measured.pictures())
    for name, draw in {**PICTURES, **{name: draw for each in others for name, draw in each.items()}}.items():
        (FOLDER / f"{name}.svg").write_text(draw(), encoding="utf-8")


def two_states() -> WeightedAutomaton:
    """p((ab)^n) = 2^-(n+1): the language of `The method in one page`."""
    moves = np.array([[[0.0, 1.0], [0.0, 0.0]], [[0.0, 0.0], [0.5, 0.0]]])
    return WeightedAutomaton(Alphabet(("a", "b")), np.array([1.0, 0.0]), moves, np.array([0.5, 0.0]))


def probability(string: str) -> float:
    n, rest = divmod(len(string), 2)
    return 0.5 ** (n + 1) if not rest and string == "ab" * n else 0.0


def hankel() -> str:
    """The block and its two slices."""
    named = {"H": "", "H_a": "a", "H_b": "b"}
    blocks = {
        name: np.array([[probability(o + between + i) for i in INSIDES] for o in OUTSIDES])
        for name, between in named.items()
    }
    return to_svg(plot_matrices(blocks), "The block H and its slices for a and b")


def spectrum() -> str:
    """Singular values of counted blocks, beside the noise that two halves of the data tell of."""
    rng = np.random.default_rng(0)
    halves = [_counted(rng.geometric(0.5, 500) - 1) for _ in range(2)]
    values = np.linalg.svd((halves[0] + halves[1]) / 2, compute_uv=False)
    noise = split_half_noise(*halves)
    return to_svg(plot_spectrum(values, noise, 2), "Two singular values stand above the noise")


def _counted(lengths: np.ndarray) -> np.ndarray:
    """The block of all strings (ab)^n and their halves, from drawn numbers of pairs."""
    shares = np.bincount(lengths, minlength=40) / len(lengths)
    outsides = [("ab" * 4)[:k] for k in range(8)]
    insides = [("ab" * 4)[8 - k :] for k in range(8)]
    value = lambda s: shares[len(s) // 2] if s == "ab" * (len(s) // 2) else 0.0  # noqa: E731
    return np.array([[value(o + i) for i in insides] for o in outsides])


def curve() -> str:
    """How far the recovered function is from the true one, by the size of the sample."""
    sizes = np.array([30, 100, 300, 1000, 3000, 10_000, 30_000])
    rng = np.random.default_rng(0)
    errors = np.array([[_error(rng.geometric(0.5, n) - 1) for _ in range(40)] for n in sizes])
    middle, low, high = errors.mean(axis=1), *np.quantile(errors, [0.1, 0.9], axis=1)
    title = "The error of what is recovered falls with the data"
    figure = plot_learning_curves(
        {"spectral, 2 states": (sizes, middle, low, high)}, y="L1 error", title=title
    )
    return to_svg(figure, title)


def _error(lengths: np.ndarray) -> float:
    shares = np.bincount(lengths, minlength=40) / len(lengths)
    found = lambda s: shares[len(s) // 2] if s == "ab" * (len(s) // 2) else 0.0  # noqa: E731
    block, of_a, of_b = (
        np.array([[found(o + x + i) for i in INSIDES] for o in OUTSIDES]) for x in ("", "a", "b")
    )
    left, values, right = np.linalg.svd(block)
    outside, inside = left[:, :2] * values[:2], right[:2]
    solve = lambda slice_: np.linalg.pinv(outside) @ slice_ @ np.linalg.pinv(inside)  # noqa: E731
    step, start, end = (
        solve(of_a) @ solve(of_b),
        block[0] @ np.linalg.pinv(inside),
        np.linalg.pinv(outside) @ block[:, 0],
    )
    values_found = [start @ np.linalg.matrix_power(step, n) @ end for n in range(8)]
    return float(sum(abs(value - probability("ab" * n)) for n, value in enumerate(values_found)))


def views() -> str:
    """Words by the company they keep: the second idea's first two stages."""
    groups: dict[str, list[str]] = {}
    pairs: list[tuple[str, str]] = []
    for node in sentences(800):
        framed = ["<", *node.words, ">"]
        for place, tag in enumerate(node.tags, 1):
            word = framed[place]
            if word not in groups.setdefault(tag, []):
                groups[tag].append(word)
            pairs += [(word, f"{framed[place - 1]} _"), (word, f"_ {framed[place + 1]}")]
    words, contexts = (sorted(set(side)) for side in zip(*pairs, strict=True))
    counts = np.zeros((len(words), len(contexts)))
    for word, context in pairs:
        counts[words.index(word), contexts.index(context)] += 1
    scaled = counts / np.sqrt(np.outer(counts.sum(axis=1), counts.sum(axis=0)))
    left, _, _ = np.linalg.svd(scaled)
    place = {word: left[k, 1:3] / left[k, 0] for k, word in enumerate(words)}
    found = {tag: (some, np.array([place[word] for word in some])) for tag, some in groups.items()}
    return to_svg(
        plot_embedding(found, "Words of a little English by their neighbours"), "Words in the plane"
    )


def typed() -> Node:
    return next(node for node in sentences(200, 3) if len(node.words) == 8 and "telescope" in node.words)


def tree() -> str:
    return draw_tree(parse_brackets(typed().bracketed())[0])


def wrong_tree() -> str:
    return draw_tree(parse_brackets(WRONG)[0], parse_brackets(RIGHT)[0])


def arcs() -> str:
    node = typed()
    return draw_arcs(node.words, node.heads(), tags=node.tags)


def wrong_arcs() -> str:
    words = ["the", "girl", "sees", "a", "dog", "with", "a", "telescope"]
    return draw_arcs(words, [2, 3, 0, 5, 3, 5, 8, 6], gold=[2, 3, 0, 5, 3, 3, 8, 6])


def chart() -> str:
    """Spans of a string of brackets under the grammar of balanced ones, with a second reading."""
    words = ["(", ")", "(", "(", ")", ")"]
    grammar = dyck()
    symbols = list(grammar.alphabet)
    coded = Strings.of(
        [[symbols[0] if word == "(" else symbols[1] for word in words]], alphabet=grammar.alphabet
    )
    (shares,) = grammar.span_posteriors(coded)
    items = [("", i, j, float(shares[i, j])) for i in range(6) for j in range(i + 2, 7) if shares[i, j] > 0]
    return draw_chart(words, items)


def lattice() -> str:
    """Alignments of a word with its sounds, by units and their probabilities."""
    units = [(("s", "h"), ("SH",)), (("s",), ("S",)), (("h",), ("HH",)), (("h",), ()), (("o",), ("OW",))]
    units += [(("e",), ()), (("o", "e"), ("OW",)), (("s",), ("SH",))]
    aligner = Aligner(Units.of(units), np.array([0.2, 0.1, 0.1, 0.1, 0.15, 0.15, 0.15, 0.05]))
    with np.errstate(over="ignore"):  # hashes are meant to overflow
        found = aligner.align(StringPairs.of([(list("shoe"), ["SH", "OW"])]), 8)
    return draw_lattice(list(zip(found.strings, found.posterior.tolist(), strict=True)))


def next_symbols() -> str:
    machine = make_hmm(3, 4, np.random.default_rng(4), concentration=0.3)
    string = machine.sample(20, np.random.default_rng(1))
    longest = max(string, key=len)[:14]
    return to_svg(plot_next_symbols(machine, longest), "What comes next, at every place")


def hmm() -> str:
    return draw_automaton(make_hmm(4, 3, np.random.default_rng(2), concentration=0.25), label="A random HMM")


def best_tree() -> str:
    """The best tree of an ambiguous sentence under the rules of a little English."""
    trees = parse_brackets(" ".join(node.bracketed() for node in sentences(300)))
    grammar = Grammar.of_trees(trees)
    model = ProbabilisticCFG.of_weights(grammar)
    counts = np.bincount(
        np.concatenate([np.asarray(d) for d in model.derivations(trees)]), minlength=len(grammar.rules)
    )
    found = ProbabilisticCFG.of_weights(grammar, counts.astype(float))
    (best,) = found.best_trees(
        Strings.of([["the", "cat", "sees", "a", "dog", "with", "a", "hat"]], alphabet=found.alphabet)
    )
    assert best is not None
    return draw_tree(best)


PICTURES: dict[str, Callable[[], str]] = {
    "hankel": hankel,
    "recovered": lambda: draw_automaton(two_states(), label="The automaton that is recovered"),
    "spectrum": spectrum,
    "curve": curve,
    "views": views,
    "tree": tree,
    "wrong-tree": wrong_tree,
    "arcs": arcs,
    "wrong-arcs": wrong_arcs,
    "chart": chart,
    "lattice": lattice,
    "next-symbols": next_symbols,
    "hmm": hmm,
    "best-tree": best_tree,
}
