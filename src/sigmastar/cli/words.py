"""What the commands on words share: vectors from either format, pairs from treebanks or tables."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from sigmastar.data.conllu import read_treebank
from sigmastar.data.pairs import read_pairs
from sigmastar.data.relations import Pattern, WordPairs, relation_pairs
from sigmastar.data.word2vec import read_word2vec
from sigmastar.errors import InputError
from sigmastar.operators.files import load_model
from sigmastar.operators.vectors import Vectors

TREEBANKS = (".conllu", ".dp")
GIVEN = ("head", "modifier")


def read_vectors(path: str) -> Vectors:
    """Vectors of a model file, or in word2vec's text format, normalised."""
    if _is_model(path):
        vectors: Vectors = load_model(path, "vectors")
        return vectors
    return read_word2vec(path).normalised()


def read_relation(paths: Sequence[str], settings: Mapping[str, Any]) -> WordPairs:
    """(given, asked) pairs of treebanks or tables, by the settings `relation`, `head_tag`, .. and `given`."""
    found = [pair for path in paths for pair in _file_pairs(path, settings)]
    if settings["given"] == "modifier":
        return [(modifier, head) for head, modifier in found]
    return found


def is_treebank(path: str) -> bool:
    return path.removesuffix(".gz").removesuffix(".zst").endswith(TREEBANKS)


def described_file(path: str) -> dict[str, str]:
    """The name of a file and its hash."""
    if not os.path.isfile(path):
        return {"name": "standard input" if path == "-" else Path(path).name}
    with open(path, "rb") as stream:
        return {"name": Path(path).name, "sha256": hashlib.file_digest(stream, "sha256").hexdigest()}


def require_folder(output: str) -> None:
    """Tell of a bad place before the work, not after it."""
    folder = os.path.dirname(output) or "."
    if output != "-" and not os.path.isdir(folder):
        raise InputError(f"the folder {folder} does not exist; make it first", file=output)


def _file_pairs(path: str, settings: Mapping[str, Any]) -> WordPairs:
    if not is_treebank(path):
        return read_pairs(path)
    if not settings["relation"]:
        raise click.UsageError(f"{path} is a treebank: say which pairs with --relation, as amod or prep:with")
    pattern = Pattern(settings["relation"], settings["head_tag"] or "", settings["modifier_tag"] or "")
    return relation_pairs(read_treebank(path), pattern, path)


def _is_model(path: str) -> bool:
    """Model files begin with the length of a JSON header and a brace."""
    try:
        with open(path, "rb") as stream:
            return stream.read(9)[8:] == b"{"
    except OSError:
        return True  # let the reader of models say what is wrong
