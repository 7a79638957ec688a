"""Sentences of real treebanks as strings of tags, which several papers and benchmarks read.

Tagged sentences hold one token per line, `word TAB tag TAB ..`, and an empty line after each sentence. A map
of tags is a file of lines `tag TAB universal tag` (Petrov, Das and McDonald 2012).

Short sentences (`read_wsj`, `read_ewt`) are without punctuation and currency (Klein and Manning 2002); what
is left of a sentence counts for its length. Those of the Penn Treebank have gold brackets, those of the
English Web Treebank have none of this kind.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np

from sigmastar.automata.data.strings import Strings
from sigmastar.core.alphabet import Alphabet
from sigmastar.core.errors import InputError
from sigmastar.core.text_files import open_text
from sigmastar.dependency.data.conllu import read_conllu
from sigmastar.grammars.data.bracketings import Bracketings
from sigmastar.taggers.data.columns import read_tagged
from sigmastar.trees.data.brackets import read_brackets

TAGS = Alphabet(["ADJ", "ADP", "ADV", "CONJ", "DET", "NOUN", "NUM", "PRON", "PRT", "VERB", "X"])
PUNCTUATION = "."
LONGEST = 10
TAG_MAP = "universal_tagset/en-ptb.map"
_WEB = {"HYPH": PUNCTUATION, "NFP": PUNCTUATION, "ADD": "X", "AFX": "X", "GW": "X"}


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
    sentences = read_tagged(path, "columns", "2")
    tags = sentences.tags or []
    for tag in tags:
        if tag not in mapping:
            raise InputError(f"the tag {tag!r} is not in the map of tags", file=str(path))
    rows = sentences.cut([mapping[tag] for tag in tags])
    return Strings.of(rows, alphabet=Alphabet(sorted(set(mapping.values()))))


def wsj_files(parts: Sequence[str] = ("train", "dev", "test")) -> list[str]:
    return [TAG_MAP, *(f"ptb_sample/wsj-{part}.mrg" for part in parts)]


def read_wsj(
    folder: Path, parts: Sequence[str] = ("train", "dev", "test"), longest: int = LONGEST
) -> Bracketings:
    """Sentences of at most `longest` tags with their gold brackets."""
    mapping = read_tag_map(folder / TAG_MAP)

    def leaf(label: str, word: str) -> str | None:
        tag = PUNCTUATION if label == "-NONE-" else mapping[label]
        return None if tag == PUNCTUATION else tag

    trees = [tree for part in parts for tree in read_brackets(folder / f"ptb_sample/wsj-{part}.mrg")]
    every = Bracketings.of_trees(trees, leaf, TAGS)
    return every.select(np.flatnonzero(every.strings.lengths <= longest))


def ewt_files(parts: Sequence[str] = ("train",)) -> list[str]:
    return [TAG_MAP, *(f"ud/en_ewt-{part}.conllu.gz" for part in parts)]


def read_ewt(folder: Path, parts: Sequence[str] = ("train",), longest: int = LONGEST) -> Strings:
    """Sentences of at most `longest` tags; the tags of the Penn Treebank are mapped."""
    mapping = {**read_tag_map(folder / TAG_MAP), **_WEB, "_": "X"}
    rows = []
    for part in parts:
        treebank = read_conllu(folder / f"ud/en_ewt-{part}.conllu.gz")
        ends = treebank.sentence_offsets.tolist()
        tags = [mapping.get(tag, "X") for tag in treebank.xpos]
        rows += [[t for t in tags[low:high] if t != PUNCTUATION] for low, high in pairwise(ends)]
    return Strings.of([row for row in rows if 1 <= len(row) <= longest], alphabet=TAGS)
