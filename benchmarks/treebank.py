"""How well and how fast do latent PCFGs parse the WSJ sample, and is the Berkeley parser left behind?

F1 by EVALB's conventions on sentences of up to 40 words, from words and with gold tags, with intervals from
drawing sentences again; training and parsing on one thread, in processor seconds. Settings were chosen on the
development set. The Berkeley parser 1.7, trained on the same trees, reaches 86.9 from words and 88.0 with
gold tags on the test set after 4 split-merge cycles (about 145 s of training), finds 28.7% of the trees whole
from words, and parses 16 to 21 sentences a second. `best` is five latent PCFGs, of different binarizations,
and a span scorer; "best, whole trees" is the same with trees chosen as wholes, for those who count trees
without any error. The unit `nltk` runs inside and outside of the plain PCFG beside nltk's ViterbiParser on
the same grammar. Other languages come from UD treebanks, whose arcs are made phrases: `best` with the
defaults against the PCFG, on their test sets.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from benchmarks.arcs_as_phrases import read_as_phrases
from benchmarks.corpora import require_folder
from benchmarks.harness import Finding, Question, Row, Settings, Target, timed
from sigmastar import PCFG, EMTreebankGrammar, SpectralTreebankGrammar, Tree
from sigmastar.core.model_format import save_model
from sigmastar.core.resources import limited_threads
from sigmastar.treebanks import BracketScores, Parse, Phrases, TreebankParser, phrases, score_brackets
from sigmastar.treebanks.estimator import TreebankEstimator
from sigmastar.treebanks.kernels.plain_chart import Allowed
from sigmastar.treebanks.model.coarse_to_fine import EVERYTHING, plain_chart
from sigmastar.treebanks.model.parser import FULL
from sigmastar.trees import read_brackets

METHODS: dict[str, Callable[[], TreebankEstimator]] = {
    "pcfg": PCFG,
    "em": EMTreebankGrammar,
    "spectral": lambda: SpectralTreebankGrammar("spectral"),
    "cluster": lambda: SpectralTreebankGrammar("cluster"),
    "spectral+em": lambda: SpectralTreebankGrammar("spectral+em"),
    "best": SpectralTreebankGrammar,
    "best, whole trees": lambda: SpectralTreebankGrammar(decoding="trees"),
}
OTHERS = ("el_gdt", "id_gsd", "ko_gsd", "tr_imst", "vi_vtb")
LONGEST, N_QUICK, NLTK_LONGEST, NLTK_SENTENCES = 40, 40, 8, 5
BERKELEY_SECONDS = 145.0


def units(settings: Settings) -> list[str]:
    require_folder(settings, "ptb_sample")
    if settings.quick:
        return ["dev"]
    require_folder(settings, "ud")
    return ["dev", "test", *OTHERS, *(["nltk"] if importlib.util.find_spec("nltk") else [])]


def measure(unit: str, settings: Settings) -> Iterator[Row]:
    read = read_as_phrases if unit in OTHERS else read_brackets
    train, gold = (read(path) for path in files(unit, settings))
    if unit == "nltk":
        yield _beside_nltk(train, gold)
        return
    gold = gold[:N_QUICK] if settings.quick else gold
    for method in settings.chosen(("pcfg", "best") if unit in OTHERS else tuple(METHODS)):
        with limited_threads(1):
            yield {"method": method, **_measured(train, gold, METHODS[method], settings)}


def _measured(
    train: list[Tree], gold: list[Tree], make: Callable[[], TreebankEstimator], settings: Settings
) -> Row:
    make().set_params(n_jobs=1).fit(train[:50])  # compiles
    estimator = make().set_params(n_jobs=1, random_state=settings.seed)
    fitted, training = timed(lambda: estimator.fit(train))
    parser = fitted.model_
    row: Row = {"seconds": training.seconds, "cpu_seconds": training.cpu_seconds}
    row["megabytes"] = _megabytes(parser)
    for name, tagged in (("words", False), ("tags", True)):
        parses, scores, speed = _parsed(parser, gold, tagged, settings)
        row |= {f"F1 {name}": scores.f1.value, f"{name} low": scores.f1.low, f"{name} high": scores.f1.high}
        row |= {f"exact {name}": scores.exact.value, f"{name}/s": speed}
        row[f"not full {name}"] = float(np.mean([parse.how != FULL for parse in parses]))
    return row


def _megabytes(parser: TreebankParser) -> float:
    """Size of the model file."""
    with TemporaryDirectory() as folder:
        save_model(parser, Path(folder) / "model")
        return (Path(folder) / "model").stat().st_size / 1e6


def _parsed(
    parser: TreebankParser, gold: list[Tree], tagged: bool, settings: Settings
) -> tuple[list[Parse], BracketScores, float]:
    bank = phrases(gold)
    sentences = [(words, tags if tagged else None) for words, tags in _sentences(bank)]
    parser.parse(sentences[:3])
    parses, timing = timed(lambda: parser.parse(sentences), n_runs=3)
    scores = score_brackets(gold, [parse.tree for parse in parses], settings.rng(1), max_length=LONGEST)
    return parses, scores, len(sentences) / timing.cpu_seconds


def _sentences(bank: Phrases) -> Iterator[tuple[list[str], list[str]]]:
    """Words and tags of every tree."""
    for low, high in zip(bank.starts[:-1].tolist(), bank.starts[1:].tolist(), strict=True):
        rows = [row for row in range(low, high) if bank.word[row] >= 0]
        yield [bank.words[bank.word[row]] for row in rows], [bank.labels[bank.label[row]][-1] for row in rows]


def _beside_nltk(train: list[Tree], gold: list[Tree]) -> Row:
    """Inside and outside without any pruning, against nltk's parser of the same grammar."""
    import nltk  # type: ignore[import-not-found, unused-ignore]

    parser = PCFG().fit(train).model_
    member = parser.members[0]
    grammar, coarse = member.grammar, member.plain
    names = [f"s{number}" for number in range(grammar.n_symbols)]
    rules = [
        nltk.ProbabilisticProduction(
            nltk.Nonterminal(names[a]),
            [nltk.Nonterminal(names[b]), nltk.Nonterminal(names[c])],
            prob=float(p),
        )
        for (a, b, c), p in zip(grammar.rules.tolist(), grammar.tensors, strict=True)
    ]
    rules += [
        nltk.ProbabilisticProduction(nltk.Nonterminal(names[a]), [names[a]], prob=1.0)
        for a in range(member.symbols.n_leaves)
    ]
    start = nltk.Nonterminal(names[int(np.argmax(grammar.roots))])
    other = nltk.ViterbiParser(nltk.PCFG(start, rules))
    sentences = [s for s in _sentences(phrases(gold)) if len(s[0]) <= NLTK_LONGEST][:NLTK_SENTENCES]
    leaves = [parser.forest.leaves(words, tags, least=1.0) for words, tags in sentences]  # one symbol each
    tokens = [[names[a] for a in leaf.symbols[leaf.begin[:-1]]] for leaf in leaves]

    def ours(n_times: int) -> None:
        for leaf in leaves * n_times:
            plain_chart(coarse, leaf, 0.0, 0.0, Allowed(member.groups.keys, EVERYTHING))

    ours(1)
    _, mine = timed(lambda: ours(100))
    _, theirs = timed(lambda: [list(other.parse(words)) for words in tokens])
    return {"method": "pcfg", "times nltk": theirs.cpu_seconds / (mine.cpu_seconds / 100)}


def conclude(rows: list[Row]) -> list[Finding]:
    at = {(row["unit"], row["method"]): row for row in rows}

    def figure(
        label: str, unit: str, method: str, column: str, target: Target, note: str = ""
    ) -> list[Finding]:
        row = at.get((unit, method))
        return [Finding(label, row[column], target, note)] if row and column in row else []

    best = at.get(("test", "best"))
    words, tags = (
        f"interval {best[f'{name} low']:.4f} to {best[f'{name} high']:.4f}" if best else ""
        for name in ("words", "tags")
    )
    others = [
        Finding(
            f"{unit}, from words: F1 of best above PCFG",
            at[unit, "best"]["F1 words"] - at[unit, "pcfg"]["F1 words"],
            Target(">=", 0.08),
        )
        for unit in OTHERS
        if {(unit, "best"), (unit, "pcfg")} <= set(at)
    ]
    return [
        *figure("test, best, from words: F1", "test", "best", "F1 words", Target(">=", 0.875), words),
        *figure("test, best, with gold tags: F1", "test", "best", "F1 tags", Target(">=", 0.89), tags),
        *figure("dev, best, from words: F1", "dev", "best", "F1 words", Target(">=", 0.875)),
        *figure("dev, best, with gold tags: F1", "dev", "best", "F1 tags", Target(">=", 0.89)),
        *figure("test, best, from words: exact match", "test", "best", "exact words", Target(">=", 0.287)),
        *figure(
            "test, best, whole trees, from words: exact match",
            *("test", "best, whole trees", "exact words"),
            Target(">=", 0.287),
        ),
        *figure("test, single, from words: F1", "test", "spectral+em", "F1 words", Target(">=", 0.869)),
        *figure("test, single, with gold tags: F1", "test", "spectral+em", "F1 tags", Target(">=", 0.88)),
        *figure("best, model file, MB", "test", "best", "megabytes", Target("<", 30.0)),
        *figure("best, training seconds", "test", "best", "cpu_seconds", Target("<=", BERKELEY_SECONDS / 5)),
        *figure("single, training seconds", "test", "spectral+em", "cpu_seconds", Target("<=", 5.0)),
        *figure("single: sentences/s", "test", "spectral+em", "words/s", Target(">=", 300.0)),
        *figure("best: sentences/s", "test", "best", "words/s", Target(">=", 60.0)),
        *figure("spectral: totals not positive", "test", "spectral", "not full words", Target("<", 0.01)),
        *figure("plain PCFG: times as fast as nltk", "nltk", "pcfg", "times nltk", Target(">=", 1000.0)),
        *others,
    ]


def files(unit: str, settings: Settings) -> list[Path]:
    if unit in OTHERS:
        folder = require_folder(settings, "ud")
        return [folder / f"{unit}-{part}.conllu.gz" for part in ("train", "test")]
    folder = require_folder(settings, "ptb_sample")
    return [folder / "wsj-train.mrg", folder / f"wsj-{'dev' if unit == 'nltk' else unit}.mrg"]


QUESTION = Question(
    name="treebank",
    title="Treebank parsing: F1, training and parsing speed of latent PCFGs",
    units=units,
    measure=measure,
    conclude=conclude,
    columns=(
        "method",
        "F1 words",
        "words low",
        "words high",
        "F1 tags",
        "tags low",
        "tags high",
        "exact words",
        "exact tags",
        "megabytes",
        "cpu_seconds",
        "words/s",
        "tags/s",
        "not full words",
        "times nltk",
    ),
    files=files,
)
