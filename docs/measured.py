"""The page of benchmarks and its plots, made from `benchmarks/results/` when the documentation is built.

Nothing is measured here: plots and tables show what stands in the files, also where an aim was not reached.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from sigmastar.core.figures import (
    INK,
    MUTED,
    label_series,
    new_figure,
    plot_learning_curves,
    series_colour,
    tidy,
    to_svg,
)

HERE = Path(__file__).parent
RESULTS = HERE.parent / "benchmarks" / "results"
PAGE = HERE / "generated" / "benchmarks.md"
Rows = list[dict[str, Any]]

TEXTS = {
    "pautomac": "A dot is a problem: how far its perplexity is above the true one. Lower is better.",
    "splearn": "A dot is a problem: how many times faster `fast` fits than scikit-splearn at its best.",
    "spice": "Scores on the public prefixes, higher is better; whiskers are two standard errors.",
    "next_tags": "Share of next tags that are not the likeliest; lower is better. Whiskers: 95% intervals.",
    "tagging": "Accuracy of tags on test sentences, beside CRFsuite; whiskers are 95% intervals.",
    "treebank": "F1 of labelled brackets on the development set, from words; whiskers are 95% intervals.",
    "dependency": "Unlabelled attachment on two English treebanks; whiskers are 95% intervals.",
    "transduction": "Share of words with a wrong pronunciation, lower is better; whiskers are 95% intervals.",
    "continuous": "Time of a fit beside ten restarts of hmmlearn, at the same or a better held-out density.",
    "scoring": "How many times faster strings are scored than by a loop over NumPy arrays.",
    "readers": "Million tokens per second, on one core.",
    "startup": "Seconds until a program has started, the median of several starts.",
    "memory": "Peak memory of learning from 100,000 strings: the whole process, and what learning adds.",
}


TITLES = {
    "pautomac": "PAutomaC: how near to the true machines",
    "splearn": "Speed beside scikit-splearn",
    "spice": "SPiCe: next symbols",
    "next_tags": "The next tag",
    "tagging": "Tags of test sentences",
    "treebank": "Trees of newswire",
    "dependency": "Heads of words",
    "transduction": "Letters to sounds",
    "continuous": "Gaussian hidden Markov models",
    "scoring": "Scoring strings with 40 states",
    "readers": "Reading files",
    "memory": "Memory of the whole process",
    "startup": "Start of a program",
}


class Bars(NamedTuple):
    """Bars by unit and method: the columns of value and interval, what the axis says, units, methods."""

    value: str
    axis: str
    low: str = ""
    high: str = ""
    units: tuple[str, ...] = ()
    methods: tuple[str, ...] = ()
    scale: float = 1.0
    from_zero: bool = False


BARS = {
    "spice": Bars(
        "NDCG", "NDCG at 5", "-error", "", methods=("auto", "fast", "em", "3-gram kneser-ney", "kneser-ney")
    ),
    "next_tags": Bars("error", "next-tag error", "low", "high"),
    "tagging": Bars(
        *("accuracy", "accuracy", "low", "high", ("ewt", "pos")),
        methods=("bigram", "trigram", "em", "refined", "crfsuite"),
    ),
    "treebank": Bars("F1 words", "F1", "words low", "words high", ("dev",)),
    "dependency": Bars(
        *("UAS", "UAS", "low", "high", ("wsj", "en_ewt")),
        methods=("det", "spectral", "em", "spectral+em", "arcs", "lexical"),
    ),
    "transduction": Bars("word", "wrong words, %", "low", "high"),
    "continuous": Bars("seconds", "seconds per fit", methods=("ours", "hmmlearn"), from_zero=True),
    "scoring": Bars("times faster", "times faster", from_zero=True),
    "readers": Bars("tokens a second", "million tokens per second", scale=1e-6, from_zero=True),
    "memory": Bars("whole process MB", "MB", from_zero=True),
    "startup": Bars("seconds", "seconds", from_zero=True),
}


def write(app: object = None) -> None:
    """The page, below `generated/`."""
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(page(), encoding="utf-8")


def result(question: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((RESULTS / f"{question}.json").read_text(encoding="utf-8"))
    return found


def pictures() -> dict[str, Callable[[], str]]:
    """All plots by name."""
    dots = {
        "measured-pautomac": _pautomac,
        "measured-splearn": _splearn,
        "gpu-speed": _gpu_speed,
        "gpu-peak": _gpu_peak,
        "gpu-times": _gpu_times,
    }
    return {**dots, **{f"measured-{question}": _drawn(question) for question in BARS}}


def _drawn(question: str) -> Callable[[], str]:
    return lambda: bars(result(question), BARS[question])


def _pautomac() -> str:
    found = result("pautomac")
    methods = [name for name in ("auto", "convex", "fast") if any(r["method"] == name for r in found["rows"])]
    columns = {
        name: [max(r["R"] - 1, 1e-6) for r in found["rows"] if r["method"] == name and r["R"]]
        for name in methods
    }
    return _dots(columns, "perplexity above the true one's, share", TITLES["pautomac"])


def _splearn() -> str:
    found = result("splearn")
    columns = {
        "fit": [row["times faster"] for row in found["rows"]],
        "single fit": [row["times faster, single"] for row in found["rows"]],
    }
    return _dots(columns, "times faster", TITLES["splearn"])


def _gpu_rows() -> Rows:
    """EM in bfloat16, the largest number of strings of each number of states."""
    rows = [r for r in result("gpu")["rows"] if r["what"] == "EM" and r["precision"] == "bfloat16"]
    best = {row["states"]: row for row in sorted(rows, key=lambda row: row["strings"])}
    return [best[states] for states in sorted(best)]


def _gpu_speed() -> str:
    rows = _gpu_rows()
    states = np.array([row["states"] for row in rows])
    curves = {
        "kernels of our own": (states, np.array([row["sequences/s"] for row in rows])),
        "plain PyTorch": (states, np.array([row["eager sequences/s"] for row in rows])),
    }
    title = "Strings per second of EM, on one GPU"
    return to_svg(plot_learning_curves(curves, "states", "strings per second", title), title)


def _gpu_peak() -> str:
    rows = _gpu_rows()
    states = np.array([row["states"] for row in rows])
    peak = result("gpu")["peaks"]["bfloat16 TFLOP/s"]
    shares = np.array([row["TFLOP/s"] / peak for row in rows])
    title = "How much of the GPU is used"
    figure = plot_learning_curves({"EM": (states, shares)}, "states", "share of its peak", title, log_y=False)
    return to_svg(figure, title)


def _gpu_times() -> str:
    """How many times faster kernels are than the same work in plain PyTorch."""
    rows = result("gpu")["rows"]
    em = next(row for row in _gpu_rows() if row["eager sequences/s"])
    heads = next(row for row in rows if row["what"] == "head automata")
    grammar = next(row for row in rows if row["what"] == "latent grammar")
    times = {
        f"EM, {em['states']} states": em["sequences/s"] / em["eager sequences/s"],
        "heads, sums": heads["inside, sentences/s"] / heads["inside, plain"],
        "heads, posteriors": heads["with marginals"] / heads["with marginals, plain"],
        "grammar, sums": grammar["inside, sentences/s"] / grammar["plain inside, sentences/s"],
    }
    title = "Kernels of our own beside plain PyTorch"
    figure = new_figure(6.4, 2.4)
    axes = figure.subplots()
    tidy(axes, title, "times faster", "", grid="x")
    axes.barh(list(times), list(times.values()), 0.7, color=series_colour(0))
    axes.invert_yaxis()
    return to_svg(figure, title)


def _dots(columns: dict[str, list[float]], axis: str, title: str) -> str:
    """A row of dots per name, on a logarithmic axis, with the median marked."""
    figure = new_figure(6.4, 1.2 + 0.5 * len(columns))
    axes = figure.subplots()
    tidy(axes, title, axis, "", grid="x")
    axes.set_xscale("log")
    rng = np.random.default_rng(0)
    for number, values in enumerate(columns.values()):
        heights = number + rng.uniform(-0.18, 0.18, len(values))
        axes.scatter(values, heights, s=16, color=series_colour(number), alpha=0.7)
        middle = float(np.median(values))
        axes.plot([middle] * 2, [number - 0.32, number + 0.32], color=INK, linewidth=1.5)
    axes.set_yticks(range(len(columns)), list(columns))
    axes.invert_yaxis()
    return to_svg(figure, title)


def bars(found: dict[str, Any], how: Bars) -> str:
    """A group of bars per unit, a colour per method."""
    rows = _chosen(found["rows"], how)
    units = list(dict.fromkeys(row["unit"] for row in rows))
    methods = list(dict.fromkeys(row.get("method", how.axis) for row in rows))
    is_single = len(rows) == len(units)  # then bars stand beside their names, and a legend would repeat these
    figure = new_figure(6.4, 1.4 + (0.24 * (1 if is_single else len(methods)) + 0.15) * len(units))
    axes = figure.subplots()
    tidy(axes, TITLES[found["question"]], how.axis, "", grid="x")
    width = 0.8 / (1 if is_single else len(methods))
    for index, method in enumerate(methods):
        mine = [row for row in rows if row.get("method", how.axis) == method]
        aside = 0.0 if is_single else (index - (len(methods) - 1) / 2) * width
        at = np.array([units.index(row["unit"]) + aside for row in mine])
        values = np.array([row[how.value] * how.scale for row in mine])
        colour = series_colour(0 if is_single else index)
        axes.barh(at, values, width * 0.9, color=colour, label=str(method))
        ends = np.array([_interval(row, how) for row in mine]).T
        axes.errorbar(values, at, xerr=ends, fmt="none", ecolor=INK, elinewidth=1)
    axes.set_yticks(range(len(units)), [f"problem {unit}" if unit.isdecimal() else unit for unit in units])
    axes.invert_yaxis()
    if not how.from_zero:
        _show_differences(axes, [row[how.value] * how.scale for row in rows])
    if len(methods) > 1 and not is_single:
        label_series(axes, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    axes.tick_params(colors=MUTED, labelcolor=INK)
    return to_svg(figure, found["title"])


def _chosen(rows: Rows, how: Bars) -> Rows:
    """Rows that are shown, the first of each unit and method."""
    kept: dict[tuple[str, str], dict[str, Any]] = {}
    for row in rows:
        fits = (not how.units or row["unit"] in how.units) and (
            not how.methods or row.get("method") in how.methods
        )
        if fits and row.get(how.value) is not None:
            kept.setdefault((row["unit"], row.get("method", "")), row)
    return list(kept.values())


def _interval(row: dict[str, Any], how: Bars) -> tuple[float, float]:
    if how.low.startswith("-"):
        return 2 * row[how.low[1:]], 2 * row[how.low[1:]]
    if not how.low or row.get(how.low) is None:
        return 0.0, 0.0
    value = row[how.value]
    return (value - row[how.low]) * how.scale, (row[how.high] - value) * how.scale


def _show_differences(axes: Any, values: list[float]) -> None:
    """Cut the axis where no bar ends, so that differences can be seen; the caption of the page says so."""
    low, high = min(values), max(values)
    axes.set_xlim(max(0.0, low - 0.6 * (high - low) - 0.01 * high), high + 0.1 * (high - low))


def page() -> str:
    """Markdown: a plot and the findings of each question."""
    lines = [
        "# Benchmarks",
        "",
        "Every figure comes from a run of `python -m benchmarks`, through public estimators with their",
        "defaults; the results are files of the repository, and this page is made from them. Aims that were",
        "not reached are shown like the others. Axes that do not begin at zero are cut, so that differences",
        "can be seen.",
        "",
    ]
    for path in sorted(RESULTS.glob("*.json")):
        found = json.loads(path.read_text(encoding="utf-8"))
        if "findings" in found:
            lines += _section(found)
    return "\n".join(lines)


def _section(found: dict[str, Any]) -> list[str]:
    question, provenance = found["question"], found["provenance"]
    lines = [f"## {found['title']}", ""]
    if f"measured-{question}" in pictures():
        text = TEXTS[question]
        lines += [f":::{{figure}} ../pictures/measured-{question}.svg", f":alt: {text}", text, ":::", ""]
    lines += ["| finding | value | aim | |", "| --- | --- | --- | --- |"]
    for entry in found["findings"]:
        value = entry["value"]
        shown = f"{value:.4g}" if isinstance(value, float) else str(value)
        note = "; ".join(str(part) for part in (entry["verdict"], entry["note"]) if part)
        aim = (entry["target"] or "").replace("<", "&lt;").replace(">", "&gt;")
        lines.append(f"| {entry['label']} | {shown} | {aim} | {note} |")
    where = f"{provenance.get('cpu', '')}, Python {provenance.get('python', '')}"
    commit = str(provenance.get("commit", ""))[:10]
    return [
        *lines,
        "",
        f"`python -m benchmarks {question}`: {where}, seed {provenance.get('seed')}, commit `{commit}`.",
        "",
    ]
