"""Tables, pictures and claims of the reproduction of Madhyastha et al. (2014)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sigmastar.bilexical.draw import word_map
from sigmastar.bilexical.model.operator import BilexicalModel
from sigmastar.core.intervals import Estimate
from sigmastar.core.page import Cell, Picture, Table
from sigmastar.core.provenance import Provenance
from sigmastar.reproduce.result import Claim, Reproduction, above, all_of, curves, drawn, points, significant

NAME = "madhyastha2014"
TITLE = "Madhyastha, Carreras and Quattoni (2014): learning task-specific bilexical embeddings"
LITTLE = 100_000  # operations
ENOUGH = 0.005  # what few dimensions may lose of the accuracy
SIMILAR = 0.03
NUCLEAR, FULL = "nuclear", ("l1", "l2")
UNSUPERVISED, TEN = "unsupervised", "10 dimensions"
SMALL_MODELS, ANY_MODELS = "small models", "models of any size"
Curve = tuple[list[int], list[float]]
Attached = Mapping[str, Mapping[str, float]]
"""Accuracy on the test set by preposition, then by model; with the number of items, and McNemar's test of the
interpolated model against the linear one."""

AXES: Mapping[str, str] = {
    "adjectives given noun": "50-90",
    "nouns given adjective": "66-80",
    "objects given verb": "46-62",
    "verbs given object": "60-80",
    "with": "50-75",
    "for": "54-72",
    "in": "46-58",
    "on": "60-80",
}
"""Ranges of the vertical axes of figures 1 and 2: the curves themselves are pictures without numbers."""

ADJECTIVES: Mapping[str, str] = {
    "president": "executive, senior, chief, frank, former, international, marketing, assistant, annual, "
    "financial",
    "wife": "former, executive, new, financial, own, senior, old, other, deputy, major",
    "shares": "annual, due, net, convertible, average, new, high-yield, initial, tax-exempt, subordinated",
    "mortgages": "annualized, annual, three-month, one-year, average, six-month, conventional, short-term, "
    "higher, lower",
    "month": "last, next, fiscal, first, past, latest, early, previous, new, current",
    "problem": "new, good, major, tough, bad, big, first, financial, long, federal",
    "holiday": "new, major, special, fourth-quarter, joint, quarterly, third-quarter, small, strong, own",
}
"""Table 1 of the paper: the ten likeliest adjectives of nouns that were not trained on."""


@dataclass(frozen=True, eq=False)
class Measured:
    """One relation: curves by method, popularity, and the model under the nuclear norm."""

    curves: Mapping[str, Curve]
    popularity: float
    matched: float
    model: BilexicalModel
    n_splits: int = 1
    gaps: Mapping[str, Estimate] = field(default_factory=dict)
    """Of the operator over the best inner product, of few dimensions over all, and of the nuclear norm over
    the better of l1 and l2 where they were learned, with intervals: the same heads for both."""

    def best(self, method: str) -> float:
        return max(self.curves[method][1])


def reproduction(
    found: Mapping[str, Measured], attached: Attached, quick: bool, origin: Provenance
) -> Reproduction:
    adjectives = adjectives_table(found["adjectives given noun"].model)
    tables = [relation_table(found), adjectives, attachment_table(attached)]
    figures = {"relations": {name: _figures(one) for name, one in found.items()}, "attachment": attached}
    pictures_drawn = drawn(lambda: pictures(found))
    return Reproduction(
        NAME, TITLE, about(quick), tables, claims(found, attached), pictures_drawn, figures, origin
    )


def relation_table(found: Mapping[str, Measured]) -> Table:
    methods = ("unsupervised", "nuclear", "l1", "l2")
    rows = []
    for name, one in found.items():
        best = [one.best(method) if method in one.curves else None for method in methods]
        rows.append((name, one.popularity, *best, one.matched, one.n_splits, AXES[name]))
    columns = ("relation", "popularity", *methods, "nuclear, matched", "splits", "paper's axis")
    note = "Best of each curve, in percent, on heads not seen in training; means over splits of the heads."
    return Table("Pairwise accuracy (figures 1 and 2)", columns, rows, note=note)


def adjectives_table(model: BilexicalModel) -> Table:
    """Table 1, with a column for whether a noun was trained on."""
    rows = []
    for noun in (noun for noun in ADJECTIVES if noun in model.vectors):
        trained, words = noun in model.split.train, ", ".join(word for word, _ in model.top(noun, 10))
        rows.append((noun, "yes" if trained else "no", words, ADJECTIVES[noun]))
    columns = ("noun", "trained on", "adjectives", "in the paper")
    return Table("Most likely adjectives (table 1)", columns, rows)


def attachment_table(attached: Attached) -> Table:
    names = [name for name in attached["all"] if name not in ("n_items", "p_value")]
    rows: list[list[Cell]] = [
        [word, int(one["n_items"]), *(one[name] for name in names), one["p_value"]]
        for word, one in attached.items()
    ]
    note = "In the paper interpolation improves all three prepositions, significantly only for (2.6 points)."
    columns = ("preposition", "items", *names, "p, linear + nuclear")
    return Table("Attachment accuracy (figure 3)", columns, rows, note=note)


def claims(found: Mapping[str, Measured], attached: Attached) -> list[Claim]:
    gains = {word: one["linear + nuclear"] - one["linear"] for word, one in attached.items()}
    over, ten = (_gaps(found, name) for name in (UNSUPERVISED, TEN))
    return [
        Claim(
            "Supervised operators outperform the unsupervised inner product",
            f"against the inner product in its best form: {_told(over)}",
            all_of([above(gap) for gap in over.values()]),
        ),
        Claim(
            "About 20 dimensions are enough",
            f"10 dimensions against all of them: {_told(ten)}",
            all_of([above(gap, -ENOUGH) for gap in ten.values()]),
        ),
        Claim(
            "Interpolating linear and bilinear models improves attachment (for: 2.6 points, significant)",
            f"{_signed(gains)}; all: p = {attached['all']['p_value']:.3f} by McNemar's test",
            significant(gains["all"], attached["all"]["p_value"]),
        ),
        *_capacity_claims(found),
    ]


def _capacity_claims(found: Mapping[str, Measured]) -> list[Claim]:
    """Against the better of l1 and l2, where they were learned."""
    small, whole = (_gaps(found, name) for name in (SMALL_MODELS, ANY_MODELS))
    if not small:
        return []
    return [
        Claim(
            "Restricted in size, the nuclear norm does much better than l1 and l2",
            f"within {LITTLE:,} operations: {_told(small)}",
            all_of([above(gap) for gap in small.values()]),
        ),
        Claim(
            "Unrestricted, all penalties perform similarly",
            f"the nuclear norm against the better of l1 and l2: {_told(whole)}",
            all_of([_within(gap, SIMILAR) for gap in whole.values()]),
        ),
    ]


def _gaps(found: Mapping[str, Measured], name: str) -> dict[str, Estimate]:
    return {relation: one.gaps[name] for relation, one in found.items() if name in one.gaps}


def _told(gaps: Mapping[str, Estimate]) -> str:
    return "; ".join(f"{name} {points(gap)}" for name, gap in gaps.items())


def _within(gap: Estimate, reach: float) -> bool | None:
    """Whether a difference is no larger than `reach` either way: open where its interval holds an end."""
    if -reach < gap.low and gap.high < reach:
        return True
    return False if gap.low > reach or gap.high < -reach else None


def _signed(values: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {value:+.1f}" for name, value in values.items())


def pictures(found: Mapping[str, Measured]) -> dict[str, Picture]:
    made = {}
    for name, one in found.items():
        title = name.capitalize()
        caption = f"{title}: accuracy when models are cut down; popularity alone {one.popularity:.1f}%."
        labels = ("operations per head", "pairwise accuracy, %", title, caption)
        made[name.replace(" ", "-")] = curves(one.curves, *labels, log_y=False)
    return {**made, "map": word_map(found["adjectives given noun"].model)}


def about(quick: bool) -> list[str]:
    paragraphs = [
        "Relations are of the English web treebank, all three parts; vectors are counted on other text, PPMI "
        "in a window of 2 (the paper: counts in a window of 10). Heads train, choose and test 60 : 10 : 30.",
        "Relations of prepositions have a tenth of the pairs: their operators are learned on the 300 leading "
        "directions of vectors in a window of 5, and their similarity is added; all of this was chosen on "
        "validation heads.",
        "The unsupervised inner product has the best of nine forms of vectors (PPMI, square roots and raw "
        "counts in windows of 2, 5 and 10) and of six numbers of leading directions, by validation heads; "
        "its curve is equation 2 in this form.",
        "Attachment uses the paper's quadruples, and all prepositions beside its three; the share of "
        "equation 7 is chosen on the development set.",
    ]
    short = "A quick run: two relations, one penalty, four of the nine forms."
    return [*paragraphs, short] if quick else paragraphs


def _figures(one: Measured) -> dict[str, object]:
    curves = {name: {"operations": x, "accuracy": y} for name, (x, y) in one.curves.items()}
    return {"popularity": one.popularity, "matched": one.matched, "curves": curves}
