"""`sigmastar vectors`: distributional word vectors from running text."""

from __future__ import annotations

import time

import click

from sigmastar import __version__
from sigmastar.bilexical.counts.associations import WEIGHTINGS
from sigmastar.bilexical.learn.vectors import learn_vectors
from sigmastar.bilexical.model.word2vec import write_word2vec
from sigmastar.core.atomic import atomic_write
from sigmastar.core.cli.options import json_option, quiet_option
from sigmastar.core.cli.paths import described_file, require_folder
from sigmastar.core.cli.printing import print_figures
from sigmastar.core.cli.progress import tell, watching
from sigmastar.core.model_files import save_model
from sigmastar.core.parallel import one_blas_thread


@click.command(context_settings={"show_default": True})
@click.argument("files", metavar="TEXT...", nargs=-1, required=True)
@click.option("--output", "-o", required=True, metavar="VECTORS", help="The file to write.")
@click.option("--window", type=click.IntRange(1), default=2, help="Words to each side.")
@click.option(
    "--contexts", type=click.IntRange(1), default=2000, help="The most frequent words, as contexts."
)
@click.option(
    "--sided", is_flag=True, help="A context on the left is another than on the right: for bilexical."
)
@click.option("--weighting", type=click.Choice(list(WEIGHTINGS)), default="ppmi", help="Of the counts.")
@click.option("--min-count", type=click.IntRange(1), default=2, help="Rarer words get no vector.")
@click.option("--dimension", type=click.IntRange(1), help="Compress to so many; as many as contexts without.")
@click.option("--keep-case", is_flag=True, help="Do not lower-case the text.")
@click.option("--word2vec", is_flag=True, help="Write word2vec's text format instead of a model file.")
@json_option
@quiet_option
def command(
    files: tuple[str, ...],
    output: str,
    window: int,
    contexts: int,
    sided: bool,
    weighting: str,
    min_count: int,
    dimension: int | None,
    keep_case: bool,
    word2vec: bool,
    as_json: bool,
    quiet: bool,
) -> None:
    """Count the words around each word of TEXT, one tokenised sentence a line, and make vectors of that."""
    require_folder(output)
    begin = time.perf_counter()
    with watching("counting", quiet), one_blas_thread():
        vectors = learn_vectors(
            files, window, contexts, WEIGHTINGS[weighting], min_count, dimension, not keep_case, sided
        )
    settings = {
        "window": window,
        "contexts": contexts,
        "sided": sided,
        "weighting": weighting,
        "min_count": min_count,
        "dimension": dimension,
        "lower_case": not keep_case,
    }
    learned = {
        "settings": settings,
        "data": {"files": [described_file(file) for file in files]},
        "n_words": len(vectors),
        "dimension": vectors.dimension,
        "sigmastar": __version__,
        "seconds": round(time.perf_counter() - begin, 3),
    }
    if word2vec:
        with atomic_write(output) as stream:
            write_word2vec(vectors, stream)
    else:
        save_model(vectors, output, learned)
    if as_json:
        print_figures(learned, as_json=True)
    tell(f"{output}: {len(vectors)} words, {vectors.dimension} dimensions, {learned['seconds']:.1f} s", quiet)
