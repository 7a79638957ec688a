"""Madhyastha, Carreras and Quattoni (2014): figures 1 to 3 and table 1, on other data.

The paper learns on the Wall Street Journal with vectors of the BLLIP corpus; here the relations are of the
English web treebank, with vectors of 5 million words of other text. Under each penalty a model is learned,
then cut to fewer dimensions or weights: accuracy against the operations that scoring a head takes.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from sigmastar.bilexical.data.quadruples import Quadruples, read_quadruples
from sigmastar.bilexical.draw import word_map
from sigmastar.bilexical.learn.attachment import AttachmentSettings, interpolated, learn_judges
from sigmastar.bilexical.model.attachment import AttachmentModel
from sigmastar.bilexical.model.operator import BilexicalModel
from sigmastar.bilexical.model.vectors import Vectors
from sigmastar.core.curves import plot_learning_curves
from sigmastar.core.demo import Progress, silent
from sigmastar.core.figures import to_svg
from sigmastar.core.page import Cell, Picture, Table
from sigmastar.core.parallel import one_blas_thread
from sigmastar.core.provenance import hash_arrays, provenance
from sigmastar.reproduce.madhyastha2014.measure import (
    PREPOSITIONS,
    RELATIONS,
    Measured,
    measure,
    pairs_of,
    small_vectors,
    text_vectors,
    treebanks,
)
from sigmastar.reproduce.result import Claim, Reproduction

NAME = "madhyastha2014"
N_SPLITS_OF_FEW = 3
FEW = 100_000  # operations
ATTACHED = ("for", "from", "with")

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


def run(
    data_folder: Path, out: Path, quick: bool = False, seed: int = 0, progress: Progress = silent
) -> Reproduction:
    """Learn every relation under every penalty; with `quick` two relations and no l1 and l2."""
    out.mkdir(parents=True, exist_ok=True)  # before the work, so that a bad place is told at once
    progress("counting words", 0.0)
    with one_blas_thread():
        vectors, parts = text_vectors(data_folder), treebanks(data_folder)
        small = vectors if quick else small_vectors(vectors)
        names = list(RELATIONS)[: 2 if quick else None]
        found, pairs_used = {}, []
        for number, name in enumerate(names):
            progress(name, (number + 1) / (len(names) + 3))
            pairs = pairs_of(RELATIONS[name], parts, vectors)
            pairs_used.append(pairs)
            few = name in PREPOSITIONS
            used, n_splits = (small, N_SPLITS_OF_FEW) if few else (vectors, 1)
            rng = np.random.default_rng([seed, number])
            found[name] = measure(pairs, used, vectors, rng, n_splits, quick)
        progress("attachment", (len(names) + 1) / (len(names) + 3))
        attached = attachment(data_folder, vectors, np.random.default_rng(seed), quick)
    origin = provenance(seed, hash_arrays(*(pairs.counts.data for pairs in pairs_used)))
    result = Reproduction(
        NAME,
        "Madhyastha, Carreras and Quattoni (2014): learning task-specific bilexical embeddings",
        about(quick),
        [
            relation_table(found),
            adjectives_table(found["adjectives given noun"].model),
            attachment_table(attached),
        ],
        claims(found, attached),
        pictures(found),
        {"relations": {name: _figures(one) for name, one in found.items()}, "attachment": attached},
        origin,
    )
    result.write(out)
    return result


def attachment(
    data_folder: Path, vectors: Vectors, rng: np.random.Generator, quick: bool
) -> dict[str, dict[str, float]]:
    """Accuracy on the test set by preposition: linear, bilinear, and their interpolation (equation 7)."""
    train, dev, test = (read_quadruples(data_folder / "ppattach" / n) for n in ("training", "devset", "test"))
    small = vectors.compressed(100)
    models = {
        penalty: learn_judges(train, small, rng, AttachmentSettings(penalty=penalty))
        for penalty in (("nuclear",) if quick else ("nuclear", "l1", "l2"))
    }
    return {word: _attached(models, _only(dev, word), _only(test, word)) for word in (*ATTACHED, "all")}


def _attached(models: Mapping[str, AttachmentModel], dev: Quadruples, test: Quadruples) -> dict[str, float]:
    linear = next(iter(models.values())).judgements(test)["linear"]
    right = {"linear": (linear > 0) == test.to_noun}
    for penalty, model in models.items():
        _, mixture = interpolated(model, dev)
        right[penalty] = (model.judgements(test)["bilinear"] > 0) == test.to_noun
        right[f"linear + {penalty}"] = (mixture(test) > 0.5) == test.to_noun
    return {name: 100 * float(values.mean()) for name, values in right.items()} | {"n_items": len(test)}


def _only(items: Quadruples, preposition: str) -> Quadruples:
    if preposition == "all":
        return items
    return items.select(at for at, word in enumerate(items.preposition) if word.lower() == preposition)


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
    """Table 1: which of the nouns were trained on is said."""
    nouns = [noun for noun in ADJECTIVES if noun in model.vectors]
    rows = [
        (
            noun,
            "yes" if noun in model.split.train else "no",
            ", ".join(word for word, _ in model.top(noun, 10)),
            ADJECTIVES[noun],
        )
        for noun in nouns
    ]
    columns = ("noun", "trained on", "adjectives", "in the paper")
    return Table("Most likely adjectives (table 1)", columns, rows)


def attachment_table(attached: Mapping[str, Mapping[str, float]]) -> Table:
    names = [name for name in attached["all"] if name != "n_items"]
    rows: list[list[Cell]] = [
        [word, int(one["n_items"]), *(one[name] for name in names)] for word, one in attached.items()
    ]
    note = "In the paper interpolation improves all three prepositions, significantly only for (2.6 points)."
    return Table("Attachment accuracy (figure 3)", ("preposition", "items", *names), rows, note=note)


def claims(found: Mapping[str, Measured], attached: Mapping[str, Mapping[str, float]]) -> list[Claim]:
    better = [name for name, one in found.items() if one.best("nuclear") > one.best("unsupervised")]
    ten, all_ranks = (np.mean([one.curves["nuclear"][1][at] for one in found.values()]) for at in (3, -1))
    gains = {word: one["linear + nuclear"] - one["linear"] for word, one in attached.items()}
    return [
        Claim(
            "Supervised operators outperform the unsupervised inner product",
            f"so for {len(better)} of {len(found)} relations ({', '.join(better)})",
            len(better) == len(found),
        ),
        Claim(
            "About 20 dimensions are enough",
            f"10 dimensions reach {ten:.1f}%, all of them {all_ranks:.1f}%",
            bool(all_ranks - ten < 0.5),
        ),
        Claim(
            "Interpolating linear and bilinear models improves attachment (for: 2.6 points, significant)",
            _signed(gains),
            bool(gains["all"] > 0),
        ),
        *_capacity_claims({name: one for name, one in found.items() if "l1" in one.curves}),
    ]


def _capacity_claims(found: Mapping[str, Measured]) -> list[Claim]:
    """Against l1 and l2, where they were learned."""
    if not found:
        return []
    rivals = {name: max(one.best("l1"), one.best("l2")) - one.best("nuclear") for name, one in found.items()}
    small = {
        name: one.within("nuclear", FEW) - max(one.within("l1", FEW), one.within("l2", FEW))
        for name, one in found.items()
    }
    return [
        Claim(
            "Restricted in size, the nuclear norm does much better than l1 and l2",
            f"within {FEW:,} operations by {_signed(small)} points",
            min(small.values()) > 0,
        ),
        Claim(
            "Unrestricted, all penalties perform similarly",
            f"the better of l1 and l2 is above the nuclear norm by {_signed(rivals)} points",
            max(abs(value) for value in rivals.values()) < 3,
        ),
    ]


def _signed(values: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {value:+.1f}" for name, value in values.items())


def pictures(found: Mapping[str, Measured]) -> dict[str, Picture]:
    drawn = {}
    for name, one in found.items():
        figure = plot_learning_curves(
            one.curves, "operations per head", "pairwise accuracy, %", name.capitalize(), log_y=False
        )
        caption = (
            f"{name.capitalize()}: accuracy when models are cut down; popularity alone {one.popularity:.1f}%."
        )
        drawn[name.replace(" ", "-")] = Picture(to_svg(figure), caption, caption)
    drawn["map"] = word_map(found["adjectives given noun"].model)
    return drawn


def about(quick: bool) -> list[str]:
    said = [
        "Relations are of the English web treebank, all three parts; vectors are counted on other text, PPMI "
        "in a window of 2 (the paper: counts in a window of 10). Heads train, choose and test 60 : 10 : 30.",
        "Relations of prepositions have a tenth of the pairs: their operators are learned on the 300 leading "
        "directions of the vectors, and their similarity is added, chosen on validation heads; the "
        "unsupervised inner product has all directions.",
        "Attachment uses the paper's quadruples, and all prepositions beside its three; the share of "
        "equation 7 is chosen on the development set.",
    ]
    return [*said, "A quick run: two relations, one penalty."] if quick else said


def _figures(one: Measured) -> dict[str, object]:
    curves = {name: {"operations": x, "accuracy": y} for name, (x, y) in one.curves.items()}
    return {"popularity": one.popularity, "matched": one.matched, "curves": curves}
