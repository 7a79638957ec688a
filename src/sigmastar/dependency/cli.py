"""Commands of dependency parsers: CoNLL-U in, CoNLL-U out."""

from __future__ import annotations

import difflib
from typing import Any

import click
import numpy as np

from sigmastar.automata.model.automaton import WeightedAutomaton
from sigmastar.core.cli.learning import Learned, Method, built, learn, learn_options, parameter
from sigmastar.core.cli.options import (
    auto_or_number,
    json_option,
    model_argument,
    output_option,
    quiet_option,
    seed_option,
    threads_option,
)
from sigmastar.core.cli.printing import print_figures, with_interval, write_lines
from sigmastar.core.cli.progress_bar import tell, watching
from sigmastar.core.errors import InputError
from sigmastar.core.model_files import load_model, read_header
from sigmastar.core.parallel import limited_threads
from sigmastar.core.text_files import described_file
from sigmastar.dependency.data.conllu import format_conllu, format_dp, is_dp, read_treebank
from sigmastar.dependency.data.sequences import DIRECTIONS, ROOT, SYMBOLS
from sigmastar.dependency.data.treebank import DependencyTreebank
from sigmastar.dependency.estimator.dependency_grammars import (
    DeterministicDependencyGrammar,
    EMDependencyGrammar,
    SpectralDependencyGrammar,
)
from sigmastar.dependency.learn.dfa import approximate_dfa
from sigmastar.dependency.metrics import attachment
from sigmastar.dependency.model.decoders import DECODERS, TrainedArcsDecoder
from sigmastar.dependency.model.parser import DependencyParser

_COMMON = ("symbols", "arcs", "distances", "arc_epochs")
_ALONE = {"arcs": "none"}
METHODS = {
    "spectral+em": Method(SpectralDependencyGrammar, (*_COMMON, "n_states", "max_iter")),
    "spectral": Method(SpectralDependencyGrammar, (*_COMMON, "n_states"), {"method": "spectral", **_ALONE}),
    "bigram": Method(SpectralDependencyGrammar, (*_COMMON, "n_states"), {"method": "bigram", **_ALONE}),
    "em": Method(EMDependencyGrammar, (*_COMMON, "n_states", "max_iter")),
    "det": Method(DeterministicDependencyGrammar, (*_COMMON, "decoding"), {"first": False}),
    "det+f": Method(DeterministicDependencyGrammar, (*_COMMON, "decoding")),
}
LEXICAL = "lexical"
NO_PART = "the head automata serve score, sample and show --dot, and take no part in the parse"
_DRAWN = 2000  # sequences that a drawing is made from

_BEST, _EM, _COUNTED = METHODS["spectral+em"], METHODS["em"], METHODS["det+f"]


@click.command()
@click.argument("file", metavar="FILE")
@click.option(
    "--method",
    type=click.Choice(list(METHODS)),
    default="spectral+em",
    show_default=True,
    help="Way to learn the head automata.",
)
@parameter(
    "symbols",
    "--symbols",
    _BEST,
    type=click.Choice([*SYMBOLS, LEXICAL]),
    help="Symbols that automata read; lexical is upos+xpos with words in the trained arcs.",
)
@parameter(
    "n_states",
    "--states",
    _BEST,
    type=auto_or_number,
    metavar="N",
    help="Largest number of states per automaton; auto: chosen by held-out likelihood.",
)
@click.option(
    "--arcs/--no-arcs",
    default=None,
    help="Trained arcs that decide the parse, or head automata that do  [default: arcs with spectral+em or "
    "lexical symbols, else no arcs]",
)
@parameter(
    "decoding",
    "--decoding",
    _COUNTED,
    type=click.Choice(list(DECODERS)),
    help="Decision of det and det+f: the tree of the most probable arcs, or the most probable tree.",
)
@parameter(
    "distances",
    "--distances/--no-distances",
    _BEST,
    help="Weights of arcs by how far they reach, as counted.",
)
@parameter(
    "max_iter",
    "--iterations",
    _BEST,
    _EM,
    type=click.IntRange(1),
    metavar="N",
    help="Largest number of EM iterations.",
)
@parameter(
    "arc_epochs",
    "--epochs",
    _BEST,
    type=click.IntRange(1),
    metavar="N",
    help="Number of passes over the trees when arcs are trained.",
)
@learn_options
def learn_dependency(file: str, method: str, symbols: str | None, arcs: bool | None, **options: Any) -> None:
    """Learn a projective dependency parser from FILE, a treebank in CoNLL-U or `word TAG head` (.dp).

    spectral+em: states from two views (correlations, clusters, counts), then EM; trained arcs and siblings
    are learned beside and decide the parse alone, which is slower and by far the best. spectral: automata
    recovered from long pasts and futures. bigram: the same from the statistics of Luque et al. 2012. em:
    from a random start. det: one state per head and direction. det+f: another before the first modifier.
    """
    shared = {name: options.pop(name) for name in ("output", "threads", "seed", "as_json", "quiet")}
    given = {**options, "symbols": symbols, "arcs": None if arcs is None else "trained" if arcs else "none"}
    if symbols == LEXICAL:
        if arcs is False:
            raise click.UsageError("--symbols lexical puts words into the arcs: it cannot go without them")
        given |= {"symbols": "upos+xpos", "arcs": "lexical"}
    if given["decoding"] == "viterbi" and given["arcs"] in ("trained", "lexical"):
        raise click.UsageError("--decoding viterbi is for automata alone, without trained arcs")

    def work(estimator: Any, say: Any) -> Learned:
        treebank = read_treebank(file)
        parser = estimator.fit(treebank).model_
        size = f"{len(treebank)} sentences over {len(parser.alphabet)} symbols"
        data = {"files": [described_file(file)], "n_sentences": len(treebank), "n_words": treebank.n_words}
        return Learned(data, f"decided by {parser.decided_by}, from {size}")

    learn(built(METHODS, method, given), method, work, **shared)


@click.command()
@model_argument
@click.argument("file", metavar="FILE")
@threads_option
@json_option
@quiet_option
def evaluate(model: str, file: str, threads: int | None, as_json: bool, quiet: bool) -> None:
    """Measure the parser MODEL on the treebank FILE: uas, uas_no_punct and las, with 95% intervals."""
    parser = _parser(model)
    with watching("parsing", quiet), limited_threads(threads):
        gold = read_treebank(file)
        parse = parser.parse(gold)
        found = gold.with_heads(parse.heads, parser.label(gold, parse.heads))
        scores = attachment(gold, found, np.random.default_rng(0))
    figures: dict[str, Any] = {"n_sentences": len(gold), "n_words": scores.n_words}
    figures |= {**with_interval("uas", scores.uas), **with_interval("uas_no_punct", scores.uas_no_punct)}
    figures |= with_interval("las", scores.las if parser.labeller is not None else None)
    print_figures({**figures, "n_fallback": parse.n_fallback}, as_json)


@click.command()
@model_argument
@click.argument("file", metavar="FILE")
@threads_option
@output_option
@quiet_option
def predict(model: str, file: str, threads: int | None, output: str, quiet: bool) -> None:
    """The sentences of FILE with the heads and labels that the parser MODEL finds, in the format of FILE."""
    parser = _parser(model)
    with watching("parsing", quiet), limited_threads(threads):
        treebank = read_treebank(file, ignore_heads=True)
        parse = parser.parse(treebank)
        found = treebank.with_heads(parse.heads, parser.label(treebank, parse.heads))
    _write(found, output, short=is_dp(file))
    if parse.n_fallback:
        tell(f"{parse.n_fallback} sentences were parsed by the deterministic automata", quiet)


@click.command()
@model_argument
@click.argument("file", metavar="FILE")
@output_option
@quiet_option
def score(model: str, file: str, output: str, quiet: bool) -> None:
    """Natural log-probabilities under the head automata of MODEL, one per line.

    Of sentence and tree where FILE has heads, else of the sentence. Trained arcs are no probabilities, and
    play no part.
    """
    parser = _parser(model)
    with watching("scoring", quiet):
        logs = parser.log_probability(read_treebank(file, need_heads=False)).tolist()
    write_lines(output, map(repr, logs))


@click.command()
@model_argument
@click.option("-n", "n_trees", type=click.IntRange(0), default=10, show_default=True, help="Number of trees.")
@click.option(
    "--max-length",
    type=click.IntRange(1),
    default=1000,
    show_default=True,
    help="Largest number of words; larger trees are drawn again.",
)
@seed_option
@output_option
@quiet_option
def sample(model: str, n_trees: int, max_length: int, seed: int, output: str, quiet: bool) -> None:
    """Trees over tags drawn from the head automata of MODEL, as CoNLL-U; words are `_`."""
    parser = _parser(model)
    with watching("sampling", quiet):
        trees = parser.sample(n_trees, np.random.default_rng(seed), max_length)
    _write(trees, output)


@click.command()
@model_argument
@click.option("--dot", is_flag=True, help="Automaton of one head as Graphviz text.")
@click.option("--head", metavar="TAG", help="Head whose automaton --dot draws; * is the root.")
@click.option(
    "--direction",
    type=click.Choice(DIRECTIONS),
    default="right",
    show_default=True,
    help="Side of the modifiers that --dot draws.",
)
@json_option
@output_option
def show(model: str, dot: bool, head: str | None, direction: str, as_json: bool, output: str) -> None:
    """What the parser MODEL is, and what decides its parses; with --dot the automaton of one head."""
    parser = _parser(model)
    if dot:
        if head is None:
            raise click.UsageError(
                "--dot of a dependency grammar needs --head, and --direction left or right"
            )
        sort = _sort(parser, head, direction)
        drawn = _drawn(parser.automata.automaton(sort), " ".join(_names(parser)[sort]))
        write_lines(output, drawn.splitlines())
        return
    learned = read_header(model)["learned"]
    facts = _facts(parser, model, learned)
    if as_json:
        print_figures({**facts, "learned": learned}, as_json, output)
        return
    if isinstance(parser.decoder, TrainedArcsDecoder):
        facts["decided_by"] = f"{parser.decided_by}; {NO_PART}"
    print_figures({name: value for name, value in facts.items() if value}, as_json, output)


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


def _parser(model: str) -> DependencyParser:
    parser: DependencyParser = load_model(model, "dependency")
    return parser


def _write(treebank: DependencyTreebank, output: str, short: bool = False) -> None:
    write_lines(output, format_dp(treebank) if short else format_conllu(treebank))


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
