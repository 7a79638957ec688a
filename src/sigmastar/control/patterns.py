"""Regular expressions over symbols.

    a b        one after the other            a*   a+   a?        any number, at least one, at most one
    a | b      either                         a{3} a{2,} a{2,5}   so many
    .          any symbol                     [a b]   [^ a b]     one of these, any but these
    ( .. )     a group                        \\.   "U.S."         a symbol with special characters

An expression describes whole strings: `.* a .*` is "contains a". Symbols are divided by blanks; where every
symbol is one character none are needed, `[a-z]` is a range, and a blank is a symbol if the alphabet has it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from sigmastar.core.alphabet import Alphabet, written_codes
from sigmastar.core.errors import InputError, UnknownSymbolError

MOST_POSITIONS = 5_000
DEEPEST = 100  # groups inside groups
_SPECIAL = "()[]{}|*+?."
_COUNTS = re.compile(r"\{(\d+)(,(\d*))?\}")


@dataclass(frozen=True)
class Token:
    """A symbol, or a sign of the language of expressions, and where it stands."""

    text: str
    is_symbol: bool
    at: int


def tokens(pattern: str, characters: bool, alphabet: Alphabet) -> Iterator[Token]:
    """The symbols and signs of an expression."""
    at = 0
    while at < len(pattern):
        begin, sign = at, pattern[at]
        if counts := _COUNTS.match(pattern, at):
            at = counts.end()
            yield Token(counts.group(), False, begin)
        elif sign in _SPECIAL:
            at += 1
            yield Token(sign, False, begin)
        elif sign == '"':
            close = pattern.find('"', at + 1)
            if close < 0:
                raise InputError(f'{pattern!r}: the " at character {at + 1} is not closed')
            at = close + 1
            yield Token(pattern[begin + 1 : close], True, begin)
        elif sign.isspace() and not (characters and sign in alphabet):
            at += 1
        else:
            text, at = _symbol(pattern, at, characters)
            yield Token(text, True, begin)


def _symbol(pattern: str, at: int, characters: bool) -> tuple[str, int]:
    """A run of plain characters, or one where every symbol is one; a backslash makes any character plain."""
    text = ""
    while at < len(pattern):
        sign = pattern[at]
        if sign == "\\":
            if at + 1 == len(pattern):
                raise InputError(f"{pattern!r} ends with a backslash; write \\\\ for a backslash")
            at, sign = at + 1, pattern[at + 1]
        elif text and (sign in _SPECIAL or sign == '"' or sign.isspace()):
            break
        text, at = text + sign, at + 1
        if characters:
            break
    return text, at


@dataclass
class Part:
    """A part of an expression: positions where it may begin and end, as bits, and whether it may be empty."""

    starts: int
    ends: int
    empty: bool


@dataclass
class Positions:
    """The positions of an expression: symbols that each may read, and positions that may follow it."""

    symbols: list[frozenset[int]] = field(default_factory=list)  # codes
    is_negated: list[bool] = field(default_factory=list)
    follows: list[int] = field(default_factory=list)

    def one_of(self, codes: frozenset[int], negated: bool = False) -> Part:
        if len(self.follows) >= MOST_POSITIONS:
            raise InputError(f"the expression has more than {MOST_POSITIONS} positions; use smaller counts")
        self.symbols.append(codes)
        self.is_negated.append(negated)
        self.follows.append(0)
        bit = 1 << (len(self.follows) - 1)
        return Part(bit, bit, False)

    def link(self, ends: int, starts: int) -> None:
        while ends:
            low = ends & -ends
            self.follows[low.bit_length() - 1] |= starts
            ends ^= low

    def joined(self, first: Part, second: Part) -> Part:
        self.link(first.ends, second.starts)
        return Part(
            first.starts | (second.starts if first.empty else 0),
            second.ends | (first.ends if second.empty else 0),
            first.empty and second.empty,
        )

    def repeated(self, inner: Part, empty: bool) -> Part:
        self.link(inner.ends, inner.starts)
        return Part(inner.starts, inner.ends, empty or inner.empty)


_NOTHING = Part(0, 0, True)


class Reader:
    """Reads one expression into positions, by recursive descent."""

    def __init__(self, pattern: str, alphabet: Alphabet, characters: bool) -> None:
        self.pattern, self.alphabet, self.characters = pattern, alphabet, characters
        self.codes = written_codes(alphabet)
        self.tokens = list(tokens(pattern, characters, alphabet))
        self.at, self.depth = 0, 0
        self.positions = Positions()

    def read(self) -> Part:
        whole = self._either()
        if self.at < len(self.tokens):
            raise self._problem(f"{self.tokens[self.at].text!r} without a beginning")
        return whole

    def _sign(self) -> str:
        """The sign that stands here, or nothing."""
        token = self.tokens[self.at] if self.at < len(self.tokens) else None
        return "" if token is None or token.is_symbol else token.text

    def _problem(self, what: str) -> InputError:
        where = self.tokens[self.at].at + 1 if self.at < len(self.tokens) else len(self.pattern) + 1
        return InputError(f"constraint {self.pattern!r}, character {where}: {what}")

    def _either(self) -> Part:
        found = self._sequence()
        while self._sign() == "|":
            self.at += 1
            other = self._sequence()
            found = Part(found.starts | other.starts, found.ends | other.ends, found.empty or other.empty)
        return found

    def _sequence(self) -> Part:
        found = _NOTHING
        while self.at < len(self.tokens) and self._sign() not in ("|", ")"):
            found = self.positions.joined(found, self._counted())
        return found

    def _counted(self) -> Part:
        begin, n_before = self.at, len(self.positions.follows)
        found = self._atom()
        while (sign := self._sign()) and (sign in "*+?" or (sign[0] == "{" and len(sign) > 1)):
            end = self.at
            if sign[0] == "{":
                low, high = self._counts(sign)
                if len(self.positions.follows) > n_before:  # copies of nothing are nothing
                    found = self._copies(begin, end, found, low, high)
            elif sign == "?":
                found = Part(found.starts, found.ends, True)
            else:
                found = self.positions.repeated(found, sign == "*")
            self.at = end + 1
        return found

    def _counts(self, sign: str) -> tuple[int, int | None]:
        """The least and the largest number of copies."""
        match = _COUNTS.fullmatch(sign)
        assert match is not None
        if max(len(match[1]), len(match[3] or "")) > len(str(MOST_POSITIONS)):
            raise self._problem(f"a count of more than {MOST_POSITIONS}; use smaller ones")
        low = int(match[1])
        high = low if match[2] is None else int(match[3]) if match[3] else None
        if high is not None and high < low:
            raise self._problem(f"{sign} asks for at least {low} and at most {high}")
        return low, high

    def _copies(self, begin: int, end: int, first: Part, low: int, high: int | None) -> Part:
        """So many copies of the tokens from `begin` to `end`, `x x (x (x)?)?`; `first` has been read."""
        n_copies = max(low, 1) if high is None else high
        copies = [first, *(self._again(begin, end) for _ in range(n_copies - 1))][:n_copies]
        if high is None:
            copies[-1] = self.positions.repeated(copies[-1], low == 0)
        found = _NOTHING
        for number in reversed(range(n_copies)):  # so each copy is linked to the next one, not to all
            found = self.positions.joined(copies[number], found)
            found.empty = found.empty or number >= low
        return found

    def _again(self, begin: int, end: int) -> Part:
        """Read an atom and its counts once more."""
        tokens, self.at = self.tokens, begin
        self.tokens = tokens[:end]
        found = self._counted()
        self.tokens = tokens
        return found

    def _atom(self) -> Part:
        sign = self._sign()
        if sign == "(":
            return self._group()
        if sign == "[":
            return self._one_of_several()
        if sign not in ("", "."):
            raise self._problem(f"{sign!r} with nothing before it to count" if sign in "*+?" else f"{sign!r}")
        if self.at == len(self.tokens):
            raise self._problem("the expression ends too early")
        token = self.tokens[self.at]
        self.at += 1
        return self.positions.one_of(frozenset() if sign else frozenset([self._code(token)]), bool(sign))

    def _group(self) -> Part:
        self.depth += 1
        if self.depth > DEEPEST:
            raise self._problem(f"groups are nested more than {DEEPEST} deep; write fewer brackets")
        self.at += 1
        found = self._either()
        if self._sign() != ")":
            raise self._problem("a ( is not closed")
        self.at, self.depth = self.at + 1, self.depth - 1
        return found

    def _one_of_several(self) -> Part:
        self.at += 1
        names = list[Token]()
        while self._sign() != "]":
            if self.at == len(self.tokens):
                raise self._problem("a [ is not closed")
            token = self.tokens[self.at]
            names.append(token)
            self.at += 1
        self.at += 1
        negated = bool(names) and names[0].is_symbol and names[0].text.startswith("^")
        if negated:
            rest = names[0].text[1:]
            names = ([Token(rest, True, names[0].at)] if rest else []) + names[1:]
        return self.positions.one_of(frozenset(self._codes_of(names)), negated)

    def _codes_of(self, names: list[Token]) -> Iterator[int]:
        at = 0
        while at < len(names):
            if self.characters and at + 2 < len(names) and names[at + 1].text == "-":
                low, high = names[at].text, names[at + 2].text
                yield from (code for text, code in self.codes.items() if low <= text <= high)
                at += 3
            else:
                yield self._code(names[at])
                at += 1

    def _code(self, token: Token) -> int:
        if token.text not in self.codes:
            hint = "" if self.characters else "; symbols are divided by blanks"
            raise UnknownSymbolError(
                f"constraint {self.pattern!r}: {token.text!r} is not among the {len(self.alphabet)} symbols"
                f" of the model{hint}"
            )
        return self.codes[token.text]
