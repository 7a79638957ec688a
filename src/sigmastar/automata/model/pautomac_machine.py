"""The PAutomaC format of machines, as exact automata.

I(q)        probability to begin in q
F(q)        probability to stop in q
S(q,a)      else, probability to emit a
T(q,a,r)    and then to go to r

initial = I,   final = F,   A_a[q, r] = (1 - F(q)) S(q,a) T(q,a,r)
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TextIO

import numpy as np

from sigmastar.automata.model.automaton import WeightedAutomaton
from sigmastar.core.alphabet import Alphabet
from sigmastar.core.arrays import Floats
from sigmastar.core.errors import InputError
from sigmastar.core.text_files import TextPath, display_name, open_text

Key = tuple[int, ...]
Sections = dict[str, dict[Key, float]]

_TITLES = {"I": "(state)", "F": "(state)", "S": "(state,symbol)", "T": "(state,symbol,state)"}
_ARITY = {"I": 1, "F": 1, "S": 2, "T": 3}
_ENTRY = re.compile(r"\([ \t]*(\d{1,9}(?:[ \t]*,[ \t]*\d{1,9})*)[ \t]*\)\s+(\S+)")
_SPARE_SYMBOLS = 1000  # that no state emits, beside ten times those that are emitted
_LARGEST = 2_000_000_000  # entries of the operators, as float64 16 GB


def read_pautomac_model(path: TextPath, n_symbols: int | None = None) -> WeightedAutomaton:
    """Read a machine; its alphabet is 0 .. the largest symbol it emits, or `n_symbols` if that is more.

    Parameters
    ----------
    path : path
        File to read, plain, gzip or zstandard; - is standard input.
    n_symbols : int, optional
        Size of the alphabet at least.

    Returns
    -------
    WeightedAutomaton
        The machine, exactly.
    """
    file = display_name(path)
    sections = _sections(path, file)
    n_states = 1 + max(state for section in sections.values() for key in section for state in key[::2])
    emitted = [key[1] for name in "ST" for key in sections[name]]
    size = max([symbol + 1 for symbol in emitted] + [n_symbols or 0])
    if size * n_states**2 > _LARGEST:
        raise InputError(
            f"{n_states} states and {size} symbols are too many for a dense automaton", file=file
        )
    _require_whole(sections, n_states, emitted, file)
    initial, stop = (_dense(sections[name], (n_states,)) for name in "IF")
    emission = _dense(sections["S"], (n_states, size))
    move = _dense(sections["T"], (n_states, size, n_states))
    transitions = ((1.0 - stop)[:, None] * emission)[:, :, None] * move
    machine = WeightedAutomaton(
        Alphabet(range(size)), initial, np.ascontiguousarray(transitions.swapaxes(0, 1)), stop
    )
    try:
        require_stochastic(machine, remedy="is the file cut short?")
    except InputError as problem:
        raise InputError(problem.problem, file=file) from None
    return machine


def _require_whole(sections: Sections, n_states: int, emitted: list[int], file: str) -> None:
    """Refuse numbers of states and symbols that a file names and does not hold, before they take memory."""
    leaving = {key[0] for name in "FS" for key in sections[name]}
    if len(leaving) < n_states:
        state = next(state for state in range(n_states) if state not in leaving)
        raise InputError(
            f"the weights that leave state {state} sum to 0, not to 1; is the file cut short?", file=file
        )
    n_emitted, largest = len(set(emitted)), max(emitted, default=0)
    if largest > _SPARE_SYMBOLS + 10 * n_emitted:
        raise InputError(
            f"names {n_emitted} symbols, with numbers up to {largest}; number them from 0 on", file=file
        )


def write_pautomac_model(automaton: WeightedAutomaton, stream: TextIO, tolerance: float = 1e-6) -> None:
    """Write a stochastic automaton; symbols are written as their codes.

    Parameters
    ----------
    automaton : WeightedAutomaton
        The function.
    stream : text stream
        Where to write.
    tolerance : float
        By how much sums may differ from one.
    """
    require_stochastic(automaton, tolerance)
    going = automaton.transitions.sum(axis=(0, 2))
    emitted = automaton.transitions.sum(axis=2).T
    with np.errstate(divide="ignore", invalid="ignore"):
        emission = np.nan_to_num(emitted / going[:, None])
        move = np.nan_to_num(automaton.transitions.swapaxes(0, 1) / emitted[:, :, None])
    for name, values in zip("IFST", (automaton.initial, automaton.final, emission, move), strict=True):
        stream.write(f"{name}: {_TITLES[name]}\n")
        for key in np.argwhere(values):
            stream.write(f"\t({','.join(map(str, key.tolist()))}) {float(values[tuple(key)])!r}\n")


def require_stochastic(
    automaton: WeightedAutomaton, tolerance: float = 1e-6, remedy: str = "repair the model first"
) -> None:
    """Refuse an automaton whose weights are not the probabilities of a machine."""
    if min(a.min(initial=0.0) for a in automaton.arrays) < 0:
        raise InputError(
            "the automaton has negative weights, which no probabilistic machine has; "
            "repair it to a proper automaton first"
        )
    total = float(automaton.initial.sum())
    if abs(total - 1.0) > tolerance:
        raise InputError(f"the initial weights sum to {total:.6g}, not to 1; {remedy}")
    rows = automaton.final + automaton.transitions.sum(axis=(0, 2))
    worst = int(np.argmax(np.abs(rows - 1.0)))
    if abs(rows[worst] - 1.0) > tolerance:
        raise InputError(f"the weights that leave state {worst} sum to {rows[worst]:.6g}, not to 1; {remedy}")


def _sections(path: TextPath, file: str) -> Sections:
    sections: Sections = {}
    current = ""
    for number, line in _filled(path):
        if line[0] in _TITLES and line[1:].lstrip().startswith(":"):
            current = _new_section(line[0], sections, file, number)
        elif not current:
            raise InputError(
                f"expected a section 'I: (state)', found {line[:40]!r}; is this a PAutomaC model file?",
                file=file,
                line=number,
            )
        else:
            key, value = _entry(line, current, file, number)
            if key in sections[current]:
                raise InputError(
                    f"the entry {line.split()[0]} of section {current} was given before",
                    file=file,
                    line=number,
                )
            sections[current][key] = value
    if missing := [name for name in _TITLES if name not in sections]:
        raise InputError(
            f"there is no section {missing[0]}: {_TITLES[missing[0]]}; is the file cut short?", file=file
        )
    if not sections["I"]:
        raise InputError("no state has an initial probability", file=file)
    return sections


def _filled(path: TextPath) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(open_text(path), 1):
        if stripped := line.strip():
            yield number, stripped


def _new_section(name: str, sections: Sections, file: str, number: int) -> str:
    if name in sections:
        raise InputError(f"section {name} was given before", file=file, line=number)
    sections[name] = {}
    return name


def _entry(line: str, section: str, file: str, number: int) -> tuple[Key, float]:
    match = _ENTRY.fullmatch(line)
    key = tuple(map(int, match[1].split(","))) if match else ()
    if not match or len(key) != _ARITY[section]:
        raise InputError(
            f"expected {_TITLES[section]} and a probability, found {line[:40]!r}", file=file, line=number
        )
    try:
        value = float(match[2])
    except ValueError:
        raise InputError(f"{match[2][:40]!r} is not a number", file=file, line=number) from None
    if not 0.0 <= value <= 1.0 + 1e-9:
        raise InputError(f"{value} is not a probability", file=file, line=number)
    return key, value


def _dense(section: dict[Key, float], shape: tuple[int, ...]) -> Floats:
    array = np.zeros(shape)
    if section:
        array[tuple(np.array(list(section)).T)] = list(section.values())
    return array
