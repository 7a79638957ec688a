"""`sigmastar learn bilexical` and `sigmastar learn attachment`."""

from __future__ import annotations

from typing import Any

import click

from sigmastar.bilexical.data.pairs import Pairs
from sigmastar.bilexical.data.quadruples import read_quadruples
from sigmastar.bilexical.data.relations import is_treebank, pattern_of, read_relation
from sigmastar.bilexical.estimator.bilexical_operator import BilexicalOperator
from sigmastar.bilexical.estimator.pp_attachment import PPAttachment
from sigmastar.bilexical.learn.operator import SOLVERS
from sigmastar.bilexical.model.attachment import JUDGES, POOLINGS
from sigmastar.bilexical.model.operator import LowRankWeights
from sigmastar.bilexical.model.vectors import read_vectors
from sigmastar.core.cli.learning import Learned, Method, built, learn, learn_options, parameter
from sigmastar.core.text_files import described_file
from sigmastar.optimise.proximal import PENALTIES

GIVEN = ("head", "modifier")
OPERATOR = Method(
    BilexicalOperator, ("penalty", "rank", "strengths", "solver", "bias", "max_iter", "warm", "similarity")
)
ATTACHMENT = Method(PPAttachment, ("judges", "penalty", "rank", "pooling"))

vectors_option = click.option(
    "--vectors", required=True, metavar="FILE", help="Word vectors: a model file or word2vec text."
)


@click.command()
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@vectors_option
@click.option("--relation", metavar="NAME", help="Relation of a treebank: amod, obj, .. or prep:with.")
@click.option("--head-tag", default="", metavar="UPOS", help="Tag of the heads; any if left out.")
@click.option("--modifier-tag", default="", metavar="UPOS", help="Tag of the modifiers; any if left out.")
@click.option(
    "--given",
    type=click.Choice(GIVEN),
    default="head",
    show_default=True,
    help="Word that is known; the other one is asked for.",
)
@parameter(
    "penalty", "--penalty", OPERATOR, type=click.Choice(list(PENALTIES)), help="Penalty on the weights."
)
@parameter(
    "rank", "--rank", OPERATOR, type=click.IntRange(1), help="Number of dimensions at most, with nuclear."
)
@parameter(
    "strengths",
    "--strength",
    OPERATOR,
    type=click.FloatRange(0),
    multiple=True,
    help="Strength of the penalty, times 1/sqrt(pairs); repeatable: the best on validation heads is kept  "
    "[default: several]",
)
@parameter(
    "solver",
    "--solver",
    OPERATOR,
    type=click.Choice(SOLVERS),
    help="Solver for nuclear; other penalties use fista.",
)
@parameter(
    "bias",
    "--bias",
    OPERATOR,
    type=click.FloatRange(0),
    help="Size of the popularity term; 0 for the paper's form.",
)
@parameter(
    "max_iter", "--iterations", OPERATOR, type=click.IntRange(1), help="Iterations of each penalty at most."
)
@parameter("warm", "--warm", OPERATOR, is_flag=True, help="Start of each penalty where the one before ended.")
@parameter(
    "similarity",
    "--similarity",
    OPERATOR,
    type=click.FloatRange(0),
    help="Weight of the similarity of the vectors beside what is learned: for few pairs.",
)
@learn_options
def bilexical(files: tuple[str, ...], vectors: str, **given: Any) -> None:
    """Learn Pr(modifier | head) from the pairs of FILE: a treebank (CoNLL-U), or `head TAB modifier` lines.

    60% of the heads train, 10% choose the penalty and when to stop, 30% are kept for `evaluate` on the same
    file. Pairs with a word that has no vector are left out.
    """
    layout = {name: given.pop(name) for name in ("relation", "head_tag", "modifier_tag", "given")}
    for path in files:
        if is_treebank(path) and not layout["relation"]:
            raise click.UsageError(f"{path} is a treebank; --relation is needed, such as amod or prep:with")

    def work(operator: Any, say: Any) -> Learned:
        pairs = Pairs.of(read_relation(files, pattern_of(layout), layout["given"]))
        operator.set_params(vectors=read_vectors(vectors)).fit(pairs)
        model, best = operator.model_, max(operator.validation_scores_.values())
        return Learned(
            {"files": [described_file(file) for file in (*files, vectors)], "n_pairs": pairs.n_pairs},
            f"{len(model.modifiers)} modifiers, {len(model.split.train)} heads, {pairs.n_pairs} pairs "
            f"({operator.n_left_out_} left out: no vector), validation accuracy {100 * best:.1f}%",
            layout,
            {
                "n_left_out": operator.n_left_out_,
                "strength": operator.strength_,
                "validation": {str(c): value for c, value in operator.validation_scores_.items()},
                "rank": model.weights.rank if isinstance(model.weights, LowRankWeights) else None,
            },
        )

    settings, options = _of_method(OPERATOR, given)
    learn(
        built({"bilexical": OPERATOR}, "bilexical", settings),
        settings["penalty"] or OPERATOR.estimator.parameter_defaults()["penalty"],
        work,
        **options,
    )


@click.command()
@click.argument("train", metavar="TRAIN")
@click.option(
    "--dev",
    metavar="DEV",
    help="Quadruples that weigh the votes of the judges; a share of TRAIN if left out.",
)
@vectors_option
@parameter(
    "judges",
    "--judge",
    ATTACHMENT,
    type=click.Choice(JUDGES),
    multiple=True,
    help="Judge with a vote; repeatable.",
)
@parameter(
    "penalty",
    "--penalty",
    ATTACHMENT,
    type=click.Choice(list(PENALTIES)),
    help="Penalty on the matrices of a preposition.",
)
@parameter(
    "rank",
    "--rank",
    ATTACHMENT,
    type=click.IntRange(1),
    help="Rank of the matrices of a preposition at most.",
)
@parameter(
    "pooling",
    "--pooling",
    ATTACHMENT,
    type=click.Choice(POOLINGS),
    help="Sum of weighed log-odds of the judges, or interpolation of their probabilities.",
)
@learn_options
def attachment(train: str, dev: str | None, vectors: str, **given: Any) -> None:
    """Learn where prepositional phrases attach from TRAIN: `id verb noun preposition noun V|N` lines."""

    def work(estimator: Any, say: Any) -> Learned:
        items, weighing = read_quadruples(train), None if dev is None else read_quadruples(dev)
        model = estimator.set_params(vectors=read_vectors(vectors)).fit(items, dev=weighing).model_
        votes = ", ".join(f"{name} {weight:.2f}" for name, weight in model.pool.items())
        files = [file for file in (train, dev, vectors) if file is not None]
        data = {"files": [described_file(file) for file in files], "n_items": len(items)}
        return Learned(
            data if weighing is None else {**data, "n_dev": len(weighing)},
            f"{len(items)} items, votes {votes}",
            found={"votes": model.pool},
        )

    settings, options = _of_method(ATTACHMENT, given)
    learn(built({"pooled": ATTACHMENT}, "pooled", settings), "pooled", work, **options)


def _of_method(method: Method, given: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Options that set parameters of the estimator, and those of all commands that learn."""
    settings = {name: given.pop(name) for name in method.parameters}
    return {name: None if value == () else value for name, value in settings.items()}, given
