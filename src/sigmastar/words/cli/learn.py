"""`sigmastar learn words`: from text to a model file, through the estimator."""

from __future__ import annotations

from typing import Any

import click
import numpy as np

from sigmastar.automata.data.formats import FORMATS, Layout
from sigmastar.automata.data.strings import Strings
from sigmastar.core.alphabet import Alphabet
from sigmastar.core.cli.learning import Learned, Method, built, learn, learn_options, parameter
from sigmastar.core.cli.options import auto_or_number
from sigmastar.core.model_format import hash_strings
from sigmastar.core.progress import Say, counted
from sigmastar.core.text_files import described_file
from sigmastar.words.estimator import PARAMETERS, WordModel
from sigmastar.words.learn.word_model import STARTS

_NAMES = ("n_states", "order", "stream", "start", "max_iter", "held_out", "device", "parameters")
METHODS = {"words": Method(WordModel, _NAMES)}
WORDS = METHODS["words"]


@click.command()
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@click.option("--validation", metavar="FILE", help="Text to choose by, instead of a share of FILE...")
@parameter(
    "n_states",
    "--states",
    WORDS,
    type=auto_or_number,
    metavar="auto|N",
    help="Number of hidden states; auto: one per 1,000 tokens, 4 at least and 2,048 at most.",
)
@parameter("order", "--order", WORDS, type=click.IntRange(0), help="Length of the n-grams mixed in; 0: none.")
@parameter("stream", "--stream", WORDS, is_flag=True, help="Lines as one text, each the next of it.")
@parameter("start", "--start", WORDS, type=click.Choice(list(STARTS)), help="First states of tokens.")
@parameter("max_iter", "--max-iter", WORDS, type=click.IntRange(1), help="Number of iterations of EM.")
@parameter(
    "held_out", "--held-out", WORDS, type=click.FloatRange(0, 0.5), help="Share of the lines to choose by."
)
@parameter(
    "device",
    "--device",
    WORDS,
    type=click.Choice(["cpu", "cuda", "auto"]),
    help="Place of the work: the processor, or a GPU by PyTorch.",
)
@parameter(
    "parameters",
    "--parameters",
    WORDS,
    type=click.Choice(list(PARAMETERS)),
    help="Form of the probabilities: counts that back off, or vectors trained by PyTorch.",
)
@click.option("--separator", metavar="TEXT", help="Text between words  [default: blanks]")
@click.option("--characters", is_flag=True, default=None, help="One symbol per character.")
@click.option(
    "--format", "file_format", type=click.Choice(list(FORMATS)), help="Format of the text  [default: lines]"
)
@learn_options
def command(
    files: tuple[str, ...],
    validation: str | None,
    file_format: str | None,
    characters: bool | None,
    separator: str | None,
    **options: Any,
) -> None:
    """Learn a language model of words from the lines of FILE... (- is standard input).

    A hidden Markov model whose states are clusters of tokens, refined by EM, with modified Kneser-Ney n-grams
    mixed in by context. The figures are perplexities per word of held-out lines, ends of lines counted.
    """
    if characters and separator is not None:
        raise click.UsageError("give --separator or --characters, not both")
    layout = Layout(file_format or "lines", bool(characters), separator)

    def work(estimator: Any, say: Say) -> Learned:
        strings = _read(files, layout)
        if validation is not None:
            estimator.set_params(validation=layout.read(validation, strings.alphabet))
        say("learning")
        estimator.fit(strings)
        data = {
            "files": [described_file(path) for path in files],
            "n_strings": len(strings),
            "n_symbols": strings.n_symbols,
            "sha256": hash_strings(strings),
        }
        return Learned(data, _summary(estimator, strings), layout.to_header(), _findings(estimator))

    shared = {name: options.pop(name) for name in ("output", "threads", "seed", "as_json", "quiet")}
    options["stream"] = options["stream"] or None
    learn(built(METHODS, "words", options), "words", work, **shared)


def _read(paths: tuple[str, ...], layout: Layout) -> Strings:
    """One corpus of several files, over all of their words."""
    if paths.count("-") > 1:
        raise click.UsageError("standard input (-) can be read once only")
    corpora = [layout.read(path) for path in paths]
    if len(corpora) == 1:
        return corpora[0]
    alphabet = Alphabet(sorted({str(word) for corpus in corpora for word in corpus.alphabet}))
    offsets = np.concatenate([[0], *(corpus.lengths for corpus in corpora)]).cumsum()
    return Strings(alphabet, np.concatenate([c.recoded(alphabet).codes for c in corpora]), offsets)


def _findings(estimator: Any) -> dict[str, Any]:
    fitted = vars(estimator)
    names = ("n_states", "held_out_perplexity", "states_perplexity", "n_iterations")
    return {name: fitted[f"{name}_"] for name in names if f"{name}_" in fitted}


def _summary(estimator: Any, strings: Strings) -> str:
    found = _findings(estimator)
    told = ""
    if "held_out_perplexity" in found:
        told = f" (held-out perplexity {found['held_out_perplexity']:.1f}"
        told += f", of the states alone {found['states_perplexity']:.1f})"
    states, lines = counted(found["n_states"], "state"), counted(len(strings), "line")
    return f"{states}, from {lines} over {counted(len(strings.alphabet), 'word')}{told}"
