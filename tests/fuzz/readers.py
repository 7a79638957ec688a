"""Fuzzing of readers and of argument parsers: mutations of seeds that are right.

A reader may give data or an `InputError` that names the file. Anything else is a finding: another exception,
more than ten seconds, a message without the file. Parsers of arguments may give a context or an error of use.
"""

from __future__ import annotations

import random
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import click

from sigmastar.cli import command
from sigmastar.core.errors import InputError
from sigmastar.core.family import load
from sigmastar.core.skipping import reading

SECONDS = 10

SEEDS = {
    "lines": b"a b a\n\nb\na a b c\n",
    "pautomac": b"4 3\n3 0 1 2\n0\n2 1 1\n1 2\n",
    "machine": b"I: (state)\n\t(0) 1.0\nF: (state)\n\t(0) 0.5\nS: (state,symbol)\n\t(0,0) 1.0\n"
    b"T: (state,symbol,state)\n\t(0,0,0) 1.0\n",
    "conllu": b"# text = the dog\n1\tthe\t_\tDET\tDT\t_\t2\tdet\t_\t_\n"
    b"2\tdog\t_\tNOUN\tNN\t_\t0\troot\t_\t_\n\n",
    "dp": b"the\tDT\t2\ndog\tNN\t0\n\n",
    "columns": b"the DT B\ndog NN I\n\na DT B\n",
    "brackets": b"(S (NP (D the) (N dog)) (VP (V barks)))\n(S (X a))\n",
    "rules": b"S -> NP VP 0.5\nS -> 'a' S 0.5\nNP -> \"dog\" 1\nVP -> 'barks' 1\n",
    "dimacs": b"c formula\np cnf 3 2\n1 -3 0\n2 3 -1 0\n",
    "table": b"abab\t1.5\nba\t-2\n\t0\n",
    "pairs": b"abc\tA B C\nba\tB A\n",
    "words": b"dog\tbig\ncat\tsmall\n",
    "quadruples": b"saw man with dog V\nate fish with fork V\nsaw girl of town N\n",
    "word2vec": b"2 3\ndog 0.5 1 -2\ncat 1e-3 2 3\n",
    "att": b"0 1 a 0.5\n0 0 b 1\n1 0 a 0.25\n1 0.125\n0\n",
    "solution": b"3\n0.5\n1e-3\n0.25\n",
    "targets": b"1.5 0 1.0 2 0.5\n2 1 1 -1 0.5\n",
    "tagged": b"the_D dog_N barks_V\n\na_b_N\n",
}

READERS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "lines": ("lines", "sigmastar.automata.data.formats:read_lines", {}),
    "pautomac": ("pautomac", "sigmastar.automata.data.pautomac:read_pautomac", {}),
    "machine": ("machine", "sigmastar.automata.model.pautomac_machine:read_pautomac_model", {}),
    "conllu": ("conllu", "sigmastar.dependency.data.conllu:read_conllu", {}),
    "dp": ("dp", "sigmastar.dependency.data.conllu:read_dp", {}),
    "columns": ("columns", "sigmastar.taggers.data.columns:read_tagged", {}),
    "brackets": ("brackets", "sigmastar.trees.data.brackets:read_brackets", {}),
    "sentences": ("brackets", "sigmastar.grammars.data.bracketings:read_sentences", {}),
    "rules": ("rules", "sigmastar.pcfg.data.rules:read_rules", {}),
    "dimacs": ("dimacs", "sigmastar.pcfg.data.formulas:read_dimacs", {}),
    "table": ("table", "sigmastar.regression.data:read_table", {}),
    "transductions": ("pairs", "sigmastar.transducers.data:read_transductions", {}),
    "pairs": ("words", "sigmastar.bilexical.data.pairs:read_pairs", {}),
    "quadruples": ("quadruples", "sigmastar.bilexical.data.quadruples:read_quadruples", {}),
    "word2vec": ("word2vec", "sigmastar.bilexical.model.vectors:read_word2vec", {}),
    "att": ("att", "sigmastar.automata.model.att:read_att", {}),
    "spice": ("pautomac", "sigmastar.automata.data.spice:read_spice", {}),
    "solution": ("solution", "sigmastar.automata.data.pautomac:read_solution", {}),
    "targets": ("targets", "sigmastar.automata.data.spice:read_spice_targets", {}),
    "treebank words": ("tagged", "sigmastar.treebanks.data.sentences:read_inputs", {"tagged": True}),
    "pcfg words": ("brackets", "sigmastar.pcfg.data.sentences:read_sentences", {}),
    "inputs": ("pairs", "sigmastar.transducers.data:read_inputs", {}),
    "characters": ("lines", "sigmastar.automata.data.formats:read_lines", {"characters": True}),
    "models": ("models", "sigmastar.core.model_files:load_model", {}),
}
PIECES = (
    *(
        b"\0",
        b"\xff",
        b"\xef\xbb\xbf",
        b"\r\n",
        b"\r",
        b"\n\n",
        b"\t\t",
        b"\x1f\x8b",
        b"\x28\xb5\x2f\xfd",
        b"(",
    ),
    *(
        b")",
        b"((((",
        b"))))",
        b"-1",
        b"0",
        b"99999999999999999999",
        b"1e400",
        b"nan",
        b"inf",
        b"-0",
        b" ",
        b"",
    ),
    *(
        "\u0661\u2028\u00a0\U0001f600".encode(),
        b"\xed\xa0\x80",
        b"_",
        b"1-2",
        b"2.1",
        b"#",
        b"->",
        b"|",
        b"'",
        b'"',
    ),
)
POLICIES: tuple[dict[str, Any], ...] = (
    {},
    {},
    {"on_error": "skip"},
    {"encoding": "latin-1", "bare_words": "X"},
)


class Finding(NamedTuple):
    """What went wrong, and the input that shows it."""

    target: str
    problem: str
    content: bytes


class TooSlow(BaseException):
    """An input took longer than it may."""


@contextmanager
def limited(seconds: int) -> Iterator[None]:
    def stop(*_: object) -> None:
        raise TooSlow

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def mutated(seed: bytes, rng: random.Random) -> bytes:
    """A seed after one to six changes."""
    content = bytearray(seed)
    for _ in range(rng.randint(1, 6)):
        at, to = sorted(rng.randrange(len(content) + 1) for _ in range(2))
        kind = rng.randrange(7)
        if kind == 0 and content:
            content[at - 1] ^= 1 << rng.randrange(8)
        elif kind == 1:
            content[at:at] = rng.choice(PIECES)
        elif kind == 2:
            content[at:to] = b""
        elif kind == 3:
            content[at:at] = content[at:to] * rng.choice((1, 2, 50))
        elif kind == 4:
            content[at:to] = rng.choice(PIECES)
        elif kind == 5:
            del content[at:]
        else:
            content[at:at] = bytes(rng.randrange(256) for _ in range(rng.randint(1, 4)))
    return bytes(content[:20_000])


def fuzz_reader(
    name: str, place: Path, seeds: dict[str, bytes], n_inputs: int, seed: int, until: float
) -> tuple[int, list[Finding]]:
    """Inputs that a reader got, and findings."""
    rng, (of, where, more) = random.Random(f"{name} {seed}"), READERS[name]
    read: Callable[..., Any] = load(where)
    findings: list[Finding] = []
    path = place / f"input-{name}"
    for number in range(n_inputs):
        if time.monotonic() > until:
            return number, findings
        content = mutated(seeds[of], rng)
        path.write_bytes(content)
        if problem := _problem(read, path, more, rng.choice(POLICIES)):
            findings.append(Finding(name, problem, content))
    return n_inputs, findings


def _problem(read: Callable[..., Any], path: Path, more: dict[str, Any], policy: dict[str, Any]) -> str:
    try:
        with limited(SECONDS), reading(**policy):
            found = read(str(path), **more)
            if isinstance(found, Iterator):
                list(found)
    except InputError as problem:
        return "" if str(path) in str(problem) and "\n" not in str(problem) else f"no place: {problem}"
    except TooSlow:
        return f"longer than {SECONDS} s"
    except Exception as problem:
        return f"{type(problem).__name__}: {problem}"
    return ""


def fuzz_arguments(n_inputs: int, seed: int, until: float) -> tuple[int, list[Finding]]:
    """Random words for every command, parsed and not run."""
    rng = random.Random(seed)
    commands = list(_commands(command, ()))
    findings: list[Finding] = []
    for number in range(n_inputs):
        if time.monotonic() > until:
            return number, findings
        path, found = commands[rng.randrange(len(commands))]
        words = [_word(found, rng) for _ in range(rng.randint(0, 6))]
        try:
            with limited(SECONDS), found.make_context(" ".join(path), list(words)):
                pass
        except (click.ClickException, click.exceptions.Exit, click.Abort, InputError):
            pass
        except TooSlow:
            findings.append(Finding("arguments", "too slow", repr((path, words)).encode()))
        except Exception as problem:
            findings.append(Finding("arguments", repr(problem), repr((path, words)).encode()))
    return n_inputs, findings


def _commands(group: click.Group, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    context = click.Context(group)
    for name in group.list_commands(context):
        found = group.get_command(context, name)
        assert found is not None
        if isinstance(found, click.Group):
            yield from _commands(found, (*path, name))
        else:
            yield (*path, name), found


def _word(found: click.Command, rng: random.Random) -> str:
    options = [name for option in found.params for name in option.opts if name.startswith("-")]
    values = [
        "-",
        "--",
        "",
        "0",
        "-1",
        "1e400",
        "nan",
        "x" * 1000,
        "\udc80",
        "auto",
        "é",
        "--nonsense",
        "=",
        "1-1,2-2",
    ]
    if options and rng.random() < 0.6:
        option = rng.choice(options)
        return f"{option}={rng.choice(values)}" if rng.random() < 0.5 else option
    return rng.choice(values)
