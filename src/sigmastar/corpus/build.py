"""Building a corpus: words are coded while they are read, and recoded once their counts are known.

    units of text   ->  first shards: codes in the order of first use in the shard, with the shard's own words
    words of all    ->  the vocabulary: frequent words first, rare ones in the unknown class
    first shards    ->  shards: codes of the vocabulary

Each file is read once, so that standard input will do, and each step leaves its result in a folder of its
own: a build that was stopped goes on where it was. A shard ends after 64 MB of text, or where it holds two
million different words, so that no step holds more of a large corpus than of a small one.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from sigmastar import __version__
from sigmastar.core.arrays import Array, Int32s
from sigmastar.core.atomic import atomic_write_bytes, atomic_write_pieces
from sigmastar.core.engines import Engine, Here, engine_of
from sigmastar.core.errors import InputError
from sigmastar.core.progress import Progress, silent, stage
from sigmastar.core.text_files import LeftOut, ReadingPolicy, reading_policy, use_policy
from sigmastar.corpus.manifest import (
    BUILD,
    MANIFEST,
    VOCABULARY,
    Manifest,
    ShardEntry,
    file_sum,
    little,
    token_type,
)
from sigmastar.corpus.reading import StringCorpus
from sigmastar.corpus.sources import (
    UNIT_BYTES,
    Source,
    Unit,
    as_header,
    blocks_of,
    lines_before,
    source_of,
    units_of,
)
from sigmastar.corpus.vocabulary import Chosen, choose_words
from sigmastar.corpus.words import Words, WordTable

_MOST_WORDS = 1 << 21  # different words of a first shard
_STEP = 1 << 20  # bytes that are coded at a time
_JOB = "job.json"  # in the folder of parts: all that the corpus depends on


@dataclass(frozen=True)
class BuildSettings:
    """What a corpus is to be.

    Parameters
    ----------
    characters : bool
        Whether every character is a symbol, instead of words between blanks.
    min_count : int
        Least count of a word of the vocabulary.
    max_size : int or None
        Most words of the vocabulary, the unknown class among them.
    unknown : str
        Name of the class of all other words.
    format : str or None
        Format of the files, "lines", "jsonl" or "parquet"; None: by their names.
    field : str or None
        Field of JSONL records, or column of Parquet, that holds the text.
    most_words : int
        Number of different words that are counted at a time; beyond it rare ones are forgotten.
    """

    characters: bool = False
    min_count: int = 1
    max_size: int | None = None
    unknown: str = "<unk>"
    format: str | None = None
    field: str | None = None
    most_words: int = 1 << 23


class FirstShard(NamedTuple):
    """What is known of a first shard."""

    name: str
    n_strings: int
    n_tokens: int


@dataclass(frozen=True)
class UnitDone:
    """What a unit gave."""

    shards: tuple[FirstShard, ...] = ()
    left_out: tuple[LeftOut, ...] = ()


@dataclass(frozen=True)
class _Site:
    """The folder where a corpus is made, and how."""

    folder: Path
    settings: BuildSettings
    policy: dict[str, Any] = field(default_factory=dict)

    @property
    def build(self) -> Path:
        return self.folder / BUILD


def build_corpus(
    paths: Sequence[str],
    folder: str | os.PathLike[str],
    settings: BuildSettings = BuildSettings(),  # noqa: B008 - it is frozen
    workers: int | None = None,
    client: Any = None,
    progress: Progress = silent,
) -> StringCorpus:
    """Build a corpus from files; one that was stopped goes on.

    Parameters
    ----------
    paths : sequence of str
        Files: text, gzip, zstandard, JSONL, Parquet; - is standard input.
    folder : path
        Folder to make.
    settings : BuildSettings
        What the corpus is to be.
    workers : int or None
        Number of processes on this machine.
    client : str or distributed.Client or None
        A Dask cluster that sees the same files, or the address of its scheduler.
    progress : callable
        Told what is being done.

    Returns
    -------
    StringCorpus
        The corpus.
    """
    sources, units = [source_of(path) for path in paths], units_of(paths, settings.format, settings.field)
    policy = reading_policy()
    site = _Site(Path(folder), settings, {"encoding": policy.encoding, "on_error": policy.on_error})
    job = {"sources": [list(s) for s in sources], "settings": asdict(settings), **site.policy}
    if begin_or_resume(site.folder, site.build, job):
        return StringCorpus.open(folder)
    engine: Engine = Here() if "-" in paths else engine_of(workers, client)
    with closing(engine):
        return _built(site, sources, units, engine, progress)


def _built(
    site: _Site, sources: Sequence[Source], units: Sequence[Unit], engine: Engine, progress: Progress
) -> StringCorpus:
    work = list(enumerate(units))
    done = engine.run(partial(_first_shards, site), work, _joined, stage(progress, 0.0, 0.7))
    reading_policy().left_out += done.left_out
    shards = [shard for shard in done.shards if shard.n_strings]
    if not shards:
        names = ", ".join(source.name for source in sources)
        raise InputError("nothing to build from: no strings were found", file=names)
    progress("vocabulary", 0.7)
    chosen = choose_words((_read_words(site, shard.name) for shard in shards), site.settings)
    entries = _recoded(site, shards, chosen, engine, stage(progress, 0.75, 1.0))
    _finish(site, sources, entries, chosen)
    return StringCorpus.open(site.folder)


def _joined(first: UnitDone, second: UnitDone) -> UnitDone:
    return UnitDone(first.shards + second.shards, first.left_out + second.left_out)


def _first_shards(site: _Site, work: tuple[int, Unit]) -> UnitDone:
    """Code one unit; what it gave stands in a file, by which it is known to be done."""
    number, unit = work
    ledger = site.build / f"unit-{number:05}.json"
    found = json.loads(ledger.read_text()) if ledger.exists() else {}
    if found.get("unit") == as_header(unit):  # another version may have cut files otherwise
        shards = tuple(FirstShard(*shard) for shard in found["shards"])
        return UnitDone(shards, tuple(LeftOut(*item) for item in found["left_out"]))
    with use_policy(ReadingPolicy(**site.policy)) as policy:
        try:
            shards = tuple(_coded(site, f"{number:05}", unit))
        except InputError as problem:
            raise _in_whole_file(problem, unit) from None
    before = lines_before(unit) if policy.left_out and unit.begin else 0
    left_out = tuple(item._replace(line=item.line + before) for item in policy.left_out)
    done = UnitDone(shards, left_out)
    content = {"unit": as_header(unit), "shards": done.shards, "left_out": done.left_out}
    atomic_write_bytes(ledger, json.dumps(content).encode())
    return done


def _in_whole_file(problem: InputError, unit: Unit) -> InputError:
    if problem.line is None or not unit.begin:
        return problem
    return InputError(problem.problem, file=problem.file, line=problem.line + lines_before(unit))


def _coded(site: _Site, name: str, unit: Unit) -> Iterator[FirstShard]:
    """First shards of one unit, each written before the next is begun."""
    blocks = _gathered(blocks_of(unit))
    for number, first in enumerate(blocks):
        table, lengths, shard = WordTable(), list[Int32s](), f"{name}-{number:03}"
        codes = _encoded(table, chain([first], blocks), lengths, site.settings.characters)
        atomic_write_pieces(site.build / f"{shard}.codes", codes)  # while they are made: a shard is not held
        yield _write_first(site, shard, table.words, lengths)


def _encoded(
    table: WordTable, blocks: Iterator[bytes], lengths: list[Int32s], characters: bool
) -> Iterator[memoryview]:
    """The codes of blocks until there are enough for a shard; the rest of the blocks is left."""
    n_bytes = 0
    for lines in blocks:
        codes, some = table.encode(lines, characters)
        lengths.append(some)
        n_bytes += len(lines)
        yield little(codes, "<i4")
        if n_bytes >= UNIT_BYTES or len(table) > _MOST_WORDS:
            return


def _gathered(blocks: Iterator[bytes]) -> Iterator[bytes]:
    """Blocks of whole lines, put together to pieces that are worth a call."""
    waiting, size = list[bytes](), 0
    for block in blocks:
        waiting.append(block)
        size += len(block)
        if size >= _STEP:
            yield b"".join(waiting)
            waiting, size = [], 0
    if size:
        yield b"".join(waiting)


def _write_first(site: _Site, name: str, words: Words, lengths: list[Int32s]) -> FirstShard:
    n_tokens, n_strings = sum(int(part.sum()) for part in lengths), sum(map(len, lengths))
    atomic_write_pieces(site.build / f"{name}.lengths", (little(part, "<i4") for part in lengths))
    for ending, array, kind in zip(("text", "starts", "counts"), words, ("|u1", "<i8", "<i8"), strict=True):
        atomic_write_pieces(site.build / f"{name}.{ending}", [little(array, kind)])
    return FirstShard(name, n_strings, n_tokens)


def _read_words(site: _Site, name: str) -> Words:
    def read(ending: str, kind: str) -> Array:
        return np.fromfile(site.build / f"{name}.{ending}", kind)

    return Words(read("text", "|u1"), read("starts", "<i8"), read("counts", "<i8"))


def _recoded(
    site: _Site, shards: Sequence[FirstShard], chosen: Chosen, engine: Engine, progress: Progress
) -> tuple[ShardEntry, ...]:
    kind = token_type(len(chosen.words))
    for shard in shards:
        file = site.build / f"{shard.name}.map"
        atomic_write_pieces(file, [little(chosen.codes_of(_read_words(site, shard.name)), "<i4")])
    work = [(number, shard) for number, shard in enumerate(shards)]
    return engine.run(partial(_recode, site, kind), work, _concatenated, progress)


def _concatenated(first: tuple[ShardEntry, ...], second: tuple[ShardEntry, ...]) -> tuple[ShardEntry, ...]:
    return first + second


def _recode(site: _Site, kind: str, work: tuple[int, FirstShard]) -> tuple[ShardEntry, ...]:
    """One shard with the codes of the vocabulary; a file says that it is done."""
    number, shard = work
    name, ledger = f"{number:05}", site.build / f"shard-{number:05}.json"
    if ledger.exists():
        return (ShardEntry(**json.loads(ledger.read_text())),)
    table = np.fromfile(site.build / f"{shard.name}.map", "<i4").astype(kind)
    lengths = np.fromfile(site.build / f"{shard.name}.lengths", "<i4")
    tokens, offsets = site.folder / f"{name}.tokens", site.folder / f"{name}.offsets"
    with open(site.build / f"{shard.name}.codes", "rb") as stream:
        steps = (np.fromfile(stream, "<i4", _STEP) for _ in range(0, shard.n_tokens, _STEP))
        atomic_write_pieces(tokens, (little(table[codes], kind) for codes in steps))
    atomic_write_pieces(offsets, [little(np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]), "<i8")])
    entry = ShardEntry(name, shard.n_strings, shard.n_tokens, file_sum(tokens), file_sum(offsets))
    atomic_write_bytes(ledger, json.dumps(asdict(entry)).encode())
    return (entry,)


def _finish(site: _Site, sources: Sequence[Any], entries: tuple[ShardEntry, ...], chosen: Chosen) -> None:
    words, file = chosen.words, site.folder / VOCABULARY
    lines = (b"%s\t%d\n" % (words.spelled(k), words.counts[k]) for k in range(len(words)))
    atomic_write_pieces(file, lines)
    described = tuple({"name": Path(source.name).name, "size": source.size} for source in sources)
    settings = asdict(replace(site.settings))
    found = {**chosen.found, "sigmastar": __version__}
    kind = token_type(len(words))
    Manifest(kind, len(words), file_sum(file), entries, settings, described, found).write(site.folder)
    _clear(site.build)


def _clear(build: Path) -> None:
    """Remove the parts of a build, and last its job: by that a run that was stopped here knows its corpus."""
    for path in build.glob("*"):
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        elif path.name != _JOB:
            path.unlink(missing_ok=True)
    shutil.rmtree(build, ignore_errors=True)


def begin_or_resume(folder: Path, build: Path, job: Mapping[str, Any]) -> bool:
    """Make the folder, or find in it what the same build left.

    Parameters
    ----------
    folder, build : Path
        Where the corpus is to be, and the folder in it that holds parts until all is done.
    job : mapping
        All that the corpus depends on.

    Returns
    -------
    bool
        Whether what is there is the whole corpus.
    """
    known, file = json.dumps(job, sort_keys=True), build / _JOB
    same = file.exists() and file.read_text() == known and "standard input" not in known
    if (folder / MANIFEST).exists():
        _clear(build)  # it was stopped between its last file and this
        if same:
            return True
        raise InputError("holds a corpus already; remove it, or choose another folder", file=str(folder))
    if not file.exists() and any(path != build for path in folder.glob("*")):
        raise InputError("is not empty; choose another folder", file=str(folder))
    if file.exists() and not same:
        shutil.rmtree(build)  # other files or settings: nothing of it can be used
    try:
        build.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        why = "is a file; choose another name" if folder.is_file() else f"cannot be made: {problem.strerror}"
        raise InputError(why, file=str(folder)) from None
    atomic_write_bytes(file, known.encode())
    return False
