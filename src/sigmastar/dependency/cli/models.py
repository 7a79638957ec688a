"""Commands on dependency parsers: evaluate, predict, score, sample, show, convert.

`show` prints what a parser is and what decides, or its automata as Graphviz text.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import click
import numpy as np

from sigmastar.automata.model.att import write_att
from sigmastar.automata.model.automaton import WeightedAutomaton
from sigmastar.core.arrays import Indices, Int32s
from sigmastar.core.atomic import atomic_write, refuse_terminal, write_lines
from sigmastar.core.cli.options import (
    device_option,
    json_option,
    model_argument,
    output_option,
    quiet_option,
    sample_options,
    threads_option,
)
from sigmastar.core.cli.printing import print_figures, with_interval
from sigmastar.core.errors import InputError
from sigmastar.core.model_reading import load_model, read_header, save_model
from sigmastar.core.progress import Say, tell, watching
from sigmastar.core.resources import limited_threads
from sigmastar.core.time_estimates import foretell
from sigmastar.core.torch_device import placed
from sigmastar.dependency.data.conllu import format_conllu, format_dp, is_dp, read_treebank
from sigmastar.dependency.data.sequences import DIRECTIONS, ROOT
from sigmastar.dependency.data.treebank import DependencyTreebank
from sigmastar.dependency.learn.dfa import approximate_dfa
from sigmastar.dependency.metrics import attachment
from sigmastar.dependency.model.parser import DependencyParser

BATCH = 1000  # sentences that are parsed at a time
_SHORT, _POWER = 100, 2.0  # words that are parsed at once; of these the time grows so with the length
NO_PART = "the head automata beside them take no part in the parse"


def _parsed(
    parser: DependencyParser, treebank: DependencyTreebank, say: Say, quiet: bool = False
) -> tuple[Int32s, int]:
    """The heads of all words, and how many sentences needed the fallback."""
    parser.require_lengths(treebank.lengths)
    _foretell("parsing", treebank, parser.parse, quiet)
    heads, n_fallback = [np.zeros(0, dtype=np.int32)], 0
    for begin in range(0, len(treebank), BATCH):
        say("parsing", begin / len(treebank))
        parse = parser.parse(treebank[begin : begin + BATCH])
        heads.append(parse.heads)
        n_fallback += parse.n_fallback
    return np.concatenate(heads), n_fallback


def _foretell(
    work: str, treebank: DependencyTreebank, run: Callable[[DependencyTreebank], object], quiet: bool
) -> None:
    """Tell how long work on sentences takes."""

    def on_begins(numbers: Indices, most: int) -> None:
        some = treebank.select(numbers)
        cut = [slice(at, min(at + most, end)) for at, end in pairwise(some.sentence_offsets.tolist())]
        forms, tags = ([column[part] for part in cut] for column in (some.form, some.upos))
        with limited_threads(1):
            run(DependencyTreebank.of(forms, tags, xpos=[some.xpos[part] for part in cut]))

    foretell(work, treebank.lengths, on_begins, _POWER, _SHORT, quiet=quiet)


@click.command()
@model_argument
@click.argument("file", metavar="FILE")
@threads_option
@device_option
@json_option
@quiet_option
def evaluate(model: str, file: str, threads: int | None, device: str, as_json: bool, quiet: bool) -> None:
    """Measure the parser MODEL on the treebank FILE: uas, uas_no_punct and las, with 95% intervals."""
    parser = read_parser(model, device)
    with watching("parsing", quiet) as say, limited_threads(threads):
        gold = read_treebank(file)
        heads, n_fallback = _parsed(parser, gold, say, quiet)
        found = parser.attached(gold, heads)
        scores = attachment(gold, found, np.random.default_rng(0))
    figures: dict[str, Any] = {"n_sentences": len(gold), "n_words": scores.n_words}
    figures |= {**with_interval("uas", scores.uas), **with_interval("uas_no_punct", scores.uas_no_punct)}
    las = scores.las if parser.labeller is not None else None
    if las is not None or as_json:
        figures |= with_interval("las", las)
    print_figures({**figures, "n_fallback": n_fallback}, as_json)


@click.command()
@model_argument
@click.argument("file", metavar="FILE")
@threads_option
@device_option
@output_option
@quiet_option
def predict(model: str, file: str, threads: int | None, device: str, output: str, quiet: bool) -> None:
    """The sentences of FILE with the heads and labels that the parser MODEL finds, in the format of FILE."""
    parser = read_parser(model, device)
    with watching("parsing", quiet) as say, limited_threads(threads):
        treebank = read_treebank(file, ignore_heads=True)
        heads, n_fallback = _parsed(parser, treebank, say, quiet)
        found = parser.attached(treebank, heads)
    _write(found, output, short=is_dp(file))
    if n_fallback:
        tell(f"{n_fallback} sentences were parsed by the deterministic automata", quiet)


@click.command()
@model_argument
@click.argument("file", metavar="FILE")
@click.option("--automata", is_flag=True, help="Probabilities under the head automata, whatever decides.")
@device_option
@output_option
@quiet_option
def score(model: str, file: str, automata: bool, device: str, output: str, quiet: bool) -> None:
    """Natural log-probabilities under what decides the parses of MODEL, one per line.

    Where head automata decide: of sentence and tree where FILE has heads, else of the sentence. Where trained
    arcs decide: of the tree given the sentence, for which FILE needs heads.
    """
    parser = read_parser(model)
    with watching("scoring", quiet):
        scorer = parser.grammar if automata else parser
        treebank = read_treebank(file, need_heads=False)
        if device != "cpu" and treebank.has_heads:
            raise InputError("has heads: the processor scores trees, leave --device out", file=file)
        if device == "cpu" and not treebank.has_heads:
            _foretell("scoring", treebank, scorer.log_probability, quiet)
        logs = placed(scorer, device).log_probability(treebank).tolist()
    write_lines(output, map(repr, logs))


@click.command()
@sample_options("trees", "Largest number of words; larger trees are drawn again.")
def sample(model: str, n_samples: int, max_length: int, seed: int, output: str, quiet: bool) -> None:
    """Trees over tags drawn from the head automata of MODEL, as CoNLL-U; words are `_`.

    They have one root each where the treebank had.
    """
    parser = read_parser(model)
    if not parser.is_generative:
        tell(f"drawn from the head automata; {parser.decided_by} decide the parses of this model", quiet)
    with watching("sampling", quiet):
        trees = parser.sample(n_samples, np.random.default_rng(seed), max_length)
    _write(trees, output)


def read_parser(model: str, device: str = "cpu") -> DependencyParser:
    """The parser of a model file, its marginals on a device."""
    parser: DependencyParser = placed(load_model(model, "dependency"), device)
    return parser


def _write(treebank: DependencyTreebank, output: str, short: bool = False) -> None:
    write_lines(output, format_dp(treebank) if short else format_conllu(treebank))


_DRAWN = 2000  # sequences that a drawing is made from
_head_option = click.option("--head", metavar="TAG", help="Head whose automaton it is; * is the root.")
_direction_option = click.option(
    "--direction",
    type=click.Choice(DIRECTIONS),
    default="right",
    show_default=True,
    help="Side of the modifiers of --head.",
)


@click.command()
@model_argument
@click.option("--dot", is_flag=True, help="Automaton of one head as Graphviz text.")
@_head_option
@_direction_option
@json_option
@output_option
def show(model: str, dot: bool, head: str | None, direction: str, as_json: bool, output: str) -> None:
    """What the parser MODEL is, and what decides its parses; with --dot the automaton of one head."""
    parser = read_parser(model)
    if dot:
        if head is None:
            raise click.UsageError(
                "--dot of a dependency grammar needs --head, and --direction left or right"
            )
        sort = _sort(parser, head, direction)
        name = " ".join(_names(parser)[sort])
        if not parser.is_generative:
            name += f" (beside the {parser.decided_by} that decide)"
        drawn = _drawn(parser.automata.automaton(sort), name)
        write_lines(output, drawn.splitlines())
        return
    learned = read_header(model)["learned"]
    facts = _facts(parser, model, learned)
    if as_json:
        print_figures({**facts, "learned": learned}, as_json, output)
        return
    if not parser.is_generative:
        facts["decided_by"] = f"{parser.decided_by}; {NO_PART}"
    print_figures({name: value for name, value in facts.items() if value}, as_json, output)


@click.command()
@model_argument
@click.option(
    "--to", "target", type=click.Choice(["att", "automaton"]), required=True, help="Format to write."
)
@_head_option
@_direction_option
@output_option
def convert(model: str, target: str, head: str | None, direction: str, output: str) -> None:
    """Write the automaton of one head of MODEL: its strings are sequences of modifiers, the nearest first.

    att is OpenFst's text, for weights without signs; automaton is a model file for all commands on automata.
    """
    if head is None:
        raise click.UsageError(f"--to {target} of a dependency grammar needs --head, and --direction")
    parser = read_parser(model)
    automaton = parser.automata.automaton(_sort(parser, head, direction))
    if target == "automaton":
        refuse_terminal(output)
        save_model(automaton, output, {"converted": "dependency", "head": head, "direction": direction})
        return
    try:
        with atomic_write(output) as stream:
            write_att(automaton, stream)
    except InputError as problem:
        raise InputError(f"{problem.problem} (--method em or det has none)", file=model) from None


def _facts(parser: DependencyParser, model: str, learned: dict[str, Any]) -> dict[str, Any]:
    return {
        "file": model,
        "family": "dependency",
        "symbols": parser.vocabulary.symbols,
        "n_symbols": len(parser.alphabet),
        "n_automata": parser.automata.n_sorts,
        "max_states": int(parser.automata.n_states.max()),
        "decided_by": parser.decided_by,
        "n_words": len(parser.vocabulary.words),
        "n_labels": 0 if parser.labeller is None else len(parser.labeller.labels),
        "method": str(learned.get("method", "")),
    }


def _drawn(automaton: WeightedAutomaton, name: str) -> str:
    """The deterministic approximation, on sequences that the automaton itself draws."""
    strings = automaton.sample(_DRAWN, np.random.default_rng(0), 50)
    return approximate_dfa(automaton, strings, np.ones(len(strings))).to_dot(name)


def _names(parser: DependencyParser) -> list[tuple[str, str]]:
    symbols = map(str, parser.alphabet)
    return [*((symbol, direction) for symbol in symbols for direction in DIRECTIONS), (ROOT, DIRECTIONS[1])]


def _sort(parser: DependencyParser, head: str, direction: str) -> int:
    """The number of an automaton, by its head; a tag that one symbol alone begins or ends with will do."""
    symbols = [*map(str, parser.alphabet), ROOT]
    alike = [symbol for symbol in symbols if head in (symbol, *symbol.split("+"))]
    if head not in symbols and len(alike) != 1:
        near = alike or difflib.get_close_matches(head, symbols, 5) or symbols
        guess = "did you mean" if near is not symbols else "heads are"
        raise InputError(f"there is no head {head!r}; {guess} {' '.join(near)}")
    found = head if head in symbols else alike[0]
    return _names(parser).index((found, DIRECTIONS[1] if found == ROOT else direction))
