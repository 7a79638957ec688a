"""From raw text to sentences of words, by rules that hold in most scripts.

    words           runs of letters, marks and digits, with inner apostrophes and points; numbers with points
    addresses       of the web and of mail, as one word
    contractions    a clitic behind an apostrophe is a word of its own: do n't, it 's
    hyphens         inside words, or words of their own, as the treebank mostly has them
    others          a run of one mark of punctuation (..., !!), or a single one
    sentences       end behind . ! ? and their likes, with quotes and brackets that close, and at blank lines

A point belongs to the word before it where the treebank had the word with its point (Mr., U.S.), or where the
word is a single capital; such words end no sentence. Without rules, lines are sentences, blanks part words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from sigmastar.core.parts import check_header, distinct_texts

_QUOTE = "['\u2019]"
_CLITIC = "(?:s|S|re|ve|ll|d|m|LL|RE|VE|D|M)(?!\\w)"
_TOKEN = re.compile(
    r"(?:https?://|www\.)\S+[^\s.,;:!?)\]}>\"']"
    r"|[\w.+-]+@\w[\w-]*(?:\.\w+)+"
    rf"|n{_QUOTE}t(?!\w)|{_QUOTE}{_CLITIC}"
    r"|\d+(?:[.,:/]\d+)+"
    rf"|\w+?(?=n{_QUOTE}t(?!\w))"
    r"|\w+(?:\.\w+)+\.?(?!\w)"
    rf"|\w+(?:(?:-|{_QUOTE}(?!{_CLITIC}))\w+)*"
    r"|(?P<mark>[^\w\s])(?P=mark)*"
)
_PARAGRAPHS = re.compile(r"\n\s*\n")
_ENDS = frozenset(".!?\u3002\uff01\uff1f\u2026\u06d4\u0964")
_CLOSING = frozenset("\"'\u201d\u2019\u00bb)]}\uff09\u300d\u300f")


@dataclass(frozen=True)
class Tokenizer:
    """Rules, and what a treebank tells about points and hyphens; or blanks and lines alone.

    Parameters
    ----------
    abbreviations : frozenset of str
        Words that a point belongs to, with it.
    parts_hyphens : bool
        Whether a hyphen inside a word is a word of its own.
    has_rules : bool
        False: lines are sentences, and blanks part words.
    """

    abbreviations: frozenset[str] = frozenset()
    parts_hyphens: bool = False
    has_rules: bool = True

    @classmethod
    def of(cls, words: Iterable[str], has_rules: bool = True) -> Tokenizer:
        """What the words of a treebank tell."""
        if not has_rules:
            return cls(has_rules=False)
        pointed, n_inside, n_alone = set(), 0, 0
        for word in words:
            n_alone += word == "-"
            if len(word) > 1 and word[-1] == "." and word[-2].isalnum():
                pointed.add(word)
            n_inside += "-" in word[1:-1] and word[0].isalpha() and word[-1].isalpha()
        return cls(frozenset(pointed), n_alone > n_inside)

    def sentences(self, text: str) -> Iterator[list[str]]:
        """The sentences of a text, each a list of words; none is empty."""
        if not self.has_rules:
            yield from (words for line in text.splitlines() if (words := line.split()))
            return
        for paragraph in _PARAGRAPHS.split(text):
            yield from _cut(*self._words(paragraph))

    def words(self, text: str) -> list[str]:
        """The words of a text, sentences not told apart.

        >>> Tokenizer(frozenset({"Mr."})).words("Mr. Smith doesn't care: it's 3.5 miles!")
        ['Mr.', 'Smith', 'does', "n't", 'care', ':', 'it', "'s", '3.5', 'miles', '!']
        """
        return self._words(text)[0]

    def _words(self, text: str) -> tuple[list[str], list[bool]]:
        """The words, and whether each has a blank before it."""
        words, spaced = list[str](), list[bool]()
        for match in _TOKEN.finditer(text):
            word, begin = match.group(), match.start()
            is_apart = begin == 0 or text[begin - 1].isspace()
            if word == "." and not is_apart and self._takes_point(words[-1]):
                words[-1] += "."
                continue
            parts = self._parts(word)
            words += parts
            spaced += [is_apart, *[False] * (len(parts) - 1)]
        return words, spaced

    def _takes_point(self, word: str) -> bool:
        return f"{word}." in self.abbreviations or (len(word) == 1 and word.isupper() and word != "I")

    def _parts(self, word: str) -> list[str]:
        if not ((word[0].isalnum() and word[-1] in ".") or "-" in word[1:-1]):
            return [word]
        if word[-1] == "." and word.count(".") == 1 and word not in self.abbreviations:
            return [word[:-1], "."]
        if self.parts_hyphens and word.replace("-", "").isalnum():
            return [part for part in re.split("(-)", word) if part]
        return [word]

    def to_header(self) -> dict[str, Any]:
        """What a model file holds."""
        return {
            "abbreviations": sorted(self.abbreviations),
            "parts_hyphens": self.parts_hyphens,
            "rules": self.has_rules,
        }

    @classmethod
    def from_header(cls, header: dict[str, Any]) -> Tokenizer:
        """From a model file."""
        check_header(header, {"abbreviations": distinct_texts, "parts_hyphens": bool, "rules": bool})
        return cls(frozenset(header["abbreviations"]), header["parts_hyphens"], header["rules"])


def _cut(words: list[str], spaced: list[bool]) -> Iterator[list[str]]:
    """Sentences: an end, marks that close right behind it, and a word that does not begin small."""
    begin, ended = 0, False
    for at, word in enumerate(words):
        closes = word in _CLOSING and not spaced[at]
        if ended and not closes and word[0] not in _ENDS:
            if not word[0].islower():
                yield words[begin:at]
                begin = at
            ended = False
        ended = ended or word[0] in _ENDS
    if words[begin:]:
        yield words[begin:]
