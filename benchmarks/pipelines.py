"""How fast and how well does a pipeline parse raw text?

`Pipeline` as it ships learns from the training part of EWT, alone (unit `treebank`) and with about 7 million
words of raw text beside it (unit `treebank and text`); it is saved and loaded, as `sigmastar learn pipeline`
and `sigmastar predict` do. From words: tags, heads and relations of the development part, given its words
alone; the same parser is also given the gold tags. Tokens per second are of processor time on one thread,
from raw text to a file in CoNLL-U: tokenizer, tagger, parser, writing. The treebank keeps no blanks, so that
raw text is made of its words by rules, a sentence per line; what the tokenizer loses of real text is not
measured here. The development part is the one that settings were chosen on.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from benchmarks.corpora import require_folder
from benchmarks.harness import Finding, Question, Row, Settings, Target, Timing, timed
from sigmastar import Pipeline, load
from sigmastar.core.progress import counted
from sigmastar.core.resources import limited_threads
from sigmastar.core.text_files import open_text
from sigmastar.dependency import DependencyTreebank, attachment, read_treebank, write_conllu

ALONE, WITH_TEXT = "treebank", "treebank and text"
TEXTS = ("wikitext-2/train", "text/abc", "text/brown", "text/reuters21578", "text/state_union")
N_SEEDS, N_RUNS, EVERY_QUICK = 3, 5, 16
N_WARM = 60  # sentences that kernels are compiled on
_CLOSING = frozenset(".,:;!?)]}%") | {"...", "'s", "'S", "n't", "'re", "'ve", "'ll", "'d", "'m"}
_OPENING = frozenset("([{$#")


def units(settings: Settings) -> list[str]:
    require_folder(settings, "ud")
    return [ALONE] if settings.quick else [ALONE, WITH_TEXT]


def files(unit: str, settings: Settings) -> list[Path]:
    folder = require_folder(settings, "ud")
    treebanks = [folder / f"en_ewt-{part}.conllu.gz" for part in ("train", "dev")]
    if unit == ALONE:
        return treebanks
    return [
        *treebanks,
        *(require_folder(settings, name.split("/")[0]).parent / f"{name}.txt.gz" for name in TEXTS),
    ]


def measure(unit: str, settings: Settings) -> Iterator[Row]:
    paths = files(unit, settings)
    train, gold = (read_treebank(path) for path in paths[:2])
    texts = ["".join(open_text(path)) for path in paths[2:]] or None
    Pipeline(n_jobs=1).fit(train.select(np.arange(N_WARM)))  # compiles
    if settings.quick:
        train = train.select(np.arange(0, len(train), EVERY_QUICK))
    for number in range(1 if settings.quick else N_SEEDS):
        seed = settings.seed + number
        pipeline = Pipeline(random_state=seed, n_jobs=1)
        _, training = timed(lambda pipeline=pipeline: pipeline.fit(train, text=texts))  # type: ignore[misc]
        with TemporaryDirectory() as folder, limited_threads(1):
            yield {"seed": seed, **_measured(pipeline, gold, training, Path(folder), settings)}


def _measured(
    pipeline: Pipeline, gold: DependencyTreebank, training: Timing, folder: Path, settings: Settings
) -> Row:
    pipeline.save(folder / "pipeline.sigma")
    kept, loading = timed(lambda: load(folder / "pipeline.sigma").set_params(n_jobs=1))
    model, text = kept.model_, as_text(gold)
    found, given = model.parse(gold), model.parser.predict(gold)
    words, tags = (attachment(gold, parsed, settings.rng(1)) for parsed in (found, given))
    assert words.las is not None
    assert tags.las is not None
    _, parsing = timed(lambda: write_conllu(kept.predict([text]), folder / "parsed.conllu"), N_RUNS)
    return {
        "UPOS": float(np.mean([a == b for a, b in zip(found.upos, gold.upos, strict=True)])),
        "UAS": words.uas.value,
        "low": words.uas.low,
        "high": words.uas.high,
        "LAS": words.las.value,
        "UAS, gold tags": tags.uas.value,
        "LAS, gold tags": tags.las.value,
        "tokens/s": gold.n_words / parsing.cpu_seconds,
        "tokens/s, clock": gold.n_words / parsing.seconds,
        "seconds": training.seconds,
        "cpu_seconds": training.cpu_seconds,
        "loading": loading.cpu_seconds,
        "megabytes": (folder / "pipeline.sigma").stat().st_size / 1e6,
    }


def as_text(treebank: DependencyTreebank) -> str:
    """Raw text: a sentence per line, without blanks before marks that close and behind those that open."""
    offsets = treebank.sentence_offsets.tolist()
    return "".join(f"{_joined(treebank.form[low:high])}\n" for low, high in pairwise(offsets))


def _joined(words: Sequence[str]) -> str:
    pieces = list(words[:1])
    for before, word in pairwise(words):
        pieces += [word] if word.lower() in _CLOSING or before in _OPENING else [" ", word]
    return "".join(pieces)


def conclude(rows: list[Row]) -> list[Finding]:
    found = []
    for unit in dict.fromkeys(row["unit"] for row in rows):
        mine = [row for row in rows if row["unit"] == unit]

        def mean(column: str, mine: list[Row] = mine) -> float:
            return float(np.mean([row[column] for row in mine]))

        slowest, seeds = min(row["tokens/s"] for row in mine), counted(len(mine), "seed")
        uas = 100 * (mean("UAS, gold tags") - mean("UAS"))
        las = 100 * (mean("LAS, gold tags") - mean("LAS"))
        found += [
            Finding(f"{unit}: tokens per second", slowest, Target(">=", 20_000), f"slowest of {seeds}"),
            Finding(f"{unit}: UAS from words", mean("UAS"), note=f"mean of {seeds}"),
            Finding(f"{unit}: LAS from words", mean("LAS"), note=f"mean of {seeds}"),
            Finding(f"{unit}: points of UAS below gold tags", uas, Target("<=", 2.0), f"mean of {seeds}"),
            Finding(f"{unit}: points of LAS below gold tags", las, note=f"mean of {seeds}"),
        ]
    return found


QUESTION = Question(
    name="pipelines",
    title="Pipelines: raw text to dependency trees, from words and with gold tags",
    units=units,
    measure=measure,
    conclude=conclude,
    columns=(
        "seed", "UPOS", "UAS", "low", "high", "LAS", "UAS, gold tags", "LAS, gold tags",
        "tokens/s", "cpu_seconds", "loading", "megabytes",
    ),
    files=files,
)  # fmt: skip
