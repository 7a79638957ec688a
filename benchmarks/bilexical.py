"""Do bilexical operators generalise to unseen heads, at what cost, and do they help attachment?"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path

import numpy as np

from benchmarks.corpora import require_folder
from benchmarks.harness import Finding, Question, Row, Settings, Target, timed
from sigmastar.data.quadruples import read_quadruples
from sigmastar.data.text import coded_blocks, word_frequencies
from sigmastar.evaluation.mcnemar import mcnemar
from sigmastar.evaluation.pairwise import pairwise_accuracy
from sigmastar.factorization.factored import factored
from sigmastar.factorization.proximal import NuclearNorm
from sigmastar.factorization.solvers import fista
from sigmastar.learning.attachment import AttachmentSettings, learn_judges, pooled
from sigmastar.learning.bilexical import BilexicalSettings, learn_bilexical, popularity_scores
from sigmastar.learning.conditional import ConditionalLoss
from sigmastar.operators.bilexical import BilexicalModel
from sigmastar.operators.vectors import Vectors
from sigmastar.reproduce.relations import RELATIONS, pairs_of, relation_vectors, text_vectors, treebanks
from sigmastar.statistics.windows import WindowCounter
from sigmastar.structures.pairs import Pairs, split_heads

ABOVE = {
    "adjectives given noun": 4.0,
    "verbs given object": 4.0,
    "nouns given adjective": 5.0,
    "objects given verb": 5.0,
}
N_SPLITS = 3
FEW_OPERATIONS = 40_000


@cache
def _vectors(folder: Path, sided: bool) -> Vectors:
    """Sided for relations; attachment gains nothing by that."""
    return relation_vectors(folder) if sided else text_vectors(folder)


def _pairs(name: str, settings: Settings) -> tuple[Pairs, Vectors]:
    folder = require_folder(settings, "ud").parent
    vectors = _vectors(folder, True)
    return pairs_of(RELATIONS[name], treebanks(folder), vectors), vectors


def relation(name: str, settings: Settings) -> Iterator[Row]:
    pairs, vectors = _pairs(name, settings)
    for number in range(1 if settings.quick else N_SPLITS):
        rng = settings.rng(number)
        split = split_heads(pairs.heads, rng)
        fit, timing = timed(partial(learn_bilexical, pairs, vectors, rng, None, split))
        train, test = pairs.select(split.train), pairs.select(split.test)
        popular = pairwise_accuracy(partial(popularity_scores, train), test).micro
        matched = pairwise_accuracy(fit.model.scores, test, fit.model.popularity).micro
        yield {
            "split": number,
            "popularity": 100 * popular,
            "accuracy": 100 * _accuracy(fit.model, test),
            "matched": 100 * matched,
            "rank10": 100 * _accuracy(fit.model.projected(10), test),
            "cpu_seconds": timing.cpu_seconds,
        }


def capacity(_: str, settings: Settings) -> Iterator[Row]:
    """Accuracy of each penalty when cut to few operations a head."""
    pairs, vectors = _pairs("adjectives given noun", settings)
    rng = settings.rng(0)
    split = split_heads(pairs.heads, rng)
    test = pairs.select(split.test)
    for penalty in ("nuclear", "l1", "l2"):
        options = BilexicalSettings(penalty, n_iterations=40 if penalty != "nuclear" else 150)
        if penalty != "nuclear":
            options = BilexicalSettings(penalty, path=(0.02,), n_iterations=40)
        model = learn_bilexical(pairs, vectors, rng, options, split).model
        each = vectors.dimension + len(pairs.modifiers) if penalty == "nuclear" else len(pairs.modifiers)
        small = model.projected(max(1, FEW_OPERATIONS // each))
        yield {
            "method": penalty,
            "accuracy": 100 * _accuracy(small, test),
            "operations": small.n_operations,
            "full": 100 * _accuracy(model, test),
        }


def solvers(_: str, settings: Settings) -> Iterator[Row]:
    """Processor time to within 1e-3 of the objective that FISTA ends at, in 2,000 dimensions."""
    folder = require_folder(settings, "ud").parent
    vectors = _vectors(folder, False)
    pairs = pairs_of(RELATIONS["adjectives given noun"], treebanks(folder), vectors)
    train = pairs.select(split_heads(pairs.heads, settings.rng(0)).train)
    loss = ConditionalLoss.of(train, vectors.compressed(300) if settings.quick else vectors)
    weight = 0.1 / np.sqrt(train.n_pairs)
    convex = fista(loss, NuclearNorm(weight), n_iterations=60, step=20.0, tolerance=1e-5)
    thin = factored(loss, weight, 40, settings.rng(1), n_iterations=200, tolerance=1e-7)
    goal = convex.objective * (1 + 1e-3)
    for name, found in (("fista", convex), ("factored", thin)):
        reached = [s for s, value in zip(found.cpu_seconds, found.objectives, strict=True) if value <= goal]
        seconds = reached[0] if reached else float("nan")
        yield {"method": name, "objective": found.objective, "cpu_seconds": seconds}


def step(_: str, settings: Settings) -> Iterator[Row]:
    """One dense proximal step against one factored gradient: n = 2000, 5000 modifiers, 3000 heads."""
    rng, size = settings.rng(0), 500 if settings.quick else 2000
    n_modifiers, n_heads = (500, 300) if settings.quick else (5000, 3000)
    words = [f"m{n}" for n in range(n_modifiers)] + [f"h{n}" for n in range(n_heads)]
    vectors = Vectors(tuple(words), rng.standard_normal((len(words), size))).normalised()
    drawn = [
        (f"h{n % n_heads}", f"m{m}") for n, m in enumerate(rng.integers(0, n_modifiers, 3 * n_modifiers))
    ]
    loss = ConditionalLoss.of(Pairs.of(drawn), vectors)
    penalty, matrix = NuclearNorm(1e-3), 0.01 * rng.standard_normal((size, size))
    left, right = rng.standard_normal((size, 30)), rng.standard_normal((size, 30))
    _, dense = timed(lambda: penalty.prox(matrix - loss.value_and_gradient(matrix)[1], 1.0))
    _, thin = timed(lambda: loss.factored(left, right))
    yield {"method": "dense step", "cpu_seconds": dense.cpu_seconds}
    yield {"method": "factored step", "cpu_seconds": thin.cpu_seconds}


def counting(_: str, settings: Settings) -> Iterator[Row]:
    """Counts of coded text: window 10, 2,000 contexts."""
    files = sorted(require_folder(settings, "text").glob("*.txt.gz"))[: 1 if settings.quick else None]
    frequencies = word_frequencies(files).most_common()
    codes = {word: code for code, (word, _) in enumerate(frequencies)}
    blocks = list(coded_blocks(files, codes))
    totals = np.array([count for _, count in frequencies])

    def count() -> WindowCounter:
        counter = WindowCounter.of(totals, 2000, 10)
        for block in blocks:
            counter.add(*block)
        counter.counts()
        return counter

    count()  # compiles
    counter, timing = timed(count, 3)
    yield {
        "n_tokens": int(totals.sum()),
        "cpu_seconds": timing.cpu_seconds,
        "megabytes": counter.cells.nbytes / 1e6,
    }


def attachment(_: str, settings: Settings) -> Iterator[Row]:
    """Votes weighed on development; the judges then learned again from both sets."""
    folder = require_folder(settings, "ppattach")
    train, dev, test = (read_quadruples(folder / name) for name in ("training", "devset", "test"))
    vectors, rng, options = (
        _vectors(folder.parent, False).compressed(100),
        settings.rng(0),
        AttachmentSettings(),
    )
    model = learn_judges(train, vectors, rng, options, str)
    again = learn_judges(train.joined(dev), vectors, rng, options, str)
    odds, right = again.judgements(test), {}
    for judges in (("linear", "backed_off"), ("linear", "backed_off", "bilinear")):
        pool = pooled(model, dev, judges).pool
        votes = sum(pool[name] * odds[name] for name in judges) + pool["constant"]
        right[judges] = (votes > 0) == test.to_noun
        yield {"method": " + ".join(judges), "accuracy": 100 * right[judges].mean()}
    yield {"method": "p", "p_value": mcnemar(*right.values()).p_value}


OTHERS: dict[str, Callable[[str, Settings], Iterator[Row]]] = {
    "counting": counting,
    "attachment": attachment,
    "step": step,
    "solvers": solvers,
    "capacity": capacity,
}


def units(settings: Settings) -> list[str]:
    require_folder(settings, "text")
    return [*OTHERS, *ABOVE]


def measure(unit: str, settings: Settings) -> Iterator[Row]:
    yield from OTHERS.get(unit, relation)(unit, settings)


def conclude(rows: list[Row]) -> list[Finding]:
    by_unit: dict[str, list[Row]] = {}
    for row in rows:
        by_unit.setdefault(row["unit"], []).append(row)
    findings = []
    for name, least in ABOVE.items():
        if name in by_unit:
            findings += _of_relation(name, least, by_unit[name])
    for name, judge in (
        ("capacity", _capacity),
        ("solvers", _ratio),
        ("step", _ratio),
        ("attachment", _attached),
    ):
        if name in by_unit:
            findings += judge(name, {row["method"]: row for row in by_unit[name]})
    for row in by_unit.get("counting", []):
        note = f"{row['n_tokens']:,} tokens, {row['megabytes']:.0f} MB of cells"
        findings.append(Finding("counting: processor seconds", row["cpu_seconds"], Target("<", 1.0), note))
    return findings


def _of_relation(name: str, least: float, rows: list[Row]) -> list[Finding]:
    mean = {
        key: float(np.mean([row[key] for row in rows]))
        for key in ("accuracy", "popularity", "matched", "rank10")
    }
    gain = mean["accuracy"] - mean["popularity"]
    note = f"{mean['accuracy']:.1f} against {mean['popularity']:.1f}, {len(rows)} splits"
    matched = Target(">=", 69.0) if name.startswith("adjectives") else None
    return [
        Finding(f"{name}: points above popularity", gain, Target(">=", least), note),
        Finding(f"{name}: matched accuracy", mean["matched"], matched),
        Finding(f"{name}: lost at rank 10", mean["accuracy"] - mean["rank10"], Target("<=", 0.3)),
    ]


def _capacity(name: str, rows: dict[str, Row]) -> list[Finding]:
    return [
        Finding(
            f"at 4e4 operations: nuclear above {other}",
            rows["nuclear"]["accuracy"] - rows[other]["accuracy"],
            Target(">=", 10.0),
            f"{rows['nuclear']['accuracy']:.1f} against {rows[other]['accuracy']:.1f}",
        )
        for other in ("l1", "l2")
    ]


def _ratio(name: str, rows: dict[str, Row]) -> list[Finding]:
    slow, fast = (row["cpu_seconds"] for row in rows.values())
    if name == "solvers":
        return [Finding("factored: share of FISTA's time to 1e-3", fast / slow, Target("<=", 0.25))]
    return [Finding("a factored step: times cheaper than a dense one", slow / fast, Target(">=", 10.0))]


def _attached(name: str, rows: dict[str, Row]) -> list[Finding]:
    without, full = (row["accuracy"] for name, row in rows.items() if name != "p")
    return [
        Finding("attachment: test accuracy", full, Target(">=", 86.0)),
        Finding("attachment: added by the bilinear judge", full - without, Target(">=", 1.0)),
        Finding("attachment: McNemar's p", rows["p"]["p_value"], Target("<", 0.05)),
    ]


def _accuracy(model: BilexicalModel, test: Pairs) -> float:
    return pairwise_accuracy(model.scores, test).micro


QUESTION = Question(
    name="bilexical",
    title="Bilexical operators and attachment: quality on unseen heads, cost",
    units=units,
    measure=measure,
    conclude=conclude,
    columns=("method", "accuracy", "popularity", "matched", "rank10", "cpu_seconds"),
)
