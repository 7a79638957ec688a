"""How models of this family are opened, and models to begin with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sigmastar.bilexical.estimator.bilexical_operator import BilexicalOperator
from sigmastar.bilexical.estimator.pp_attachment import PPAttachment
from sigmastar.bilexical.estimator.word_vectors import WordVectors
from sigmastar.bilexical.explore.attachment import AttachmentExhibit
from sigmastar.bilexical.explore.words import OperatorExhibit, VectorsExhibit
from sigmastar.bilexical.model.attachment import AttachmentModel
from sigmastar.bilexical.model.operator import BilexicalModel
from sigmastar.bilexical.model.vectors import Vectors
from sigmastar.core.exhibit import (
    Example,
    Exhibit,
)
from sigmastar.core.toy_english import INSTRUMENTS, sentences


def open_exhibit(model: Vectors | BilexicalModel | AttachmentModel, learned: Mapping[str, Any]) -> Exhibit:
    if isinstance(model, Vectors):
        return VectorsExhibit(model, learned)
    return (
        OperatorExhibit(model, learned)
        if isinstance(model, BilexicalModel)
        else AttachmentExhibit(model, learned)
    )


def _vectors() -> Vectors:
    return WordVectors(min_count=1, random_state=0).fit([node.words for node in sentences(1500)]).model_


def _objects() -> list[tuple[str, str]]:
    """Verbs with the head nouns of their objects."""
    pairs = []
    for node in sentences(1500):
        words, tags, heads = node.words, node.tags, node.heads()
        pairs += [
            (words[head - 1], words[k])
            for k, head in enumerate(heads)
            if tags[k] == "N" and head and tags[head - 1] == "V" and k >= head
        ]
    return pairs


def example_vectors() -> Example:
    return Example(_vectors(), {"method": "ppmi"})


def example_operator() -> Example:
    """Objects of verbs, asked from the nouns: which verbs do something with a thing."""
    swapped = [(noun, verb) for verb, noun in _objects()]
    model = BilexicalOperator(_vectors(), rank=6, random_state=0).fit(swapped).model_
    return Example(model, {"method": "nuclear", "example": "bread"})


def example_attachment() -> Example:
    """Instruments belong to verbs, and what things have to nouns."""
    rows, labels = [], []
    for node in sentences(1500):
        words, tags, heads = node.words, node.tags, node.heads()
        for k, tag in enumerate(tags):
            if tag == "P" and words[k + 2] in (*INSTRUMENTS.values(), "hat", "tail", "smile"):
                verb = next((at for at, other in enumerate(tags) if other == "V"), None)
                noun = next((at for at in range(k - 1, -1, -1) if tags[at] == "N"), None)
                if verb is not None and noun is not None and verb < noun:
                    rows.append((words[verb], words[noun], words[k], words[k + 2]))
                    labels.append("V" if heads[k] - 1 == verb else "N")
    model = PPAttachment(_vectors(), random_state=0).fit(rows, labels).model_
    return Example(model, {"method": "pool", "example": "sees girl with telescope"})
