"""A little English: sentences that every family can learn a first model from.

    S -> NP VP, NP -> D N | D A N | NP PP, VP -> V NP | V NP PP | W, PP -> P NP

Nouns are singular or plural and verbs agree with the head of the subject; instruments attach to verbs, and
what things have attaches to nouns. So there is something to find for each family: agreement for automata,
attachment for parsers, fitting objects for bilexical operators.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

SINGULAR = ("dog", "cat", "girl", "boy", "bird")
PLURAL = ("dogs", "cats", "girls", "boys", "birds")
ADJECTIVES = ("small", "old", "red", "happy")
FITTING = {
    "see": ("dog", "cat", "girl", "boy", "bird", "house"),
    "eat": ("apple", "bread", "soup"),
    "read": ("book", "letter"),
    "hear": ("song", "bird", "dog"),
}
"""Verbs and the objects that fit them."""
INSTRUMENTS = {"see": "telescope", "eat": "spoon", "read": "lamp", "hear": "radio"}
POSSESSED = ("hat", "tail", "smile")
ALONE = ("sleep", "run", "sing")


@dataclass(frozen=True)
class Node:
    """A label over nodes, or over one word; `head` is the number of the child that leads the phrase."""

    label: str
    children: tuple[Node, ...] = ()
    word: str = ""
    head: int = 0

    def leaves(self) -> list[Node]:
        return [self] if self.word else [leaf for child in self.children for leaf in child.leaves()]

    @property
    def words(self) -> list[str]:
        return [leaf.word for leaf in self.leaves()]

    @property
    def tags(self) -> list[str]:
        return [leaf.label for leaf in self.leaves()]

    def bracketed(self) -> str:
        inside = self.word or " ".join(child.bracketed() for child in self.children)
        return f"({self.label} {inside})"

    def heads(self) -> list[int]:
        """The head of every word, counted from 1; 0 for the word that leads the sentence."""
        return [head for head, _ in self._attached()]

    def relations(self) -> list[str]:
        """What every word is to its head."""
        return [relation for _, relation in self._attached()]

    def _attached(self) -> list[tuple[int, str]]:
        found = [(0, "root")] * len(self.leaves())
        _attach(self, 0, found)
        return found


_RELATIONS = {
    ("S", "NP"): "subject",
    ("VP", "NP"): "object",
    ("VP", "PP"): "means",
    ("NP", "PP"): "part",
    ("PP", "NP"): "noun",
    ("NP", "D"): "determiner",
    ("NP", "A"): "attribute",
}
"""What a phrase is within another one, where it does not lead it."""


def _attach(node: Node, begin: int, found: list[tuple[int, str]]) -> int:
    """The place of the word that leads a phrase; the leaders of its other children hang below it."""
    if node.word:
        return begin
    leaders = []
    for child in node.children:
        leaders.append(_attach(child, begin, found))
        begin += len(child.leaves())
    for number, leader in enumerate(leaders):
        if number != node.head:
            found[leader] = (leaders[node.head] + 1, _RELATIONS[node.label, node.children[number].label])
    return leaders[node.head]


def sentences(n: int, seed: int = 0) -> list[Node]:
    """Some sentences, the same ones for the same seed."""
    rng = np.random.default_rng(seed)
    return [_sentence(rng) for _ in range(n)]


def _sentence(rng: np.random.Generator) -> Node:
    plural = bool(rng.random() < 0.4)
    subject = _noun_phrase(_drawn(PLURAL if plural else SINGULAR, rng), plural, rng)
    ending = "" if plural else "s"
    if rng.random() < 0.3:
        verb = _drawn(ALONE, rng)
        return Node("S", (subject, Node("VP", (Node("V", word=verb + ending),))), head=1)
    verb = _drawn(tuple(FITTING), rng)
    parts = [Node("V", word=verb + ending), _noun_phrase(_drawn(FITTING[verb], rng), False, rng)]
    if rng.random() < 0.3:
        parts.append(_prepositional("with", INSTRUMENTS[verb]))
    return Node("S", (subject, Node("VP", tuple(parts))), head=1)


def _noun_phrase(noun: str, plural: bool, rng: np.random.Generator) -> Node:
    determiner = _drawn(("the", "some") if plural else ("the", "a"), rng)
    parts = [Node("D", word=determiner)]
    if rng.random() < 0.3:
        parts.append(Node("A", word=_drawn(ADJECTIVES, rng)))
    parts.append(Node("N", word=noun))
    phrase = Node("NP", tuple(parts), head=len(parts) - 1)
    if rng.random() < 0.2:
        return Node("NP", (phrase, _prepositional("with", _drawn(POSSESSED, rng))))
    return phrase


def _prepositional(preposition: str, noun: str) -> Node:
    inner = Node("NP", (Node("D", word="a"), Node("N", word=noun)), head=1)
    return Node("PP", (Node("P", word=preposition), inner))


def _drawn(words: tuple[str, ...], rng: np.random.Generator) -> str:
    return words[int(rng.integers(len(words)))]
