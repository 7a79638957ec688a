"""Short sentences as strings of universal tags, without punctuation and currency (Klein and Manning 2002).

What is left of a sentence counts for its length. The Penn Treebank's sentences have gold brackets, those of
the English Web Treebank have none of this kind.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np

from sigmastar.automata.data.strings import Strings
from sigmastar.core.alphabet import Alphabet
from sigmastar.dependency.data.conllu import read_conllu
from sigmastar.grammars.data.bracketings import Bracketings
from sigmastar.reproduce.balle2014.tagged_corpus import read_tag_map
from sigmastar.trees.data.brackets import read_brackets

TAGS = Alphabet(["ADJ", "ADP", "ADV", "CONJ", "DET", "NOUN", "NUM", "PRON", "PRT", "VERB", "X"])
PUNCTUATION = "."
LONGEST = 10
_MAP = "universal_tagset/en-ptb.map"
_WEB = {"HYPH": PUNCTUATION, "NFP": PUNCTUATION, "ADD": "X", "AFX": "X", "GW": "X"}


def wsj_files(parts: Sequence[str] = ("train", "dev", "test")) -> list[str]:
    return [_MAP, *(f"ptb_sample/wsj-{part}.mrg" for part in parts)]


def read_wsj(
    folder: Path, parts: Sequence[str] = ("train", "dev", "test"), longest: int = LONGEST
) -> Bracketings:
    """Sentences of at most `longest` tags with their gold brackets."""
    mapping = read_tag_map(folder / _MAP)

    def leaf(label: str, word: str) -> str | None:
        tag = PUNCTUATION if label == "-NONE-" else mapping[label]
        return None if tag == PUNCTUATION else tag

    trees = [tree for part in parts for tree in read_brackets(folder / f"ptb_sample/wsj-{part}.mrg")]
    every = Bracketings.of_trees(trees, leaf, TAGS)
    return every.select(np.flatnonzero(every.strings.lengths <= longest))


def ewt_files(parts: Sequence[str] = ("train",)) -> list[str]:
    return [_MAP, *(f"ud/en_ewt-{part}.conllu.gz" for part in parts)]


def read_ewt(folder: Path, parts: Sequence[str] = ("train",), longest: int = LONGEST) -> Strings:
    """Sentences of at most `longest` tags; the tags of the Penn Treebank are mapped."""
    mapping = {**read_tag_map(folder / _MAP), **_WEB, "_": "X"}
    rows = []
    for part in parts:
        treebank = read_conllu(folder / f"ud/en_ewt-{part}.conllu.gz")
        ends = treebank.sentence_offsets.tolist()
        tags = [mapping.get(tag, "X") for tag in treebank.xpos]
        rows += [[t for t in tags[low:high] if t != PUNCTUATION] for low, high in pairwise(ends)]
    return Strings.of([row for row in rows if 1 <= len(row) <= longest], alphabet=TAGS)
