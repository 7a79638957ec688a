"""The relations of Madhyastha et al. (2014) in the English treebank at hand, and vectors of other text.

The vectors are counted on running text that is not the treebank's: counted on the same sentences they
would know the answers. Pairs with a word that the text lacks are left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from sigmastar.bilexical.counts.associations import Weighting, ppmi
from sigmastar.bilexical.data.pairs import Pairs
from sigmastar.bilexical.data.relations import Pattern
from sigmastar.bilexical.learn.bilexical import known_pairs
from sigmastar.bilexical.learn.vectors import learn_vectors
from sigmastar.bilexical.model.vectors import Vectors
from sigmastar.core.errors import InputError
from sigmastar.dependency.data.conllu import read_conllu
from sigmastar.dependency.data.treebank import DependencyTreebank

PARTS = ("train", "dev", "test")
SMALL, SIMILARITY = 300, 4.0
AMOD, OBJ = Pattern("amod", "NOUN", "ADJ"), Pattern("obj", "VERB", "NOUN")


@dataclass(frozen=True)
class Relation:
    """Pairs of a pattern, and whether the head of the arc is given or asked for."""

    pattern: Pattern
    head_given: bool


PREPOSITIONS = ("with", "for", "in", "on")

RELATIONS: Mapping[str, Relation] = {
    "adjectives given noun": Relation(AMOD, True),
    "nouns given adjective": Relation(AMOD, False),
    "objects given verb": Relation(OBJ, True),
    "verbs given object": Relation(OBJ, False),
    **{word: Relation(Pattern(f"prep:{word}"), False) for word in PREPOSITIONS},
}
"""For prepositions the word above is asked for, given the noun below."""


def text_vectors(
    data_folder: Path,
    window: int = 2,
    weighting: Weighting = ppmi,
    n_contexts: int = 2000,
    sided: bool = False,
) -> Vectors:
    """Vectors of the running text."""
    files = sorted((data_folder / "text").glob("*.txt.gz"))
    if not files:
        raise InputError(
            "there is no running text *.txt.gz; set SIGMASTAR_DATA", file=str(data_folder / "text")
        )
    return learn_vectors(files, window, n_contexts, weighting, sided=sided)


def relation_vectors(data_folder: Path) -> Vectors:
    """Vectors that judge relations best, by validation heads: sided, with more contexts."""
    return text_vectors(data_folder, n_contexts=3000, sided=True)


def small_vectors(vectors: Vectors) -> Vectors:
    """For relations of few pairs, as those of prepositions: their leading directions, by validation heads.

    A thousand pairs cannot tell thousands of contexts apart; the text has already done so. The similarity of
    words is worth a say then, too: SIMILARITY, by validation heads as well.
    """
    return vectors.compressed(SMALL)


def treebanks(data_folder: Path) -> list[DependencyTreebank]:
    """All three parts: heads are split anew."""
    return [read_conllu(data_folder / "ud" / f"en_ewt-{part}.conllu.gz") for part in PARTS]


def pairs_of(relation: Relation, parts: list[DependencyTreebank], vectors: Vectors) -> Pairs:
    """The pairs of a relation whose words have vectors, the given word as the head."""
    found = Pairs.of(pair for part in parts for pair in relation.pattern.pairs(part))
    return known_pairs(found if relation.head_given else found.swapped(), vectors)
