"""Fuzzing of readers: mutations of seeds that are right.

A reader may give data or an `InputError` that names the file. Anything else is a finding: another exception,
more than ten seconds, more than a gigabyte, a message without the file.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from fuzz.mutating import mutated
from fuzz.trials import Case, Target
from sigmastar.core.errors import InputError
from sigmastar.core.family import load
from sigmastar.core.skipping import reading
from sigmastar.corpus.build import build_corpus

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
    "arpa": ("arpa", "sigmastar.automata.model.arpa:read_arpa", {}),
    "transducers": ("arcs", "sigmastar.transducers.model.weighted_transducer:read_transducer", {}),
    "series": ("series", "sigmastar.continuous.data:read_series", {}),
    "tagged arcs": ("conllu", "sigmastar.taggers.data.columns:read_tagged", {"file_format": "conllu"}),
    "records": ("jsonl", "sigmastar.automata.data.formats:read_lines", {}),
    "cells": ("csv", "sigmastar.automata.data.formats:read_lines", {}),
    "models": ("models", "sigmastar.core.model_reading:load_model", {}),
}
POLICIES: tuple[dict[str, Any], ...] = (
    {},
    {},
    {"on_error": "skip"},
    {"encoding": "latin-1", "bare_words": "X"},
)
FIELDS = {"records": "text", "cells": "text"}


def reader(name: str, place: Path, seeds: Mapping[str, bytes]) -> Target:
    """A reader of files."""
    of, where, more = READERS[name]
    read: Callable[..., Any] = load(where)
    path = place / f"input-{name}"
    stream = os.open(path, os.O_WRONLY | os.O_CREAT)  # opened once: a file is changed faster than made

    def draw(rng: random.Random) -> Case:
        content = mutated(seeds[of], rng)
        return Case(content, rng.choice(POLICIES))

    def problem(case: Case) -> str:
        os.ftruncate(stream, 0)
        os.pwrite(stream, case.content, 0)
        return _problem(lambda: read(str(path), **more), path, {**case.how, "fields": FIELDS.get(name)})

    return Target(name, draw, problem, Case(seeds[of]), lambda: os.close(stream))


def corpora(place: Path) -> Target:
    """A corpus on disk with one of its files changed."""
    folder, text = place / "corpus", place / "text"
    text.write_text("a b a\n\nb c\n")
    build_corpus([str(text)], folder)
    whole = {path.name: path.read_bytes() for path in sorted(folder.iterdir()) if path.is_file()}
    read, names = load("sigmastar.automata.data.corpora:read_corpus"), list(whole)

    def draw(rng: random.Random) -> Case:
        name = rng.choice(names)
        return Case(mutated(whole[name], rng), {"file": name})

    def problem(case: Case) -> str:
        path = folder / case.how["file"]
        try:
            path.write_bytes(case.content)
            return _problem(lambda: read(folder), folder, {})
        finally:
            path.write_bytes(whole[path.name])

    return Target("corpora", draw, problem, Case(whole[names[0]], {"file": names[0]}))


def _problem(read: Callable[[], Any], path: Path, policy: Mapping[str, Any]) -> str:
    try:
        with reading(**policy):
            found = read()
            if isinstance(found, Iterator):
                list(found)
    except InputError as problem:
        return "" if str(path) in str(problem) and "\n" not in str(problem) else f"no place: {problem}"
    except Exception as problem:
        return f"{type(problem).__name__}: {problem}"
    return ""
