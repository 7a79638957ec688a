"""How large a Hankel matrix can be completed, what does a step cost, and how good is the grammar?

Sizes: distinct strings of at most ten universal tags of the WSJ sample. `dense` is the same iteration with
whole matrices. Quality: random PCFGs with 2 states and 2 symbols (weights from [0, 1], divided by their
sums and by the partition function), KL on all strings up to length 10; EM sees strings of all lengths, and
has 200 iterations and five random starts, on targets with short strings. Of every learner there are the
geometric mean over targets and the mean, which a few hard targets decide; `floor` is the expected divergence
of the most probable grammar, parameters / 2N: no learner without bias is below it. Dyck: L1 on all strings up
to length 7 from 4,000 strings.
"""

from __future__ import annotations

import resource
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.harness import Finding, Question, Row, Settings, Target, timed
from sigmastar import CompletionGrammar, EMGrammar, SpectralAutomaton
from sigmastar.automata.data.strings import Strings
from sigmastar.grammars.counts.bracketings import single_symbols
from sigmastar.grammars.counts.closed_hankel import closed_hankel
from sigmastar.grammars.data.substrings import distinct_strings
from sigmastar.grammars.learn.completion import CompletionPlan, learn_completion
from sigmastar.grammars.learn.spectral import learn_spectral_grammar
from sigmastar.grammars.model.generators import dyck, random_grammar
from sigmastar.grammars.model.grammar import WeightedGrammar
from sigmastar.grammars.model.mass import expected_length, grammar_values_up_to
from sigmastar.optimise.completion import AffineEntries, CompletionSettings, largest_penalty, proximal
from sigmastar.optimise.proximal import singular_value_threshold
from sigmastar.optimise.solvers import accelerated
from sigmastar.reproduce.bailly2013.synthetic import learn_by_projections
from sigmastar.reproduce.corpora import read_wsj, wsj_files

PENALTY, N_STATES, LONGEST, N_TARGETS = 0.02, 8, 10, 20
FOR_EM, EM_TARGETS = 1.8, 10  # the longest expected length of a target whose strings EM sees in seconds
N_PARAMETERS = 9  # of 2 states and 2 symbols: 14 weights less 4 of the basis and 1 of the mass
STRINGS = (40, 80, 160, 320, 480)  # of the sizes whose cost is compared
FOR_DENSE, DENSE_STEPS = 150, 30  # strings: a matrix of 15 million entries, as 4,600 x 3,100 has


def units(settings: Settings) -> list[str]:
    sizes = [] if settings.data is None else ["step", "sizes", "largest"]
    if settings.quick:
        return [*sizes[:1], "Dyck"]
    return [*sizes, "Dyck", "figure 1 at 1e5", "figure 1 at 1e6"]


def measure(unit: str, settings: Settings) -> Iterator[Row]:
    if unit == "Dyck":
        yield from _dyck(settings)
    elif unit.startswith("figure"):
        yield from _figure(int(float(unit.split(" ")[-1])), settings)
    elif unit == "step":
        yield from _step(settings)
    elif unit == "sizes":
        yield from (_size(_frequent(settings, n)) for n in STRINGS)
    else:
        yield _largest(settings)


def _frequent(settings: Settings, n_strings: int) -> tuple[Strings, np.ndarray]:
    """The most frequent strings of the sample, with their relative frequencies."""
    assert settings.data is not None
    strings, counts = distinct_strings(read_wsj(settings.data).strings)
    chosen = np.sort(np.argsort(-counts, kind="stable")[:n_strings])
    return strings.select(chosen), counts[chosen] / counts.sum()


def _entries(strings: Strings, frequencies: np.ndarray) -> AffineEntries:
    hankel = closed_hankel(strings, frequencies)
    return AffineEntries(hankel.shape, hankel.rows, hankel.columns, hankel.residual)


def _step(settings: Settings) -> Iterator[Row]:
    """What a step costs, and where as many steps of either kind lead to."""
    entries = _entries(*_frequent(settings, FOR_DENSE))
    penalty = PENALTY * largest_penalty(entries)
    n_steps = 3 if settings.quick else DENSE_STEPS
    settings_thin = CompletionSettings(penalty, 60, DENSE_STEPS, 0.0)
    thin = proximal(entries, settings_thin, np.random.default_rng(0))
    (_, objective), timing = timed(lambda: complete_dense(entries, penalty, n_steps))
    a, b = thin.cpu_seconds[-1] / len(thin.objectives), timing.cpu_seconds / n_steps
    rows, columns = entries.shape
    row = {"rows": rows, "columns": columns, "cpu s a step": a, "dense s a step": b, "times": b / a}
    yield row if settings.quick else {**row, "objective off by": abs(thin.objective / objective - 1.0)}


def complete_dense(entries: AffineEntries, penalty: float, n_iterations: int) -> tuple[np.ndarray, float]:
    """The same steps with whole matrices and full decompositions: the matrix and its objective."""
    places, objectives = (entries.rows, entries.columns), list[float]()

    def descend(ahead: np.ndarray) -> tuple[np.ndarray, float]:
        point = ahead.copy()
        point[places] -= entries.residual(point[places])
        found = singular_value_threshold(point, penalty)
        value = entries.value_and_gradient(found.matrix[places])[0]
        return found.matrix, value + penalty * float(found.singular_values.sum())

    def note(objective: float, matrix: np.ndarray) -> bool:
        objectives.append(objective)
        return False

    zero = np.zeros(entries.shape)
    matrix = accelerated(descend, zero, lambda new, old, ahead: new + ahead * (new - old), n_iterations, note)
    return matrix, objectives[-1]


def _size(corpus: tuple[Strings, np.ndarray]) -> Row:
    entries = _entries(*corpus)
    settings = CompletionSettings(PENALTY * largest_penalty(entries), 20, 30, 0.0)
    found = proximal(entries, settings, np.random.default_rng(0))
    rows, columns = entries.shape
    return {
        "rows": rows,
        "columns": columns,
        "cpu s a step": found.cpu_seconds[-1] / len(found.objectives),
        "rank": found.rank,
    }


def _largest(settings: Settings) -> Row:
    strings, frequencies = _frequent(settings, STRINGS[-1])
    fit, timing = timed(
        lambda: learn_completion(
            strings, N_STATES, CompletionPlan(penalty=PENALTY), weights=frequencies * 555
        )
    )
    values = fit.grammar.value(strings)
    return {
        "rows": fit.hankel.shape[0],
        "columns": fit.hankel.shape[1],
        "strings": len(strings),
        "rank": fit.completed.rank,
        "seconds": timing.seconds,
        "cpu seconds": timing.cpu_seconds,
        "GB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6,
        "mean L1": float(np.abs(values - frequencies).mean()),
    }


def random_target(rng: np.random.Generator, n_states: int = 2, n_symbols: int = 2) -> WeightedGrammar:
    """A PCFG by random weights; those with strings of more than ten symbols on average are left out."""
    while True:
        found = random_grammar(n_states, n_symbols, rng)
        if expected_length(found) < LONGEST:
            return found


def divergence(truth: WeightedGrammar, found: WeightedGrammar) -> float:
    """KL on all strings up to a length, with the difference of the masses."""
    strings, p = grammar_values_up_to(truth, LONGEST)
    q = np.maximum(found.value(strings), 1e-30)
    return float((p * np.log(p / q) + q - p).sum())


def _figure(n_strings: int, settings: Settings) -> Iterator[Row]:
    for number in range(N_TARGETS):
        rng = settings.rng(4, number)
        truth = random_target(rng)
        sample = truth.sample_brackets(n_strings, rng)
        strings, counts = distinct_strings(sample.strings)
        model = CompletionGrammar(n_states=2, em=False, max_length=LONGEST)
        _, timing = timed(lambda m=model, s=strings, c=counts: m.fit(s, sample_weight=c))  # type: ignore[misc]
        short = sample.select(np.flatnonzero(sample.strings.lengths <= LONGEST))
        spectral = learn_spectral_grammar(short, 2, basis=single_symbols(truth.alphabet))
        row = {
            "strings": n_strings,
            "past length 10": model.cut_off_,
            "refined": divergence(truth, model.model_),
            "nuclear norm": divergence(truth, model.completion_.extracted),
            "projections": divergence(truth, learn_by_projections(strings, 2, counts)),
            "supervised": divergence(truth, spectral * (len(short) / n_strings)),
            "cpu seconds": timing.cpu_seconds,
        }
        asked = number < EM_TARGETS and expected_length(truth) <= FOR_EM
        yield {**row, **_em(truth, strings, counts, rng)} if asked else row


def _em(truth: WeightedGrammar, strings: Strings, counts: np.ndarray, rng: np.random.Generator) -> Row:
    """The best of five random starts; long strings would take it hours."""
    model = EMGrammar(2, "random", max_iter=200, n_seeds=5, word_prior=0.0, pair_prior=0.0, random_state=rng)
    _, timing = timed(lambda: model.fit(strings, sample_weight=counts))
    return {"EM": divergence(truth, model.model_), "EM cpu seconds": timing.cpu_seconds}


def _dyck(settings: Settings) -> Iterator[Row]:
    truth = dyck()
    every, p = grammar_values_up_to(truth, 7)
    for number in range(1 if settings.quick else 5):
        strings = truth.sample(4000, settings.rng(5, number))
        distinct, counts = distinct_strings(strings)
        seen = dict(zip(distinct, (counts / 4000).tolist(), strict=True))
        model = CompletionGrammar(n_states=4, em=False, max_length=LONGEST)
        _, timing = timed(lambda m=model, s=strings: m.fit(s))  # type: ignore[misc]
        automaton = (
            SpectralAutomaton(n_states=4, method="spectral", statistic="string").fit(strings).automaton_
        )
        yield {
            "strings": 4000,
            "refined": float(np.abs(model.model_.value(every) - p).sum()),
            "nuclear norm": float(np.abs(model.completion_.extracted.value(every) - p).sum()),
            "empirical": float(np.abs(np.array([seen.get(s, 0.0) for s in every]) - p).sum()),
            "WFA": float(np.abs(automaton.value(every) - p).sum()),
            "cpu seconds": timing.cpu_seconds,
        }


def conclude(rows: list[Row]) -> list[Finding]:
    of = {name: [row for row in rows if row["unit"] == name] for name in {row["unit"] for row in rows}}
    findings = []
    for row in of.get("largest", []):
        findings += [
            Finding("largest: completion and refinement, cpu s", row["cpu seconds"], Target("<=", 120.0)),
            Finding("largest: GB", row["GB"], Target("<=", 2.0)),
        ]
    for row in of.get("step", []):
        findings.append(Finding("a step, times cheaper than a dense one", row["times"], Target(">=", 100.0)))
        if "objective off by" in row:
            findings.append(Finding("objective off by", row["objective off by"], Target("<=", 1e-4)))
    if sizes := of.get("sizes"):
        size = np.log([row["rows"] + row["columns"] for row in sizes])
        slope = np.polyfit(size, np.log([row["cpu s a step"] for row in sizes]), 1)[0]
        findings.append(Finding("exponent of the cost in rows + columns", float(slope), Target("<=", 1.2)))
    if dyck := of.get("Dyck"):
        refined = _mean(dyck, "refined")
        findings += [
            Finding("Dyck: L1 over the empirical one", refined / _mean(dyck, "empirical"), Target("<=", 1.1)),
            Finding("Dyck: L1 over that of a WFA", refined / _mean(dyck, "WFA"), Target("<=", 0.125)),
        ]
    for name in ("figure 1 at 1e5", "figure 1 at 1e6"):
        findings += _of_figure(name, of.get(name, []))
    return findings


def _of_figure(name: str, rows: list[Row]) -> list[Finding]:
    if not rows:
        return []
    refined, seen = _geometric(rows, "refined"), [row for row in rows if "EM" in row]
    means = _mean(rows, "refined") / _mean(rows, "projections")
    most = Target("<", 1.0) if name.endswith("6") else None
    floor = N_PARAMETERS / (2.0 * rows[0]["strings"])
    return [
        Finding(
            f"{name}: KL over that of projections, geometric means",
            refined / _geometric(rows, "projections"),
            Target("<=", 1 / 30),
        ),
        Finding(f"{name}: KL over that of projections, means", means, Target("<=", 1 / 30)),
        Finding(f"{name}: over supervised", refined / _geometric(rows, "supervised"), Target("<", 1.0)),
        Finding(f"{name}: over EM", _geometric(seen, "refined") / _geometric(seen, "EM"), most),
        Finding(f"{name}: over the floor", refined / floor),
        Finding(f"{name}: projections over the floor", _geometric(rows, "projections") / floor),
    ]


def _mean(rows: list[Row], key: str) -> float:
    return float(np.mean([row[key] for row in rows]))


def _geometric(rows: list[Row], key: str) -> float:
    return float(np.exp(np.mean(np.log([row[key] for row in rows]))))


def files(unit: str, settings: Settings) -> list[Path]:
    if settings.data is None or unit == "Dyck" or unit.startswith("figure"):
        return []
    return [settings.data / name for name in wsj_files()]


QUESTION = Question(
    name="completion",
    title="Completion of Hankel matrices of grammars",
    units=units,
    measure=measure,
    conclude=conclude,
    columns=(
        "rows",
        "columns",
        "rank",
        "cpu s a step",
        "dense s a step",
        "times",
        "objective off by",
        "seconds",
        "GB",
        "strings",
        "past length 10",
        "refined",
        "nuclear norm",
        "projections",
        "supervised",
        "EM",
        "empirical",
        "WFA",
        "cpu seconds",
        "EM cpu seconds",
    ),
    files=files,
)
