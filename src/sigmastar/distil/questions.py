"""Questions to a black box: in batches, each asked once, within a budget, with a cache on disk.

A question is a string (of a black box that scores) or a prefix (of one that tells what comes next). One that
was answered before is not asked again: in this run it costs nothing; in the file, it counts once as if it
were asked, so that a run that was interrupted ends as it would have.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from sigmastar.automata.data.strings import Corpus, PrefixTrie, Strings, as_strings
from sigmastar.core.alphabet import Alphabet
from sigmastar.core.arrays import Array, Floats, Indices, Int32s
from sigmastar.core.errors import InputError
from sigmastar.core.progress import Progress, silent
from sigmastar.distil.answer_files import AnswerFile, RecordedBox, keys_of
from sigmastar.distil.black_box import (
    NextSymbols,
    alphabet_of,
    as_black_box,
    checked_rows,
    checked_scores,
    rows_of,
)

BATCH = 4096
_CELLS = 1 << 22  # probabilities of one answer at a time
_MOST_CELLS = 1 << 25  # that are remembered
_LANGUAGE_MODEL = "DistilledAutomaton (`distil --task next`) is for those"
_CLASSIFIER = "DistilledClassifier (`distil --task classify`) is for those"


class BudgetError(InputError):
    """More questions than `max_queries` allows."""


@dataclass(frozen=True)
class QueryReport:
    """What was asked.

    Parameters
    ----------
    n_queries : int
        Number of answers that the black box gave.
    n_remembered : int
        Number of questions that were answered by the cache.
    max_queries : int or None
        The budget.
    """

    n_queries: int
    n_remembered: int
    max_queries: int | None

    def __str__(self) -> str:
        budget = "" if self.max_queries is None else f" of {self.max_queries}"
        return f"{self.n_queries}{budget} queries, {self.n_remembered} answers remembered"


class Questions:
    """A black box that is asked in batches.

    Parameters
    ----------
    source : object
        What `as_black_box` takes.
    max_queries : int, optional
        Number of answers that may be asked for; more raise `BudgetError`.
    cache : path, optional
        A file that keeps the answers.
    progress : callable, optional
        Called with what is being done.

    Attributes
    ----------
    alphabet : Alphabet
        The symbols; strings are handed over in them, and are coded here.
    tells_next : bool
        Whether the black box tells what comes next; otherwise it gives scores.
    seconds : float
        How long the black box took so far.
    """

    def __init__(
        self,
        source: Any,
        max_queries: int | None = None,
        cache: str | os.PathLike[str] | None = None,
        progress: Progress | None = None,
    ) -> None:
        self.box = as_black_box(source)
        self.alphabet, self.progress = alphabet_of(self.box), progress or silent
        self.tells_next = isinstance(self.box, NextSymbols)
        self.max_queries, self.n_queries, self.n_remembered = max_queries, 0, 0
        self.n_read, self._unread = 0, set[bytes]()  # of the file: answers that were used, and the others
        self.seconds = 0.0
        asks = "next" if self.tells_next else "scores"
        self._file = None if cache is None else AnswerFile(cache, asks, self.alphabet)
        self._known: dict[bytes, Floats] = {}
        if self._file is not None:
            for strings, answers in self._file.read():
                self._known.update(zip(keys_of(strings), answers, strict=True))
        self._unread.update(self._known)

    @property
    def report(self) -> QueryReport:
        """What was asked so far."""
        return QueryReport(self.n_queries, self.n_remembered, self.max_queries)

    @property
    def left(self) -> float:
        """How many questions the budget still allows; what the file answered counts."""
        return np.inf if self.max_queries is None else self.max_queries - self.n_queries - self.n_read

    @property
    def is_incremental(self) -> bool:
        """Whether prefixes can be read on from where they are."""
        return self._file is None and hasattr(self.box, "start") and hasattr(self.box, "step")

    @property
    def is_recorded(self) -> bool:
        """Whether only some strings can be asked."""
        return isinstance(self.box, RecordedBox)

    def coded(self, strings: Corpus) -> Strings:
        """Strings over the alphabet of the black box."""
        return as_strings(strings, alphabet=self.alphabet, remedy="leave such strings out")

    def scores(self, strings: Corpus) -> Floats:
        """The number of each string."""
        if self.tells_next:
            raise InputError(f"this black box tells what comes next and gives no scores; {_LANGUAGE_MODEL}")
        return self._remembered(self.coded(strings))[:, 0]

    def next_distributions(self, prefixes: Corpus) -> Floats:
        """What comes after each prefix, a row each: the symbols, then the end."""
        self.require_next()
        return self._remembered(self.coded(prefixes))

    def along(self, trie: PrefixTrie) -> Floats:
        """What comes after every node of a trie of coded strings."""
        self.require_next()
        reads_whole = hasattr(self.box, "distributions_along") and self._file is None
        if not self.is_incremental and not reads_whole:
            return self._remembered(prefixes_of(trie, self))
        self.spend(trie.n_nodes)
        if self.is_incremental:
            return np.concatenate([rows for _, rows in self.levels(trie, free=True)])
        return self._along_strings(trie)

    def answered(self, method: str, *arguments: Any) -> Any:
        """What a method of the black box gives; what goes wrong inside it is told as its own failure."""
        begin = time.perf_counter()
        try:
            return getattr(self.box, method)(*arguments)
        except InputError:
            raise
        except Exception as problem:
            kind = type(problem).__name__
            raise InputError(f"the black box failed, in {method}: {kind}: {problem}") from problem
        finally:
            self.seconds += time.perf_counter() - begin

    def start(self, n: int) -> tuple[Any, Floats]:
        """The states and rows of empty prefixes, of a black box that reads on."""
        return self._reached(self.answered("start", n), n)

    def step(self, states: Any, symbols: Array) -> tuple[Any, Floats]:
        """The states and rows of prefixes with a symbol more each, of a black box that reads on."""
        return self._reached(self.answered("step", states, symbols), len(symbols))

    def _reached(self, answer: Any, n: int) -> tuple[Any, Floats]:
        if not isinstance(answer, (tuple, list)) or len(answer) != 2:
            raise InputError("start(n) and step(states, symbols) of the black box must give (states, rows)")
        return answer[0], checked_rows(answer[1], n, len(self.alphabet) + 1)

    def levels(self, trie: PrefixTrie, free: bool = False) -> Iterator[tuple[Any, Floats]]:
        """States and rows of the nodes of each level, of a black box that reads on."""
        if not free:
            self.spend(trie.n_nodes)
        states, rows = self.start(1)
        yield states, rows
        for depth in range(1, len(trie.level_starts) - 1):
            level = slice(trie.level_starts[depth], trie.level_starts[depth + 1])
            above = trie.parent[level] - trie.level_starts[depth - 1]
            states, rows = self.step(rows_of(states, above), trie.symbol[level])
            yield states, rows

    def _along_strings(self, trie: PrefixTrie) -> Floats:
        columns = len(self.alphabet) + 1
        found = np.empty((trie.n_nodes, columns))
        leaf = np.ones(trie.n_nodes, dtype=bool)
        leaf[trie.parent[1:]] = False
        leaves = np.flatnonzero(leaf)
        strings = strings_of(trie, leaves, self.alphabet)
        for first in range(0, len(leaves), 512):
            some = strings.select(np.arange(first, min(first + 512, len(leaves))))
            self.progress("asking", first / len(leaves))
            answers = self.answered("distributions_along", list(some))
            found[_path_nodes(trie, leaves[first : first + 512])] = checked_rows(
                np.concatenate(list(answers)), some.n_gaps, columns
            )
        return found

    def _remembered(self, strings: Strings) -> Floats:
        """Answers to strings in any number and with repetitions."""
        keys = list(keys_of(strings))
        new = {key: row for row, key in reversed(list(enumerate(keys))) if key not in self._known}
        self.n_remembered += len(keys) - len(new)
        read = self._unread.intersection(keys)
        self.spend(len(new), len(read))
        self._unread -= read
        if self._file is None and len(self._known) * (len(self.alphabet) + 1) > _MOST_CELLS:
            self._known = {key: self._known[key] for key in keys if key in self._known}
        asked, size = np.array(sorted(new.values()), dtype=np.int64), self._batch
        for first in range(0, len(asked), size):
            self.progress("asking", first / len(asked))
            self._ask(strings.select(asked[first : first + size]))
        width = len(self.alphabet) + 1 if self.tells_next else 1
        return np.array([self._known[key] for key in keys]).reshape(len(keys), width)

    @property
    def _batch(self) -> int:
        return max(1, min(BATCH, _CELLS // (len(self.alphabet) + 1))) if self.tells_next else BATCH

    def _ask(self, strings: Strings) -> None:
        texts = list(strings)
        if self.tells_next:
            told = self.answered("next_distributions", texts)
            answers = checked_rows(told, len(texts), len(self.alphabet) + 1)
        else:
            answers = checked_scores(self.answered("scores", texts), len(texts))[:, None]
        if self._file is not None:
            self._file.append(strings, answers)
        self._known.update(zip(keys_of(strings), answers, strict=True))

    def spend(self, n_queries: int, n_read: int = 0) -> None:
        """Count answers, and those that a file gave, against the budget."""
        if n_queries + n_read > self.left:
            raise BudgetError(
                f"{n_queries + n_read} questions more exceed max_queries={self.max_queries}, "
                f"of which {self.n_queries + self.n_read} are spent"
            )
        self.n_queries, self.n_read = self.n_queries + n_queries, self.n_read + n_read

    def require_next(self) -> None:
        """Refuse a black box that gives scores alone."""
        if not self.tells_next:
            raise InputError(f"this black box gives scores and does not tell what comes next; {_CLASSIFIER}")


def prefixes_of(trie: PrefixTrie, questions: Questions) -> Strings:
    """Every node of a trie as a string."""
    return strings_of(trie, np.arange(trie.n_nodes), questions.alphabet)


def strings_of(trie: PrefixTrie, nodes: Indices, alphabet: Alphabet) -> Strings:
    """Some nodes of a trie as strings."""
    depths = depths_of(trie)[nodes]
    offsets = np.concatenate([[0], np.cumsum(depths, dtype=np.int64)])
    codes, above = np.empty(offsets[-1], np.int32), np.array(nodes)
    for back in range(int(depths.max(initial=0))):
        alive = back < depths
        codes[offsets[1:][alive] - 1 - back] = trie.symbol[above[alive]]
        above[alive] = trie.parent[above[alive]]
    return Strings(alphabet, codes, offsets)


def depths_of(trie: PrefixTrie) -> Int32s:
    """The length of each prefix of a trie."""
    depths = np.arange(len(trie.level_starts) - 1, dtype=np.int32)
    return np.repeat(depths, np.diff(trie.level_starts))


def _path_nodes(trie: PrefixTrie, leaves: Indices) -> Indices:
    """The nodes from the root to each leaf, one path after the other."""
    depths = depths_of(trie)[leaves]
    ends = np.cumsum(depths + 1)
    nodes, above = np.empty(ends[-1], np.int64), np.array(leaves)
    for back in range(int(depths.max()) + 1):
        alive = back <= depths
        nodes[ends[alive] - 1 - back] = above[alive]
        above[alive] = trie.parent[above[alive]]
    return nodes
