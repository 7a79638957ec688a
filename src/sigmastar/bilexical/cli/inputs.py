"""What the commands on words share: vectors from either format, pairs from treebanks or tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import click

from sigmastar.bilexical.data.pair_tables import read_pairs
from sigmastar.bilexical.data.relations import Pattern, WordPairs, relation_pairs
from sigmastar.bilexical.model.vectors import Vectors
from sigmastar.bilexical.model.word2vec import read_word2vec
from sigmastar.core.model_files import load_model
from sigmastar.dependency.data.conllu import read_treebank

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
