"""`sigmastar learn tagger`: from tagged sentences to a tagger."""

from __future__ import annotations

import operator
from collections import Counter
from typing import Any

import click
import numpy as np

from sigmastar.core.cli.learning import (
    SPREAD,
    Learned,
    Method,
    built,
    learn,
    learn_options,
    method_option,
    parameter,
    spread_options,
)
from sigmastar.core.cli.options import auto_or_number
from sigmastar.core.errors import InputError
from sigmastar.core.progress import Say, counted, tell
from sigmastar.core.text_files import described_file
from sigmastar.taggers.data.columns import TAGGED, TaggedLayout, conllu_label, format_of
from sigmastar.taggers.data.sentences import TaggedSentences
from sigmastar.taggers.estimator import EMTagger, NgramTagger, SpectralTagger
from sigmastar.taggers.model.tagger import DECODINGS, Tagger

_LOOKED_AT = 200  # sentences that signed operators are tried on
REFINED = Method(
    SpectralTagger,
    ("n_states", "max_iter", "n_members", "features", "decoding", *SPREAD),
    {"method": "refined"},
)
SPECTRAL = Method(SpectralTagger, ("n_states", "decoding", "conditional", *SPREAD), {"method": "spectral"})
CHAIN = Method(SpectralTagger, ("max_iter", "decoding"), {"method": "chain"})
HANKEL = Method(SpectralTagger, ("n_states", "max_iter", "decoding"), {"method": "hankel-margin"})
EM = Method(EMTagger, ("n_states", "max_iter", "n_members", "decoding", *SPREAD))
METHODS = {
    "refined": REFINED,
    "spectral": SPECTRAL,
    "em": EM,
    "bigram": Method(NgramTagger, ("decoding",), {"order": 2}),
    "trigram": Method(NgramTagger, ("decoding",), {"order": 3}),
    "chain": CHAIN,
    "hankel-margin": HANKEL,
}


@click.command()
@click.argument("file", metavar="FILE")
@click.option(
    "--format",
    "file_format",
    type=click.Choice(TAGGED),
    help="Format of the data  [default: by the name of the file]",
)
@click.option(
    "--label",
    metavar="COLUMN",
    help="Column of the tags: a name of CoNLL-U, or a number from 1  [default: upos, or the last column]",
)
@click.option(
    "--observed",
    metavar="COLUMNS",
    help="Columns given beside the word for prediction, numbers or names with commas between, or none  "
    "[default: those between the word and the label; in CoNLL-U none]",
)
@click.option(
    "--own-features",
    "own",
    metavar="COLUMN",
    help="Column of features per token beside the built-in ones, with | between them, as feats of CoNLL-U; "
    "for chain and refined.",
)
@method_option(METHODS, "refined")
@parameter(
    "n_states",
    "--states",
    REFINED,
    SPECTRAL,
    EM,
    HANKEL,
    type=auto_or_number,
    metavar="N",
    help="Largest number of states per tag (auto: 32), number of states of the operators (auto: up to 80), "
    "or rank of the Hankel block (auto: 16)",
)
@parameter(
    "max_iter",
    "--iterations",
    REFINED,
    EM,
    CHAIN,
    HANKEL,
    type=auto_or_number,
    metavar="N",
    help="Number of iterations of EM (auto: 7) or of hankel-margin (auto: 60), or of passes of chain "
    "(auto: 5)",
)
@parameter(
    "n_members",
    "--members",
    REFINED,
    EM,
    type=auto_or_number,
    metavar="N",
    help="Number of refinements that are multiplied (auto: 2, or 4 without features)",
)
@parameter(
    "features", "--features/--no-features", REFINED, help="Product of refined tags with the chain of features"
)
@parameter(
    "decoding",
    "--decoding",
    *METHODS.values(),
    type=click.Choice(DECODINGS),
    help="Choice of tags by marginals of single tags, or by the sequence of largest pair marginals",
)
@parameter(
    "conditional",
    "--conditional",
    SPECTRAL,
    is_flag=True,
    help="Operators of P(tags | words), not of both together",
)
@spread_options()
@learn_options
def learn_tagger(
    file: str,
    file_format: str | None,
    label: str | None,
    observed: str | None,
    own: str | None,
    method: str,
    **options: Any,
) -> None:
    """Learn a tagger from FILE: one word per line with columns of labels, an empty line between sentences.

    refined: tags refined into states by spectral clusters and a few EM iterations, times a chain of features;
    the best. spectral: a weighted finite tagger, operators A_x^y. em: refined tags from a random start.
    bigram, trigram: hidden Markov models of tags. chain: a conditional random field over features.
    hankel-margin: the structured hinge under the nuclear norm of a Hankel block.
    """
    layout = TaggedLayout(file_format or format_of(file), label, _names(observed), own)
    if layout.format == "conllu":
        _require_column(label)
    given = {name: options.pop(name) for name in SpectralTagger.parameter_defaults() if name in options}
    estimator = built(METHODS, method, given)

    def work(estimator: Any, say: Say) -> Learned:
        read = layout.read(file)
        if file_format is None and layout.format == "columns" and read.is_numbered:
            raise click.UsageError(f"{file} looks like CoNLL-U, and is no .conllu; choose one with --format")
        sentences, tagger = read.sentences, estimator.fit(read.sentences).model_
        if method == "spectral" and (problem := _forgotten(tagger, sentences)):
            tell(problem, options["quiet"])
        return Learned(
            {"files": [described_file(file)], "n_sentences": len(sentences), "n_words": sentences.n_words},
            f"from {counted(len(sentences), 'sentence')} over {counted(len(tagger.tags), 'tag')}",
            layout={
                "format": layout.format,
                "label": layout.label,
                "observed": list(read.layout.observed or ()),
                **({} if own is None else {"own": own}),
            },
        )

    learn(estimator, method, work, **options)


def _forgotten(tagger: Tagger, sentences: TaggedSentences) -> str:
    """What to say of operators that do not even find the tags that they were learned from."""
    part = sentences.select(np.arange(min(len(sentences), _LOOKED_AT)))
    gold, usual = part.tags or [], Counter(zip(part.words, part.tags or [], strict=True))
    best = sum({word: count for (word, _), count in reversed(usual.most_common())}.values()) / len(gold)
    found = sum(map(operator.eq, tagger.predict(part), gold)) / len(gold)
    if 1.0 - found <= 0.1 + 3.0 * (1.0 - best):
        return ""
    return (
        f"warning: the operators find {found:.0%} of the tags that they were learned from, the most frequent "
        f"tag of each word {best:.0%}; use more --states, or --method refined"
    )


def _names(observed: str | None) -> tuple[str, ...] | None:
    if observed is None:
        return None
    return () if observed == "none" else tuple(name.strip() for name in observed.split(","))


def _require_column(label: str | None) -> None:
    """A wrong name is a wrong call, whatever is in the file."""
    try:
        conllu_label(label)
    except InputError as problem:
        raise click.UsageError(problem.problem) from None
