"""Do grammars learned from bare tag strings generalise, and where do they put brackets?

Likelihood: five folds, strings of at most ten universal tags. Ours is EM from CCA starts under uniform
brackets (each the most promising of three clusterings), the rival is EM from random starts; of each the best
of five by training likelihood. Both have the same prior and stop early by a tenth of their training strings.
`at 20` is the held-out likelihood after 20 iterations on all training strings; the ten by which each
clustering of a start is judged come before them, and nothing but the choice is kept of them.
Brackets: unlabelled F1 of MBR trees on the Penn Treebank's sentences, without whole strings and single words;
learned by `EMGrammar()` from the tags of the same sentences (no brackets are seen), or from those of another
corpus. `F1` is on the sentences of the development and test parts, and so are the baselines; the defaults of
`EMGrammar` were chosen on the brackets of the training part alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.harness import Finding, Question, Row, Settings, Skip, Target, timed
from sigmastar import EMGrammar
from sigmastar.automata.data.strings import Strings
from sigmastar.core.resources import thread_map
from sigmastar.grammars import baselines, bracket_score
from sigmastar.reproduce.corpora import ewt_files, read_ewt, read_wsj, wsj_files

SIZES = (8, 12, 20)
FOLDS, N_STARTS, ITERATIONS, EARLY = 5, 5, 60, 20
PRIOR = {"word_prior": 0.1, "pair_prior": 5.0}
STARTS = {"cca": {"start": "cca", "bracket_prior": "uniform"}, "random": {"start": "random"}}
SEEDS = 5


def folder(settings: Settings) -> Path:
    if settings.data is None:
        raise Skip("needs data: let SIGMASTAR_DATA name the folder")
    return settings.data


def units(settings: Settings) -> list[str]:
    folder(settings)
    names = ["WSJ10"] if settings.quick else ["WSJ10", "EWT"]
    sizes = SIZES[:1] if settings.quick else SIZES
    return [f"{name} n={n}" for name in names for n in sizes] + [f"{name} brackets" for name in names]


def corpus(name: str, settings: Settings) -> Strings:
    if name == "WSJ10":
        return read_wsj(folder(settings)).strings
    return read_ewt(folder(settings))


def measure(unit: str, settings: Settings) -> Iterator[Row]:
    name, what = unit.split(" ")
    if what == "brackets":
        yield from _brackets(name, settings)
    else:
        yield _likelihood(corpus(name, settings), int(what[2:]), settings)


def _likelihood(strings: Strings, n_states: int, settings: Settings) -> Row:
    found: dict[str, list[np.ndarray]] = {}
    order = settings.rng(1).permutation(len(strings))
    folds = np.array_split(order, FOLDS)[: 2 if settings.quick else FOLDS]
    for number, fold in enumerate(folds):
        train, test = strings.select(np.setdiff1d(order, fold)), strings.select(fold)
        for method, start in STARTS.items():
            for early in (False, True):
                logs = _held_out(train, test, n_states, start, early, settings.rng(2, number))
                found.setdefault(method + (" at 20" if early else ""), []).append(logs)
    joined = {key: np.concatenate(parts) for key, parts in found.items()}
    gap, gap_early = joined["cca"] - joined["random"], joined["cca at 20"] - joined["random at 20"]
    return {
        "strings": len(strings),
        **{key: float(values.mean()) for key, values in joined.items()},
        "ahead": float(gap.mean()),
        "standard error": float(gap.std(ddof=1) / np.sqrt(len(gap))),
        "ahead at 20": float(gap_early.mean()),
    }


def _held_out(
    train: Strings, test: Strings, n_states: int, start: dict[str, str], early: bool, rng: np.random.Generator
) -> np.ndarray:
    """Log-probabilities of test strings after learning from the others; starts side by side on all cores."""
    length = {"max_iter": EARLY, "held_out": 0.0} if early else {"max_iter": ITERATIONS, "held_out": 0.1}

    def fit(own: np.random.Generator) -> EMGrammar:
        return EMGrammar(n_states, **start, **length, **PRIOR, random_state=own, n_jobs=1).fit(train)

    fits = thread_map(fit, rng.spawn(N_STARTS))
    best = max(fits, key=lambda fit: fit.log_likelihoods_[-1])
    return best.score_samples(test)


def _brackets(name: str, settings: Settings) -> Iterator[Row]:
    gold = read_wsj(folder(settings), ("dev", "test"))
    strings = corpus(name, settings)
    for seed in range(1 if settings.quick else SEEDS):
        model = EMGrammar(random_state=seed)
        _, timing = timed(lambda model=model: model.fit(strings))  # type: ignore[misc]
        yield {
            "strings": len(strings),
            "F1": bracket_score(model.brackets(gold), gold).f1,
            "right-branching": baselines(gold)["right-branching"].f1,
            "left-branching": baselines(gold)["left-branching"].f1,
            "cpu seconds": timing.cpu_seconds,
        }


def conclude(rows: list[Row]) -> list[Finding]:
    findings = []
    for row in rows:
        if "ahead" in row:
            findings += [
                Finding(f"{row['unit']}: held-out nats a string ahead", row["ahead"], Target(">=", 0.0)),
                Finding(f"{row['unit']}: the same at 20 iterations", row["ahead at 20"], Target(">=", 1.0)),
            ]
    sure = [row["ahead"] / row["standard error"] for row in rows if "ahead" in row]
    if sure:
        findings.append(Finding("most standard errors ahead", max(sure), Target(">", 2.0)))
    for name, wanted in (("WSJ10", 0.64), ("EWT", 0.64)):
        scores = [row["F1"] for row in rows if row["unit"] == f"{name} brackets"]
        if scores:
            findings.append(
                Finding(
                    f"bracketing F1, from {name}, mean of seeds", float(np.mean(scores)), Target(">=", wanted)
                )
            )
    return findings


def files(unit: str, settings: Settings) -> list[Path]:
    names = wsj_files() + (ewt_files() if unit.startswith("EWT") else [])
    return [folder(settings) / name for name in names]


QUESTION = Question(
    name="grammar_induction",
    title="Grammars from bare tag strings: held-out likelihood and brackets",
    units=units,
    measure=measure,
    conclude=conclude,
    columns=(
        "strings",
        "cca",
        "random",
        "ahead",
        "standard error",
        "cca at 20",
        "random at 20",
        "ahead at 20",
        "F1",
        "right-branching",
        "left-branching",
        "cpu seconds",
    ),
    files=files,
)
