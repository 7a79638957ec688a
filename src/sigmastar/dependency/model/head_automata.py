"""Head automata: one of modifiers for every head symbol and direction (Luque et al. 2012, section 3).

    P(x1 .. xT | h, d) = initial_hd . A_hd,x1 ... A_hd,xT . final_hd
    P(tree)            = product over heads h and directions d of P(modifiers of h towards d | h, d)

Sorts are numbered as in `data.sequences`: 2 * symbol + direction, and the root last. All automata lie
in one array, padded with zeros to the largest number of states.

Trees are drawn from them: the root draws its modifiers, each of them draws its own, and so on. Words of one
generation that have the same sort draw together. A tree that grows beyond `max_words` is drawn again: a
grammar may well generate more words than it finishes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from sigmastar.automata.model.automaton import WeightedAutomaton
from sigmastar.core.alphabet import Alphabet, OperatorModel, head_signature
from sigmastar.core.arrays import Array, Floats, Int32s
from sigmastar.core.stored_parts import Parts, floats, indices, text_alphabet
from sigmastar.dependency.data.sequences import LEFT, RIGHT, ModifierSequences, WeightedSequences, head_sorts
from sigmastar.dependency.data.treebank import DependencyTreebank
from sigmastar.dependency.kernels.inside_outside import Automata
from sigmastar.dependency.kernels.pruning import FirstAndRest

Children = list[list[list[int]]]
"""For every node its left and its right children, head outwards."""

_MOST_ATTEMPTS = 100


@dataclass(frozen=True, eq=False)
class HeadAutomata:
    """Weights of all automata of a grammar; they may have any sign."""

    alphabet: Alphabet
    n_states: Int32s  # sorts
    initial: Floats  # sorts x states
    operators: Floats  # sorts x symbols x states x states
    final: Floats  # sorts x states

    def __post_init__(self) -> None:
        for name in ("initial", "operators", "final"):
            object.__setattr__(self, name, np.ascontiguousarray(getattr(self, name), dtype=np.float64))
        object.__setattr__(self, "n_states", np.ascontiguousarray(self.n_states, dtype=np.int32))
        n_sorts, m = 2 * len(self.alphabet) + 1, self.initial.shape[1]
        shapes = (self.n_states.shape, self.initial.shape, self.operators.shape, self.final.shape)
        if shapes != ((n_sorts,), (n_sorts, m), (n_sorts, len(self.alphabet), m, m), (n_sorts, m)):
            raise ValueError(f"arrays of shapes {shapes} do not fit head automata of {n_sorts} sorts")
        if len(self.n_states) and not 1 <= self.n_states.min() <= self.n_states.max() <= m:
            raise ValueError(f"numbers of states must lie in 1..{m}")
        if not all(np.isfinite(a).all() for a in (self.initial, self.operators, self.final)):
            raise ValueError("the weights of head automata must be finite: NaN or infinity found")

    @classmethod
    def of_automata(
        cls, alphabet: Alphabet, automata: Sequence[tuple[Floats, Floats, Floats]]
    ) -> HeadAutomata:
        """From (initial, operators, final) of every sort, operators over the whole alphabet."""
        n_states = np.array([len(initial) for initial, _, _ in automata], dtype=np.int32)
        m = int(n_states.max())
        initial, final = np.zeros((len(automata), m)), np.zeros((len(automata), m))
        operators = np.zeros((len(automata), len(alphabet), m, m))
        for sort, (first, moves, last) in enumerate(automata):
            n = len(first)
            initial[sort, :n], operators[sort, :, :n, :n], final[sort, :n] = first, moves, last
        return cls(alphabet, n_states, initial, operators, final)

    @classmethod
    def neutral(cls, alphabet: Alphabet) -> HeadAutomata:
        """Automata that give every sequence one: what is multiplied with them is alone."""
        n, k = 2 * len(alphabet) + 1, len(alphabet)
        ones = np.ones((n, 1))
        return cls(alphabet, np.ones(n, dtype=np.int32), ones, np.ones((n, k, 1, 1)), ones)

    @classmethod
    def of_operators(cls, model: OperatorModel, alphabet: Alphabet) -> HeadAutomata:
        """From an operator model on a signature of heads; sorts that it lacks generate nothing."""
        automata = []
        for sort in head_sorts(alphabet):
            if sort not in model.signature.sorts:
                automata.append((np.ones(1), np.zeros((len(alphabet), 1, 1)), np.ones(1)))
                continue
            stop, modifier = (model.signature.operation((kind, sort)) for kind in ("stop", "modifier"))
            n = model.n_states(sort)
            moves = np.zeros((len(alphabet), n, n))
            moves[alphabet.encode(modifier.alphabet)] = model.operators[modifier]
            automata.append((model.roots[sort], moves, model.operators[stop][0]))
        return cls.of_automata(alphabet, automata)

    def to_operators(self) -> OperatorModel:
        sorts = head_sorts(self.alphabet)
        signature = head_signature(dict.fromkeys(sorts, self.alphabet))
        operators, roots = {}, {}
        for sort, name in enumerate(sorts):
            automaton = self.automaton(sort)
            operators[signature.operation(("stop", name))] = automaton.final[None]
            operators[signature.operation(("modifier", name))] = automaton.transitions
            roots[name] = automaton.initial
        return OperatorModel(signature, roots, operators)

    PARTS: ClassVar[Parts] = Parts(
        header={"alphabet": text_alphabet},
        sizes={"symbols": "alphabet"},
        arrays={
            "n_states": indices("sorts", of="states+1", least=1),
            "initial": floats("sorts", "states"),
            "operators": floats("sorts", "symbols", "states", "states"),
            "final": floats("sorts", "states"),
        },
    )

    def to_parts(self) -> tuple[dict[str, Array], dict[str, Any]]:
        arrays: dict[str, Array] = {
            "n_states": self.n_states,
            "initial": self.initial,
            "operators": self.operators,
            "final": self.final,
        }
        return arrays, {"alphabet": self.alphabet}

    @classmethod
    def from_parts(cls, arrays: dict[str, Array], header: dict[str, Any]) -> HeadAutomata:
        cls.PARTS.check(arrays, header)
        return cls(
            header["alphabet"], arrays["n_states"], arrays["initial"], arrays["operators"], arrays["final"]
        )

    @property
    def n_sorts(self) -> int:
        return len(self.n_states)

    @cached_property
    def arrays(self) -> Automata:
        """As kernels take them."""
        return Automata(self.n_states, self.initial, self.final, self.operators)

    @cached_property
    def logarithms(self) -> Automata:
        """The same of non-negative weights, for maxima in place of sums."""
        with np.errstate(divide="ignore"):
            return Automata(self.n_states, np.log(self.initial), np.log(self.final), np.log(self.operators))

    @cached_property
    def is_deterministic(self) -> bool:
        """Whether no weight is negative, and modifiers determine the state: one way to begin and to go on."""
        ways = max((self.initial != 0).sum(axis=-1).max(), (self.operators != 0).sum(axis=-1).max(initial=0))
        return bool(ways <= 1 and min(a.min(initial=0.0) for a in self.arrays[1:]) >= 0)

    @cached_property
    def first_and_rest(self) -> FirstAndRest:
        """Automata of two states, before the first modifier and after it, as tables."""
        if self.initial.shape[1] != 2 or self.operators[..., 0].any():
            raise ValueError(
                "pruning needs automata of two states, before the first modifier and after it: DET+F"
            )
        with np.errstate(all="ignore"):  # what is wrong is refused below
            first, rest = (self.initial * self.final).sum(axis=1), self.final[:, 1]
            moves = np.ascontiguousarray(np.moveaxis(self.operators[..., 1], 2, 0))
            tables = FirstAndRest(moves[0] / first[:, None], moves[1] / rest[:, None], first, rest)
        if not all(np.isfinite(table).all() for table in tables):
            raise ValueError(
                "final: weights of stops must be above zero, and not so small that others overflow"
            )
        return tables

    def automaton(self, sort: int) -> WeightedAutomaton:
        """The automaton of one sort."""
        n = int(self.n_states[sort])
        return WeightedAutomaton(
            self.alphabet, self.initial[sort, :n], self.operators[sort, :, :n, :n], self.final[sort, :n]
        )

    @cached_property
    def machines(self) -> tuple[WeightedAutomaton, ...]:
        """The automata of all sorts, for callers that need each of them often."""
        return tuple(map(self.automaton, range(self.n_sorts)))

    @cached_property
    def single_roots(self) -> Floats:
        """P(symbol | the root has one modifier); weights below zero count as none."""
        root = self.automaton(self.n_sorts - 1)
        weights = np.maximum(root.initial @ root.transitions @ root.final, 0.0)
        total = float(weights.sum())
        if not total > 0:
            raise ValueError("the root of these head automata never has one modifier alone")
        return np.asarray(weights / total, dtype=np.float64)

    def log_values(self, sequences: ModifierSequences, codes: Int32s) -> Floats:
        """log P(modifiers | head, direction) of every sequence; -inf where it is not positive."""
        distinct = WeightedSequences.of(sequences, codes, self.alphabet)
        return self.log_probability(distinct)[distinct.origin]

    def log_probability(self, sequences: WeightedSequences) -> Floats:
        """The same of distinct sequences."""
        logs = np.empty(len(sequences.counts))
        for sort in np.flatnonzero(np.diff(sequences.sort_starts)).tolist():
            part = slice(sequences.sort_starts[sort], sequences.sort_starts[sort + 1])
            logs[part] = self.automaton(sort).log_probability(sequences.of_sort(sort)[0])
        return logs

    def mixed_with(self, other: HeadAutomata, share: float) -> HeadAutomata:
        """(1 - share) self + share other, as functions: the automata stand side by side."""
        if other.alphabet != self.alphabet:
            raise ValueError("head automata over different alphabets cannot be mixed")
        return HeadAutomata.of_automata(
            self.alphabet,
            [
                _side_by_side(self.automaton(sort), other.automaton(sort), share)
                for sort in range(self.n_sorts)
            ],
        )


def _side_by_side(
    one: WeightedAutomaton, two: WeightedAutomaton, share: float
) -> tuple[Floats, Floats, Floats]:
    n, m = one.n_states, two.n_states
    operators = np.zeros((len(one.transitions), n + m, n + m))
    operators[:, :n, :n], operators[:, n:, n:] = one.transitions, two.transitions
    initial = np.concatenate([(1.0 - share) * one.initial, share * two.initial])
    return initial, operators, np.concatenate([one.final, two.final])


def sample_trees(
    automata: HeadAutomata, n_trees: int, rng: np.random.Generator, max_words: int = 200
) -> DependencyTreebank:
    """Sentences of symbols with their trees.

    Parameters
    ----------
    automata : HeadAutomata
        The grammar.
    n_trees : int
        Number of trees.
    rng : Generator
        Source of chance.
    max_words : int
        Largest number of words; larger trees are drawn again.

    Returns
    -------
    DependencyTreebank
        Symbols stand for words and tags.
    """
    drawn = [draw_tree(automata, rng, max_words) for _ in range(n_trees)]
    tags = [[str(automata.alphabet.symbols[code]) for code in codes] for codes, _ in drawn]
    return DependencyTreebank.of(tags, tags, [heads for _, heads in drawn])


def draw_tree(
    automata: HeadAutomata, rng: np.random.Generator, max_words: int, single_root: bool = False
) -> tuple[list[int], list[int]]:
    """The symbols of one sentence, and its heads; `single_root`: given that one word hangs on the root."""
    for _ in range(_MOST_ATTEMPTS):
        grown = _grown(automata, rng, max_words, single_root)
        if grown is not None:
            return _in_order(*grown)
    raise ValueError(f"no tree of 1 to {max_words} words in {_MOST_ATTEMPTS} draws; allow more words")


def _grown(
    automata: HeadAutomata, rng: np.random.Generator, max_words: int, single_root: bool
) -> tuple[list[int], Children] | None:
    """Symbols of the nodes (node 0 is the root) and their children, or None for a tree of a wrong size."""
    symbols = [-1]
    children: Children = [[[], []]]
    root = automata.n_sorts - 1
    waiting = {root: [(0, RIGHT)]}
    while waiting:
        following: dict[int, list[tuple[int, int]]] = {}
        for sort, nodes in waiting.items():
            if single_root and sort == root:
                rows = [[int(rng.choice(len(automata.alphabet), p=automata.single_roots))]]
            else:
                rows = _drawn_modifiers(automata, sort, len(nodes), rng, max_words)
            if len(symbols) + sum(map(len, rows)) > max_words + 1:
                return None
            for (node, direction), codes in zip(nodes, rows, strict=True):
                for code in codes:
                    children[node][direction].append(len(symbols))
                    for side in (LEFT, RIGHT):
                        following.setdefault(2 * code + side, []).append((len(symbols), side))
                    symbols.append(code)
                    children.append([[], []])
        waiting = following
    return (symbols, children) if len(symbols) > 1 else None


def _drawn_modifiers(
    automata: HeadAutomata, sort: int, n_heads: int, rng: np.random.Generator, max_words: int
) -> list[list[int]]:
    drawn = automata.machines[sort].sample(n_heads, rng, max_words + 1)
    return [codes.tolist() for codes in np.split(drawn.codes, drawn.offsets[1:-1])]


def _in_order(symbols: list[int], children: Children) -> tuple[list[int], list[int]]:
    """The words from left to right, and their heads."""
    order: list[int] = []
    above = [0] * len(symbols)
    stack = [(0, False)]
    while stack:
        node, open_ = stack.pop()
        if open_:
            order.append(node)
            continue
        left, right = children[node]
        for child in (*left, *right):
            above[child] = node
        # Last pushed is first written: the furthest left child, .., the node, .., the furthest right.
        stack += [(child, False) for child in reversed(right)]
        stack.append((node, True))
        stack += [(child, False) for child in left]
    place = {node: number for number, node in enumerate(order)}  # the root comes first, at 0
    words = [node for node in order if node]
    return [symbols[node] for node in words], [place[above[node]] for node in words]
