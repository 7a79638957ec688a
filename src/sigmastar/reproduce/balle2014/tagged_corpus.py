"""Tagged sentences: one token per line, `word TAB tag TAB ..`, and an empty line after each sentence.

A map of tags is a file of lines `tag TAB universal tag` (Petrov, Das and McDonald 2012).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from sigmastar.automata.data.strings import Strings
from sigmastar.core.alphabet import Alphabet
from sigmastar.core.errors import InputError
from sigmastar.core.text_files import open_text


def read_tag_map(path: Path) -> dict[str, str]:
    """What each tag is mapped to."""
    mapping = {}
    for number, line in enumerate(open_text(path), 1):
        if not line.strip():
            continue
        words = line.split("\t")
        if len(words) != 2 or not all(words):
            raise InputError("expected 'tag TAB universal tag'", file=str(path), line=number)
        mapping[words[0]] = words[1].strip()
    if not mapping:
        raise InputError("the file is empty; expected lines 'tag TAB universal tag'", file=str(path))
    return mapping


def read_tags(path: Path, mapping: Mapping[str, str]) -> Strings:
    """The tag sequences of a file, mapped; the alphabet is all that the map can give."""
    alphabet = Alphabet(sorted(set(mapping.values())))
    sentences = list(_sentences(path, mapping))
    if not sentences:
        raise InputError("there are no sentences in the file", file=str(path))
    return Strings.of(sentences, alphabet=alphabet)


def _sentences(path: Path, mapping: Mapping[str, str]) -> Iterator[list[str]]:
    sentence: list[str] = []
    for number, line in enumerate(open_text(path), 1):
        if line.strip():
            sentence.append(_tag(line, mapping, path, number))
        elif sentence:
            yield sentence
            sentence = []
    if sentence:
        yield sentence


def _tag(line: str, mapping: Mapping[str, str], path: Path, number: int) -> str:
    words = line.split("\t")
    if len(words) < 2:
        raise InputError("expected 'word TAB tag'", file=str(path), line=number)
    if words[1] not in mapping:
        raise InputError(f"the tag {words[1]!r} is not in the map of tags", file=str(path), line=number)
    return mapping[words[1]]
