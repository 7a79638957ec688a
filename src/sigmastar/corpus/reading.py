"""Reading a corpus from its folder: shards are mapped into memory, never read whole."""

from __future__ import annotations

import os
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np

from sigmastar.core.alphabet import Alphabet
from sigmastar.core.arrays import Array, Int64s
from sigmastar.core.errors import InputError
from sigmastar.corpus.manifest import VOCABULARY, Manifest, ShardEntry, file_sum

_AGAIN = "build the corpus again from its sources"


class Shard(NamedTuple):
    """The codes of some strings, and where each begins, with the end added; mapped from the disk."""

    codes: Array
    offsets: Int64s


@dataclass(frozen=True, eq=False)
class StringCorpus:
    """Strings on disk, in shards of integers, as `sigmastar corpus build` makes them.

    Parameters
    ----------
    folder : Path
        Where it lies.
    manifest : Manifest
        What it holds.
    """

    folder: Path
    manifest: Manifest

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> StringCorpus:
        """Open a corpus; files that are missing or of another size than they should be are refused.

        Parameters
        ----------
        path : path
            Its folder.

        Returns
        -------
        StringCorpus
            The corpus; nothing but its manifest has been read.
        """
        folder = Path(path)
        manifest = Manifest.read(folder)
        corpus = cls(folder, manifest)
        for shard in manifest.shards:
            corpus._require_size(shard, "tokens", shard.n_tokens * np.dtype(manifest.token_type).itemsize)
            corpus._require_size(shard, "offsets", (shard.n_strings + 1) * 8)
        return corpus

    def __fspath__(self) -> str:
        """An open corpus may stand wherever its folder may."""
        return str(self.folder)

    def _require_size(self, shard: ShardEntry, part: str, n_bytes: int) -> None:
        file = self.folder / f"{shard.name}.{part}"
        try:
            size = file.stat().st_size
        except OSError:
            raise InputError(f"is missing; {_AGAIN}", file=str(file)) from None
        if size != n_bytes:
            raise InputError(f"has {size} bytes where {n_bytes} belong; {_AGAIN}", file=str(file))

    @cached_property
    def alphabet(self) -> Alphabet:
        """The vocabulary, most frequent words first."""
        return Alphabet(word for word, _ in self.vocabulary())

    def vocabulary(self) -> Iterator[tuple[str, int]]:
        """Words with their counts, most frequent first."""
        file = self.folder / VOCABULARY
        try:
            lines = file.read_bytes().decode().split("\n")[:-1]
            entries = [line.rpartition("\t") for line in lines]
            found = [(word, int(count)) for word, _, count in entries]
        except (OSError, ValueError):
            raise InputError(f"is missing or damaged; {_AGAIN}", file=str(file)) from None
        if len(found) != self.manifest.n_words:
            raise InputError(f"has {len(found)} words, not {self.manifest.n_words}; {_AGAIN}", file=str(file))
        if len({word for word, _ in found}) < len(found):
            raise InputError(f"has a word twice; {_AGAIN}", file=str(file))
        yield from found

    def __len__(self) -> int:
        """Number of strings."""
        return self.manifest.n_strings

    @property
    def n_symbols(self) -> int:
        """Number of symbols in all strings."""
        return self.manifest.n_tokens

    @property
    def n_gaps(self) -> int:
        """Number of places before, between and after symbols."""
        return self.n_symbols + len(self)

    @property
    def n_shards(self) -> int:
        """Number of shards."""
        return len(self.manifest.shards)

    def shard(self, number: int) -> Shard:
        """A shard, mapped into memory; codes and offsets that would lead astray are refused.

        Parameters
        ----------
        number : int
            Which one, from 0.

        Returns
        -------
        Shard
            Its arrays, which cannot be written.
        """
        shard = self._raw(number)
        for fault in self._faults(shard, str(self.folder / self.manifest.shards[number].name)):
            raise fault
        return shard

    def parts(self, most_gaps: int) -> list[tuple[int, int, int]]:
        """Shards and ranges of their strings, of about as many gaps: pieces of work of any job.

        Parameters
        ----------
        most_gaps : int
            Of a piece, but for its last string.

        Returns
        -------
        list of tuple
            For `part`. The number of workers has no part in it; few offsets of a shard are looked at.
        """
        parts = list[tuple[int, int, int]]()
        for number, shard in enumerate(self.manifest.shards):
            n_gaps = shard.n_tokens + shard.n_strings
            n_parts, before = -(-n_gaps // most_gaps), partial(_gaps_before, self.offsets(number))
            cuts = [n_gaps * part // n_parts for part in range(1, n_parts)]
            edges = [0, *(bisect_left(range(shard.n_strings), cut, key=before) for cut in cuts)]
            parts += [(number, a, b) for a, b in pairwise([*edges, shard.n_strings]) if a < b]
        return parts

    def part(self, number: int, begin: int, end: int) -> Shard:
        """Some strings of one shard, one after the other.

        Parameters
        ----------
        number, begin, end : int
            The shard, and a range of its strings.

        Returns
        -------
        Shard
            Its arrays; those of codes are mapped.
        """
        codes, offsets = self.shard(number)
        inside = offsets[begin : end + 1]
        return Shard(codes[inside[0] : inside[-1]] if len(inside) else codes[:0], inside - inside[:1])

    def offsets(self, number: int) -> Int64s:
        """Where the strings of a shard begin, with the end added: mapped, and not looked through."""
        entry = self.manifest.shards[number]
        return self._mapped(f"{entry.name}.offsets", "<i8", entry.n_strings + 1)

    def _raw(self, number: int) -> Shard:
        entry = self.manifest.shards[number]
        codes = self._mapped(f"{entry.name}.tokens", self.manifest.token_type, entry.n_tokens)
        return Shard(codes, self.offsets(number))

    def _mapped(self, name: str, kind: str, size: int) -> Array:
        if not size:  # nothing cannot be mapped
            return np.zeros(0, kind)
        return np.memmap(self.folder / name, kind, "r", shape=(size,)).view(np.ndarray)

    def problems(self) -> Iterator[InputError]:
        """Everything that is wrong with the files: their checksums, offsets that fall, codes of no word."""
        if file_sum(self.folder / VOCABULARY) != self.manifest.vocabulary_sha256:
            yield InputError(
                f"is damaged: its checksum is another; {_AGAIN}", file=str(self.folder / VOCABULARY)
            )
        for number, entry in enumerate(self.manifest.shards):
            sums = {"tokens": entry.tokens_sha256, "offsets": entry.offsets_sha256}
            for part, expected in sums.items():
                file = self.folder / f"{entry.name}.{part}"
                if file_sum(file) != expected:
                    yield InputError(f"is damaged: its checksum is another; {_AGAIN}", file=str(file))
            yield from self._faults(self._raw(number), str(self.folder / entry.name))

    def _faults(self, shard: Shard, name: str) -> Iterator[InputError]:
        if shard.offsets[0] or shard.offsets[-1] != len(shard.codes) or (np.diff(shard.offsets) < 0).any():
            yield InputError(f"its strings do not lie one after the other; {_AGAIN}", file=f"{name}.offsets")
        if len(shard.codes) and not 0 <= shard.codes.min() <= shard.codes.max() < self.manifest.n_words:
            yield InputError(f"holds codes of no word; {_AGAIN}", file=f"{name}.tokens")


def _gaps_before(offsets: Int64s, string: int) -> int:
    return int(offsets[string]) + string


def open_corpus(path: str | os.PathLike[str]) -> StringCorpus:
    """Open a corpus that `sigmastar corpus build` made.

    Parameters
    ----------
    path : path
        Its folder.

    Returns
    -------
    StringCorpus
        The corpus, to be given to `fit` of estimators of strings.
    """
    return StringCorpus.open(path)


@lru_cache(maxsize=2)
def opened(folder: str, digest: str) -> StringCorpus:
    """A worker reads the vocabulary once, not with every shard; a corpus that has changed is refused."""
    corpus = StringCorpus.open(folder)
    if corpus.manifest.digest != digest:
        raise InputError("has changed while it was read; start again", file=folder)
    return corpus
