"""From raw text to sentences of words, by rules that hold in most scripts.

    words           runs of letters, marks and digits, with inner apostrophes and points; numbers with points
    addresses       of the web and of mail, as one word
    contractions    a clitic behind an apostrophe is a word of its own: do n't, it 's
    hyphens         inside words, or words of their own, as the treebank mostly has them
    others          a run of one mark of punctuation (..., !!), or a single one
    sentences       end behind . ! ? and their likes, with quotes and brackets that close, and at blank lines

A point belongs to the word before it where the treebank had the word with its point (Mr., U.S.), or where the
word is a single capital; such words end no sentence. Words that the treebank has whole stay whole where the
rules would part them (b/c, :-)); what it has as one token of several words is parted (cannot, gonna). Small
letters begin a sentence behind marks where they mostly do so in the treebank. Without rules, lines are
sentences, blanks part words.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

from sigmastar.core.stored_parts import Check, check_header, distinct_texts, lists_of_texts

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
_MOST_MARKS = 3  # on each side of a word that stays whole
_LEAST = 2  # occurrences of a word that stays whole, or of a token that is parted
Token = tuple[str, tuple[str, ...]]
"""A token of a text, and the words that it stands for."""


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
    whole : frozenset of str
        Words that rules would part.
    contractions : mapping of str to tuple of str
        The words that single tokens stand for, in small letters.
    firm : frozenset of str
        Marks that end a sentence though a small letter follows.
    """

    abbreviations: frozenset[str] = frozenset()
    parts_hyphens: bool = False
    has_rules: bool = True
    whole: frozenset[str] = frozenset()
    contractions: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    firm: frozenset[str] = frozenset()

    @classmethod
    def of(
        cls,
        words: Sequence[str],
        has_rules: bool = True,
        tokens: Iterable[Token] = (),
        begins: Collection[int] = (),
    ) -> Tokenizer:
        """What the words of a treebank tell, its tokens of several words, and where its sentences begin."""
        if not has_rules:
            return cls(has_rules=False)
        pointed, n_inside, n_alone = set(), 0, 0
        for word in words:
            n_alone += word == "-"
            if len(word) > 1 and word[-1] == "." and word[-2].isalnum():
                pointed.add(word)
            n_inside += "-" in word[1:-1] and word[0].isalpha() and word[-1].isalpha()
        bare = cls(frozenset(pointed), n_alone > n_inside)
        parted = replace(bare, contractions=_contractions(bare, words, tokens))
        return replace(parted, whole=_whole(parted, words), firm=_firm(words, frozenset(begins)))

    def sentences(self, *texts: str) -> Iterator[list[str]]:
        """The sentences of texts, each a list of words; none is empty. Texts share what is remembered."""
        known: dict[str, list[str]] = {}
        for text in texts:
            if self.has_rules:
                for paragraph in _PARAGRAPHS.split(text):
                    yield from _cut(*self._words(paragraph, known), self.firm)
            else:
                yield from (words for line in text.splitlines() if (words := line.split()))

    def words(self, text: str) -> list[str]:
        """The words of a text, sentences not told apart.

        >>> Tokenizer(frozenset({"Mr."})).words("Mr. Smith doesn't care: it's 3.5 miles!")
        ['Mr.', 'Smith', 'does', "n't", 'care', ':', 'it', "'s", '3.5', 'miles', '!']
        """
        return self._words(text, {})[0]

    def _words(self, text: str, known: dict[str, list[str]]) -> tuple[list[str], list[bool]]:
        """The words, and whether each has a blank before it; `known` remembers what stood between blanks."""
        words, spaced = list[str](), list[bool]()
        for piece in text.split():
            if piece not in known:
                known[piece] = self._piece(piece)
            words += known[piece]
            spaced += [True, *[False] * (len(known[piece]) - 1)]
        return words, spaced

    def _piece(self, piece: str) -> list[str]:
        """The words of what stands between blanks; the largest part that is to stay whole does."""
        if self.whole and not piece.isalnum():
            begins, ends = _marks(piece), _marks(piece[::-1])
            cuts = ((low, len(piece) - end) for low in range(begins + 1) for end in range(ends + 1))
            for low, high in sorted(cuts, key=lambda cut: cut[0] - cut[1]):
                if piece[low:high] in self.whole:
                    return [*self._by_rules(piece[:low]), piece[low:high], *self._by_rules(piece[high:])]
        return self._by_rules(piece)

    def _by_rules(self, piece: str) -> list[str]:
        words = list[str]()
        for match in _TOKEN.finditer(piece):
            word = match.group()
            if word == "." and words and self._takes_point(words[-1]):
                words[-1] += "."
            else:
                words += self._parts(word)
        return words

    def _takes_point(self, word: str) -> bool:
        return f"{word}." in self.abbreviations or (len(word) == 1 and word.isupper() and word != "I")

    def _parts(self, word: str) -> list[str]:
        if found := self.contractions.get(word.lower()):
            return _cut_like(word, found)
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
            "whole": sorted(self.whole),
            "firm": sorted(self.firm),
            "contractions": [[token, *parts] for token, parts in sorted(self.contractions.items())],
        }

    @classmethod
    def from_header(cls, header: dict[str, Any]) -> Tokenizer:
        """From a model file."""
        check_header(header, _HEADER)
        parted = {token: tuple(parts) for token, *parts in header.get("contractions", []) if parts}
        lists = (frozenset(header.get(name, ())) for name in ("abbreviations", "whole", "firm"))
        abbreviations, whole, firm = lists
        return cls(abbreviations, header["parts_hyphens"], header["rules"], whole, parted, firm)


_HEADER: dict[str, Check] = {
    "abbreviations": distinct_texts,
    "parts_hyphens": bool,
    "rules": bool,
    "whole?": distinct_texts,
    "firm?": distinct_texts,
    "contractions?": lists_of_texts,
}


def _contractions(
    rules: Tokenizer, words: Sequence[str], tokens: Iterable[Token]
) -> dict[str, tuple[str, ...]]:
    """Tokens of several words, in small letters, that rules do not part, and that are rarer as words."""
    single = Counter(map(str.lower, words))
    several = Counter((token.lower(), tuple(map(str.lower, parts))) for token, parts in tokens)
    found: dict[str, tuple[str, ...]] = {}
    for (token, parts), count in several.most_common():
        if count >= _LEAST and count > single[token] and rules.words(token) == [token]:
            found.setdefault(token, parts)
    return found


def _whole(rules: Tokenizer, words: Sequence[str]) -> frozenset[str]:
    """Words that rules would part, and that are seen more often than their parts in a row."""
    counts = Counter(words)
    often = [word for word, count in counts.items() if count >= _LEAST]
    parts = {word: tuple(found) for word in often if len(found := rules.words(word)) > 1}
    lengths = sorted({len(found) for found in parts.values()})
    wanted, rows = set(parts.values()), Counter[tuple[str, ...]]()
    for length in lengths:
        rows.update(row for row in zip(*(words[k:] for k in range(length)), strict=False) if row in wanted)
    return frozenset(word for word, found in parts.items() if counts[word] > rows[found])


def _firm(words: Sequence[str], begins: Collection[int]) -> frozenset[str]:
    """Marks of ends behind which small letters begin a sentence more often than they go on."""
    balance = Counter[str]()
    for at, (mark, after) in enumerate(pairwise(words), 1):
        if mark[0] in _ENDS and after[0].islower():
            balance[mark] += 1 if at in begins else -1
    return frozenset(mark for mark, excess in balance.items() if excess > 0)


def _marks(piece: str) -> int:
    """How many marks may be taken off its beginning."""
    count = 0
    while count < min(_MOST_MARKS, len(piece)) and not piece[count].isalnum():
        count += 1
    return count


def _cut_like(word: str, parts: tuple[str, ...]) -> list[str]:
    """Parts in small letters as the word writes them, where they are its letters in a row."""
    if "".join(parts) != word.lower():
        return list(parts)
    ends = [sum(map(len, parts[: k + 1])) for k in range(len(parts))]
    return [word[end - len(part) : end] for part, end in zip(parts, ends, strict=True)]


def _cut(words: list[str], spaced: list[bool], firm: frozenset[str]) -> Iterator[list[str]]:
    """Sentences: an end, marks that close right behind it, and a word that may begin one."""
    begin, end = 0, ""
    for at, word in enumerate(words):
        closes = word in _CLOSING and not spaced[at]
        if end and not closes and word[0] not in _ENDS:
            if end in firm or not word[0].islower():
                yield words[begin:at]
                begin = at
            end = ""
        if word[0] in _ENDS:
            end = word
    if words[begin:]:
        yield words[begin:]
