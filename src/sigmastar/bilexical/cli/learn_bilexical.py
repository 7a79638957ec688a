"""`sigmastar learn bilexical`: which modifiers fit a head, from pairs and word vectors."""

from __future__ import annotations

import time
from typing import Any

import click

from sigmastar import __version__
from sigmastar.bilexical.cli.inputs import GIVEN, read_relation, read_vectors
from sigmastar.bilexical.data.pairs import Pairs
from sigmastar.bilexical.estimator import BilexicalOperator
from sigmastar.bilexical.learn.bilexical import SOLVERS
from sigmastar.bilexical.model.bilexical import FullWeights
from sigmastar.core.cli.options import json_option, quiet_option, seed_option
from sigmastar.core.cli.paths import described_file, require_folder
from sigmastar.core.cli.printing import print_figures
from sigmastar.core.cli.progress import tell, watching
from sigmastar.core.model_files import save_model
from sigmastar.optimise.proximal import PENALTIES


@click.command(context_settings={"show_default": True})
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@click.option("--output", "-o", required=True, metavar="MODEL", help="The model file to write.")
@click.option("--vectors", required=True, metavar="FILE", help="Word vectors, a model file or word2vec text.")
@click.option("--relation", metavar="NAME", help="Of a treebank: amod, obj, .. or prep:with.")
@click.option("--head-tag", metavar="UPOS", help="Only heads of this tag.")
@click.option("--modifier-tag", metavar="UPOS", help="Only modifiers of this tag.")
@click.option(
    "--given", type=click.Choice(GIVEN), default="head", help="Which word is known; the other is asked."
)
@click.option("--penalty", type=click.Choice(list(PENALTIES)), default="nuclear", help="On the weights.")
@click.option("--rank", type=click.IntRange(1), default=40, help="Dimensions at most, with nuclear.")
@click.option(
    "--strength",
    type=click.FloatRange(0),
    multiple=True,
    help="Penalties to try, times 1/sqrt(pairs); repeatable.",
)
@click.option(
    "--solver", type=click.Choice(SOLVERS), default="factored", help="For nuclear; others use fista."
)
@click.option("--bias", type=click.FloatRange(0), default=0.06, help="Of popularity; 0 for the paper's form.")
@click.option("--warm", is_flag=True, help="Start each penalty where the one before it ended.")
@click.option(
    "--similarity",
    type=click.FloatRange(0),
    default=0.0,
    help="Of the vectors, added to what is learned: for few pairs and vectors of few dimensions.",
)
@seed_option
@json_option
@quiet_option
def command(
    files: tuple[str, ...], output: str, vectors: str, seed: int, as_json: bool, quiet: bool, **settings: Any
) -> None:
    """Learn Pr(modifier | head) from the pairs of FILE: a treebank (CoNLL-U), or `head TAB modifier` lines.

    60% of the heads train, 10% choose the penalty and when to stop, 30% are kept for `evaluate` on the same
    file. Pairs with a word that has no vector are left out.
    """
    require_folder(output)
    begin = time.perf_counter()
    with watching("reading", quiet) as say:
        pairs = Pairs.of(read_relation(files, settings))
        operator = BilexicalOperator(
            read_vectors(vectors),
            settings["penalty"],
            settings["rank"],
            settings["strength"],
            settings["solver"],
            settings["bias"],
            warm=settings["warm"],
            similarity=settings["similarity"],
            random_state=seed,
            progress=say,
        ).fit(pairs)
    model = operator.model_
    learned = {
        "method": settings["penalty"],
        "seed": seed,
        "settings": settings,
        "data": {"files": [described_file(file) for file in (*files, vectors)], "n_pairs": pairs.n_pairs},
        "n_left_out": operator.n_left_out_,
        "strength": operator.strength_,
        "validation": {str(strength): value for strength, value in operator.validation_scores_.items()},
        "rank": model.weights.rank if not isinstance(model.weights, FullWeights) else None,
        "sigmastar": __version__,
        "seconds": round(time.perf_counter() - begin, 3),
    }
    save_model(model, output, learned)
    if as_json:
        print_figures(learned, as_json=True)
    best = 100 * max(operator.validation_scores_.values())
    tell(
        f"{output}: {len(model.modifiers)} modifiers, {len(model.split.train)} heads, {pairs.n_pairs} pairs "
        f"({operator.n_left_out_} left out: no vector), validation accuracy {best:.1f}%, "
        f"{learned['seconds']:.1f} s",
        quiet,
    )
