"""Fuzzing of readers: mutations of seeds that are right.

A reader may give data or an `InputError` that names the file. Anything else is a finding: another exception,
more than ten seconds, more than a gigabyte, a message without the file.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from fuzz.mutating import SECONDS, Finding, TooSlow, alarms, limited, mutated
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


def fuzz_reader(
    name: str, place: Path, seeds: dict[str, bytes], n_inputs: int, seed: int, until: float
) -> tuple[int, list[Finding]]:
    """Inputs that a reader got, and findings."""
    rng, (of, where, more) = random.Random(f"{name} {seed}"), READERS[name]
    read: Callable[..., Any] = load(where)
    findings: list[Finding] = []
    path = place / f"input-{name}"
    policies = [{**policy, "fields": FIELDS.get(name)} for policy in POLICIES]
    with alarms(), open(path, "wb", buffering=0) as stream:
        for number in range(n_inputs):
            if number and time.monotonic() > until:
                return number, findings
            content = mutated(seeds[of], rng)
            stream.seek(0)
            stream.truncate()
            stream.write(content)
            if problem := _problem(lambda: read(str(path), **more), path, rng.choice(policies)):
                findings.append(Finding(name, problem, content))
    return n_inputs, findings


def fuzz_corpora(place: Path, n_inputs: int, seed: int, until: float) -> tuple[int, list[Finding]]:
    """A corpus on disk with one of its files changed."""
    rng, folder, text = random.Random(f"corpora {seed}"), place / "corpus", place / "text"
    text.write_text("a b a\n\nb c\n")
    build_corpus([str(text)], folder)
    whole = {path: path.read_bytes() for path in sorted(folder.iterdir()) if path.is_file()}
    read, findings = load("sigmastar.automata.data.corpora:read_corpus"), list[Finding]()
    with alarms():
        for number in range(n_inputs):
            if number and time.monotonic() > until:
                return number, findings
            path = rng.choice(list(whole))
            path.write_bytes(content := mutated(whole[path], rng))
            if problem := _problem(lambda: read(folder), folder, {}):
                findings.append(Finding(f"corpora {path.name}", problem, content))
            path.write_bytes(whole[path])
    return n_inputs, findings


def _problem(read: Callable[[], Any], path: Path, policy: dict[str, Any]) -> str:
    try:
        with limited(SECONDS), reading(**policy):
            found = read()
            if isinstance(found, Iterator):
                list(found)
    except InputError as problem:
        return "" if str(path) in str(problem) and "\n" not in str(problem) else f"no place: {problem}"
    except TooSlow:
        return f"longer than {SECONDS} s"
    except Exception as problem:
        return f"{type(problem).__name__}: {problem}"
    return ""
