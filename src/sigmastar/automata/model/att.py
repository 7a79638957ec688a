"""AT&T text, the exchange format of OpenFst: acceptors and transducers with weights -log.

    from to symbol weight        an arc; the state of the first line is the initial one
    from to in out weight        an arc of a transducer
    state weight                 a final state

One initial state of weight 1 is asked for. Where the automaton has none, a new one takes the first
step for all of its initial states: its arcs weigh `initial . A_a` and it stops with `initial . final`.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest
from typing import NamedTuple, TextIO

import numpy as np

from sigmastar.automata.model.automaton import WeightedAutomaton
from sigmastar.automata.model.ngram_smoothing import NgramModel
from sigmastar.core.alphabet import Alphabet, Symbol, written_codes
from sigmastar.core.arrays import Floats, Indices
from sigmastar.core.errors import InputError, UnknownSymbolError
from sigmastar.core.text_files import TextPath, display_name, open_text

EPSILON = "<eps>"
_SILENT = ((), ())  # what an arc reads and writes that does neither
_LARGEST = 1 << 27  # weights of an automaton that is read
Pair = tuple[Sequence[object], Sequence[object]]
Path = tuple[tuple[str, ...], ...]
"""The labels of the arcs that one symbol becomes."""


def write_att(
    automaton: WeightedAutomaton | NgramModel, stream: TextIO, symbols_stream: TextIO | None = None
) -> None:
    """Write an acceptor, and the table for `fstcompile --acceptor --isymbols`.

    Parameters
    ----------
    automaton : WeightedAutomaton or NgramModel
        The function; contexts of n-grams are states with an arc for every symbol.
    stream : text stream
        Where to write.
    symbols_stream : text stream, optional
        Where to write the table of symbols.
    """
    names = [writable(str(symbol)) for symbol in automaton.alphabet]
    if len(set(names)) < len(names):
        raise InputError("two symbols of the alphabet are written alike; rename one of them")
    paths: list[Path] = [((name,),) for name in names]
    if isinstance(automaton, NgramModel):
        _write_states(stream, _ngram_states(automaton), paths, automaton.contexts.n_classes)
    else:
        _require_unsigned(automaton)
        start, transitions, final = _with_one_initial(automaton)
        _write_states(stream, _automaton_states(start, transitions, final), paths, len(final))
    if symbols_stream is not None:
        symbols_stream.writelines(f"{name}\t{code}\n" for code, name in enumerate([EPSILON, *names]))


def write_att_pairs(model: WeightedAutomaton | NgramModel, units: Sequence[Pair], stream: TextIO) -> None:
    """Write a transducer whose symbols are pairs of strings; a longer one is a path through new states.

    Parameters
    ----------
    model : WeightedAutomaton or NgramModel
        Over the pairs.
    units : sequence of pairs
        What each symbol reads and writes, in the order of the alphabet.
    stream : text stream
        Where to write.
    """
    sides = [[[writable(str(symbol)) for symbol in side] for side in unit] for unit in units]
    paths: list[Path] = [tuple(zip_longest(*pair, fillvalue=EPSILON)) for pair in sides]
    if isinstance(model, NgramModel):
        _write_states(stream, _ngram_states(model), paths, model.contexts.n_classes)
        return
    _require_unsigned(model)
    start, transitions, final = _with_one_initial(model)
    _write_states(stream, _automaton_states(start, transitions, final), paths, len(final))


def read_att(path: TextPath, alphabet: Alphabet | None = None) -> WeightedAutomaton:
    """Read an acceptor; without `alphabet` its labels become it, sorted.

    Parameters
    ----------
    path : path
        File to read, plain, gzip or zstandard; - is standard input.
    alphabet : Alphabet, optional
        Symbols to expect; without it those that are met become it.

    Returns
    -------
    WeightedAutomaton
        The acceptor.
    """
    file = display_name(path)
    states: dict[str, int] = {}
    arcs: dict[tuple[int, str, int], float] = defaultdict(float)
    finals: dict[int, float] = defaultdict(float)
    lines: dict[str, int] = {}
    for number, words in _filled(path):
        weight = _weight(words, file, number)
        if len(words) <= 2:
            finals[_state(words[0], states, file, number)] += weight
        else:
            source, target = (_state(word, states, file, number) for word in words[:2])
            arcs[source, words[2], target] += weight
            lines.setdefault(words[2], number)
    if not states:
        raise InputError("the file is empty; expected lines 'from to symbol weight'", file=file)
    alphabet = alphabet or Alphabet(sorted(lines))
    codes = _codes(alphabet, lines, file)
    initial, final = np.zeros(len(states)), np.zeros(len(states))
    transitions = np.zeros((len(alphabet), len(states), len(states)))
    initial[0] = 1.0  # the states are numbered as they are met
    for (source, label, target), value in arcs.items():
        transitions[codes[label], source, target] = value
    for state, value in finals.items():
        final[state] = value
    return WeightedAutomaton(alphabet, initial, transitions, final)


def read_att_pairs(path: TextPath) -> WeightedAutomaton:
    """Read a transducer as an automaton over pairs of short strings, what each arc reads and writes.

    Parameters
    ----------
    path : path
        File to read, plain, gzip or zstandard; - is standard input.

    Returns
    -------
    WeightedAutomaton
        Over pairs of tuples. Arcs that neither read nor write are summed up: A_u becomes (I - E)^-1 A_u.
    """
    file = display_name(path)
    states: dict[str, int] = {}
    arcs: dict[tuple[Symbol, int, int], float] = defaultdict(float)
    finals: dict[int, float] = defaultdict(float)
    for number, words in _filled(path):
        weight = _weight(words, file, number, columns=5)
        if len(words) <= 2:
            finals[_state(words[0], states, file, number)] += weight
            continue
        source, target = (_state(word, states, file, number) for word in words[:2])
        pair = tuple(() if word == EPSILON else (word,) for word in words[2:4])
        arcs[pair, source, target] += weight
    if not states:
        raise InputError("the file is empty; expected lines 'from to input output weight'", file=file)
    units = Alphabet(sorted({pair for pair, _, _ in arcs} - {_SILENT}, key=str))
    n, codes = len(states), units.codes
    if n * n * len(units) > _LARGEST:
        raise InputError(f"{n} states and {len(units)} pairs of symbols are too many to be read", file=file)
    transitions, silent, final = np.zeros((len(units), n, n)), np.zeros((n, n)), np.zeros(n)
    for (unit, source, target), value in arcs.items():
        (silent if unit == _SILENT else transitions[codes[unit]])[source, target] = value
    for state, value in finals.items():
        final[state] = value
    try:
        closure = np.linalg.inv(np.eye(n) - silent)
    except np.linalg.LinAlgError:
        raise InputError("a cycle of arcs without symbols has an infinite weight", file=file) from None
    return WeightedAutomaton(units, np.eye(n)[0], closure @ transitions, closure @ final)


def _require_unsigned(automaton: WeightedAutomaton) -> None:
    if min(a.min(initial=0.0) for a in automaton.arrays) < 0:
        raise InputError(
            "the automaton has negative weights and AT&T text holds their logarithms; "
            "repair the model to a proper automaton first, then convert it"
        )


def _with_one_initial(automaton: WeightedAutomaton) -> tuple[int, Floats, Floats]:
    """The initial state, the operators and the final weights, with a new state where need be."""
    begins = np.flatnonzero(automaton.initial)
    if len(begins) == 1 and automaton.initial[begins[0]] == 1.0:
        return int(begins[0]), automaton.transitions, automaton.final
    n = automaton.n_states
    transitions = np.zeros((len(automaton.alphabet), n + 1, n + 1))
    transitions[:, :n, :n] = automaton.transitions
    transitions[:, n, :n] = automaton.initial @ automaton.transitions
    return n, transitions, np.append(automaton.final, automaton.initial @ automaton.final)


class _State(NamedTuple):
    """A state with its arcs, and the weight with which it stops."""

    number: int
    symbols: Indices
    targets: Indices
    weights: Floats
    final: float


def _automaton_states(start: int, transitions: Floats, final: Floats) -> Iterator[_State]:
    """All states, the initial one first."""
    for state in [start, *(state for state in range(len(final)) if state != start)]:
        symbols, targets = np.nonzero(transitions[:, state])
        yield _State(state, symbols, targets, transitions[symbols, state, targets], float(final[state]))


def _ngram_states(model: NgramModel) -> Iterator[_State]:
    """The contexts that can be reached, each with all symbols: back-off is summed up."""
    n, symbols = len(model.alphabet), np.arange(len(model.alphabet))
    seen, waiting = {model.contexts.start}, [model.contexts.start]
    while waiting:
        context = waiting.pop()
        row = model.distributions(np.array([context], dtype=np.int32))[0]
        targets = model.contexts.follow(np.full(n, context, dtype=np.int32), symbols).astype(np.int64)
        waiting += [target for target in dict.fromkeys(targets.tolist()) if target not in seen]
        seen.update(targets.tolist())
        yield _State(context, symbols, targets, row[:-1], float(row[-1]))


def _write_states(stream: TextIO, states: Iterable[_State], paths: list[Path], fresh: int) -> None:
    """States, the initial one first: the first line names it, even if f is zero; new ones from `fresh` on."""
    for place, state in enumerate(states):
        arcs = zip(state.symbols.tolist(), state.targets.tolist(), state.weights.tolist(), strict=True)
        written = False
        for symbol, target, weight in arcs:
            if weight:
                written, fresh = True, _write_path(stream, state.number, target, paths[symbol], weight, fresh)
        if state.final or (place == 0 and not written):
            stream.write(f"{state.number}\t{cost_of(state.final)}\n")


def _write_path(stream: TextIO, source: int, target: int, path: Path, weight: float, fresh: int) -> int:
    """The arcs of one symbol, the weight on the first; the next number for a new state."""
    for labels in path[:-1]:
        stream.write("\t".join((str(source), str(fresh), *labels, cost_of(weight))) + "\n")
        source, fresh, weight = fresh, fresh + 1, 1.0
    stream.write("\t".join((str(source), str(target), *path[-1], cost_of(weight))) + "\n")
    return fresh


def cost_of(weight: float) -> str:
    """A weight as AT&T text has it."""
    return repr(0.0 - math.log(weight)) if weight else "Infinity"  # 0.0 - : no "-0.0" for weight 1


def writable(name: str) -> str:
    """A label, or the reason why it can be none."""
    if name == EPSILON or name.split() != [name]:
        raise InputError(
            f"symbol {name!r} cannot be a label of AT&T text: it is empty, holds blanks or is {EPSILON}; "
            "rename it"
        )
    return name


def _filled(path: TextPath) -> Iterator[tuple[int, list[str]]]:
    for number, line in enumerate(open_text(path), 1):
        if words := line.split():
            yield number, words


def _weight(words: list[str], file: str, number: int, columns: int = 4) -> float:
    """The weight of a line of an acceptor, which has up to four columns, or of a transducer with one more."""
    is_arc = len(words) > 2
    if len(words) > columns:
        fault = (
            "five columns are a transducer, whose files end in .fst.txt here; expected an acceptor, 'from to "
            "symbol weight'"
        )
        raise InputError(
            fault if columns == 4 else "expected 'from to input output weight'", file=file, line=number
        )
    if is_arc and len(words) < columns - 1:
        raise InputError("expected 'from to input output weight'", file=file, line=number)
    if len(words) == (columns - 1 if is_arc else 1):
        return 1.0
    try:
        value = math.exp(-float(words[-1]))
    except ValueError:
        wanted = "an acceptor, 'from to symbol weight'" if columns == 4 else "'from to input output weight'"
        raise InputError(
            f"the weight {words[-1][:40]!r} is not a number; expected {wanted}", file=file, line=number
        ) from None
    except OverflowError:
        value = math.inf
    if not math.isfinite(value):
        raise InputError(f"the weight {words[-1]} is not a cost -log(weight)", file=file, line=number)
    return value


def _state(word: str, states: dict[str, int], file: str, number: int) -> int:
    if not word.isdecimal():
        raise InputError(f"the state {word[:40]!r} is not a number", file=file, line=number)
    return states.setdefault(word, len(states))


def _codes(alphabet: Alphabet, lines: dict[str, int], file: str) -> dict[str, int]:
    codes = written_codes(alphabet)
    if EPSILON in lines:
        raise InputError(
            "arcs on <eps> are not read; remove them first (fstrmepsilon)", file=file, line=lines[EPSILON]
        )
    for label, number in lines.items():
        if label not in codes:
            raise UnknownSymbolError(
                f"symbol {label!r} is not among the {len(alphabet)} symbols of the alphabet",
                file=file,
                line=number,
            )
    return codes
