"""How well and how fast do head automata, and trained arcs, parse?

Test UAS with and without punctuation, LAS, training seconds and sentences per second on one thread, for
every learner of head automata that decide themselves, and with trained arcs that decide in their place,
over tags (`arcs`, the default estimator) and over words (`lexical`), on the WSJ sample and six UD treebanks
with gold tags. Settings are the defaults; `em, 25 iterations` is the comparison of Luque et al. (2012);
`lexical, random automata` is the model of the row before with other head automata, which shows what part they
have in the parse; `en_ewt/8` trains on every eighth sentence of EWT, as UDPipe 1
did to reach UAS 82.95 and LAS 80.21. Sentences per second are of processor time; so are training seconds
where they are held to a target.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.corpora import require_folder
from benchmarks.harness import Finding, Question, Row, Settings, Target, Timing, timed
from sigmastar import DeterministicDependencyGrammar, EMDependencyGrammar, SpectralDependencyGrammar
from sigmastar.core.intervals import Estimate
from sigmastar.core.resources import limited_threads
from sigmastar.dependency import (
    DependencyParser,
    DependencyTreebank,
    attachment,
    make_head_automata,
    read_treebank,
)

UD = ("en_ewt", "el_gdt", "id_gsd", "ko_gsd", "tr_imst", "vi_vtb")
SUBSET = "en_ewt/8"
METHODS = {
    "det": lambda: DeterministicDependencyGrammar(first=False),
    "det+f": lambda: DeterministicDependencyGrammar(),
    "bigram": lambda: SpectralDependencyGrammar(method="bigram", arcs="none"),
    "spectral": lambda: SpectralDependencyGrammar(method="spectral", arcs="none"),
    "em": lambda: EMDependencyGrammar(),
    "em, 25 iterations": lambda: EMDependencyGrammar(max_iter=25),
    "spectral+em": lambda: SpectralDependencyGrammar(arcs="none"),
    "arcs": lambda: SpectralDependencyGrammar(),
    "lexical": lambda: SpectralDependencyGrammar(arcs="lexical"),
}
ABLATED = "lexical"
RANDOM = f"{ABLATED}, random automata"
UDPIPE_UAS, UDPIPE_LAS, UDPIPE_SECONDS = 0.8295, 0.8021, 373.0


def units(settings: Settings) -> list[str]:
    require_folder(settings, "ptb_sample")
    return ["wsj"] if settings.quick else ["wsj", *UD, SUBSET]


def measure(unit: str, settings: Settings) -> Iterator[Row]:
    train, test = (read_treebank(path) for path in files(unit, settings))
    if unit == SUBSET:
        train = train.select(np.arange(0, len(train), 8))
    for method in settings.chosen(list(METHODS)):
        for warm in (True, False):  # the first, on little, compiles
            data = train.select(np.arange(20)) if warm else train
            estimator = METHODS[method]().set_params(random_state=settings.seed, n_jobs=1)
            _, training = timed(lambda data=data, estimator=estimator: estimator.fit(data))  # type: ignore[misc]
        parser = estimator.model_
        with limited_threads(1):
            yield {"method": method, **_measured(parser, test, training, settings.rng(1))}
            if method == ABLATED:
                symbols = list(map(str, parser.alphabet))
                drawn = parser.with_parts(automata=make_head_automata(symbols, 3, settings.rng(2)))
                yield {"method": RANDOM, **_measured(drawn, test, training, settings.rng(1))}


def _measured(
    parser: DependencyParser, test: DependencyTreebank, training: Timing, rng: np.random.Generator
) -> Row:
    parser.parse(test.select(np.arange(5)))  # loads what is compiled
    parse, parsing = timed(lambda: parser.parse(test), n_runs=3)
    found = parser.attached(test, parse.heads)
    scores = attachment(test, found, rng)
    return {
        "UAS": scores.uas.value,
        "low": scores.uas.low,
        "high": scores.uas.high,
        "no punct": scores.uas_no_punct.value,
        "LAS": _value(scores.las) if parser.labeller is not None else None,
        "seconds": training.seconds,
        "cpu_seconds": training.cpu_seconds,
        "sentences/s": len(test) / parsing.cpu_seconds,
        "fallback": parse.n_fallback,
    }


def _value(estimate: Estimate | None) -> float | None:
    return None if estimate is None else estimate.value


def conclude(rows: list[Row]) -> list[Finding]:
    at = {(row["method"], row["unit"]): row for row in rows}

    def figure(label: str, method: str, unit: str, column: str, target: Target) -> list[Finding]:
        row = at.get((method, unit))
        return [Finding(label, row[column], target)] if row else []

    both = [unit for unit in UD if ("spectral", unit) in at and ("det+f", unit) in at]
    lost = [unit for unit in both if at["spectral", unit]["UAS"] <= at["det+f", unit]["UAS"]]
    share = 1 - len(lost) / max(len(both), 1)
    above = Finding("spectral above DET+F: share of UD sets", share, Target(">=", 1.0), ", ".join(lost))
    return [
        *figure("WSJ, tags, automata alone: UAS", "spectral+em", "wsj", "UAS", Target(">=", 0.80)),
        *figure("WSJ, tags, with arcs: UAS", "arcs", "wsj", "UAS", Target(">=", 0.80)),
        *figure("EWT, tags, automata alone: UAS", "spectral+em", "en_ewt", "UAS", Target(">=", 0.78)),
        *figure("EWT, tags, with arcs: UAS", "arcs", "en_ewt", "UAS", Target(">=", 0.78)),
        *figure("EWT, lexicalised: UAS", "lexical", "en_ewt", "UAS", Target(">=", 0.885)),
        *figure("EWT/8, lexicalised: UAS", "lexical", SUBSET, "UAS", Target(">", UDPIPE_UAS)),
        *figure("EWT/8, lexicalised: LAS", "lexical", SUBSET, "LAS", Target(">=", 0.805)),
        *figure(
            "EWT/8, training seconds", "lexical", SUBSET, "cpu_seconds", Target("<=", UDPIPE_SECONDS / 20)
        ),
        *figure("WSJ, spectral, training seconds", "spectral", "wsj", "cpu_seconds", Target("<=", 0.3)),
        *figure("WSJ, spectral: sentences per second", "spectral", "wsj", "sentences/s", Target(">=", 5000)),
        *figure("EWT, lexicalised: sentences/s", "lexical", "en_ewt", "sentences/s", Target(">=", 1000)),
        *figure("WSJ, lexicalised: sentences/s", "lexical", "wsj", "sentences/s", Target(">=", 1000)),
        *(
            Finding(
                f"{unit}: UAS lost with random automata beside the arcs",
                at[ABLATED, unit]["UAS"] - at[RANDOM, unit]["UAS"],
                note="0: the head automata have no part in the parse",
            )
            for unit in ("wsj", "en_ewt", SUBSET)
            if (RANDOM, unit) in at and (ABLATED, unit) in at
        ),
        *(
            Finding(
                f"{unit}, spectral+em above the lower end of EM: UAS",
                at["spectral+em", unit]["UAS"] - at["em", unit]["low"],
                Target(">=", 0.0),
            )
            for unit in ("wsj", "en_ewt")
            if ("em", unit) in at and ("spectral+em", unit) in at
        ),
        *([above] if both else []),
    ]


def files(unit: str, settings: Settings) -> list[Path]:
    if unit == "wsj":
        return [require_folder(settings, "ptb_sample") / f"wsj-{part}.dp" for part in ("train", "test")]
    name = unit.partition("/")[0]
    return [require_folder(settings, "ud") / f"{name}-{part}.conllu.gz" for part in ("train", "test")]


QUESTION = Question(
    name="dependency",
    title="Dependency parsing: attachment scores, training and parsing speed",
    units=units,
    measure=measure,
    conclude=conclude,
    columns=("method", "UAS", "low", "high", "no punct", "LAS", "seconds", "sentences/s", "fallback"),
    files=files,
)
