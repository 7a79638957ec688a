"""`sigmastar learn attachment`: where prepositional phrases belong, from quadruples and word vectors."""

from __future__ import annotations

import time

import click

from sigmastar import __version__
from sigmastar.bilexical.cli.inputs import read_vectors
from sigmastar.bilexical.data.quadruple_files import read_quadruples
from sigmastar.bilexical.estimator import PPAttachment
from sigmastar.bilexical.learn.attachment import PENALTIES
from sigmastar.bilexical.model.attachment import JUDGES
from sigmastar.core.cli.options import json_option, quiet_option, seed_option
from sigmastar.core.cli.paths import described_file, require_folder
from sigmastar.core.cli.printing import print_figures
from sigmastar.core.cli.progress import tell, watching
from sigmastar.core.model_files import save_model


@click.command(context_settings={"show_default": True})
@click.argument("train", metavar="TRAIN")
@click.option("--dev", required=True, metavar="DEV", help="Quadruples that weigh the votes of the judges.")
@click.option("--vectors", required=True, metavar="FILE", help="Word vectors, a model file or word2vec text.")
@click.option("--output", "-o", required=True, metavar="MODEL", help="The model file to write.")
@click.option(
    "--judge", "judges", type=click.Choice(JUDGES), multiple=True, default=JUDGES, help="With a vote."
)
@click.option(
    "--penalty", type=click.Choice(tuple(PENALTIES)), default="nuclear", help="On a preposition's matrices."
)
@click.option("--rank", type=click.IntRange(1), default=6, help="Of the matrices of a preposition, at most.")
@seed_option
@json_option
@quiet_option
def command(
    train: str,
    dev: str,
    vectors: str,
    output: str,
    judges: tuple[str, ...],
    penalty: str,
    rank: int,
    seed: int,
    as_json: bool,
    quiet: bool,
) -> None:
    """Learn from the quadruples of TRAIN: `id verb noun preposition noun V|N`, one a line."""
    require_folder(output)
    begin = time.perf_counter()
    with watching("reading", quiet) as say:
        items, weighing = read_quadruples(train), read_quadruples(dev)
        estimator = PPAttachment(
            read_vectors(vectors), judges, rank, penalty=penalty, random_state=seed, progress=say
        )
        model = estimator.fit(items, dev=weighing).model_
    learned = {
        "method": "pooled",
        "seed": seed,
        "settings": {"judges": list(judges), "penalty": penalty, "rank": rank},
        "data": {
            "files": [described_file(file) for file in (train, dev, vectors)],
            "n_items": len(items),
            "n_dev": len(weighing),
        },
        "votes": model.pool,
        "sigmastar": __version__,
        "seconds": round(time.perf_counter() - begin, 3),
    }
    save_model(model, output, learned)
    if as_json:
        print_figures(learned, as_json=True)
    votes = ", ".join(f"{name} {weight:.2f}" for name, weight in model.pool.items())
    tell(f"{output}: {len(items)} items, votes {votes}, {learned['seconds']:.1f} s", quiet)
