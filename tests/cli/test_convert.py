"""Models in the formats of other tools: transducers and n-grams as AT&T text, any model as NumPy's arrays."""

from __future__ import annotations

import itertools
import json
import math
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cli.calls import fail, invoke, succeed
from sigmastar import PCFG, EMTagger, GaussianHMM, NgramTagger, SpectralTagger, SpectralTreebankGrammar
from sigmastar.automata.data.strings import Strings
from sigmastar.automata.model.att import read_att
from sigmastar.core.model_reading import load_model, read_arrays, save_model
from sigmastar.pcfg.data.rules import Word, read_rules
from sigmastar.taggers.data.sentences import TaggedSentences
from sigmastar.transducers.data import StringPairs
from sigmastar.transducers.model.generators import make_transducer
from sigmastar.trees import make_latent_pcfg, make_tree_automaton, parse_brackets
from sigmastar.trees.data.tree import Tree

WORDS = [("ab", "A B"), ("ba", "B A A"), ("aab", "A B"), ("b", "B"), ("a", "")]


def weight_of(text: str, inputs: str | list[str], outputs: list[str]) -> float:
    """The sum over all paths of a transducer in AT&T text that read and write a pair, as OpenFst has it."""
    arcs, finals, start = defaultdict(list), {}, ""
    for line in text.splitlines():
        cells = line.split("\t")
        start = start or cells[0]
        cost = math.exp(-float(cells[-1]))
        if len(cells) == 2:
            finals[cells[0]] = cost
        else:
            arcs[cells[0]].append((cells[1], cells[2], cells[3], cost))

    def rest(state: str, i: int, j: int) -> float:
        total = finals.get(state, 0.0) if (i, j) == (len(inputs), len(outputs)) else 0.0
        for target, read, write, cost in arcs[state]:
            fits = read in ("<eps>", *inputs[i : i + 1]) and write in ("<eps>", *outputs[j : j + 1])
            if fits:
                total += cost * rest(target, i + (read != "<eps>"), j + (write != "<eps>"))
        return total

    return rest(start, 0, 0)


def test_a_weighted_transducer_in_openfst(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    truth = make_transducer(2, "ab", "AB", rng, shapes=((1, 1), (1, 0), (2, 1), (1, 2)), density=1.0)
    save_model(truth, tmp_path / "t.sigma")
    text = succeed("convert", tmp_path / "t.sigma", "--to", "att")
    pairs = StringPairs.of([(inputs, outputs.split()) for inputs, outputs in WORDS])
    known = np.exp(truth.log_value(pairs).log)
    found = [weight_of(text, inputs, outputs.split()) for inputs, outputs in WORDS]
    np.testing.assert_allclose(found, known, rtol=1e-9)
    assert min(found) > 0


def test_joint_ngrams_in_openfst(tmp_path: Path) -> None:
    (data := tmp_path / "pairs.tsv").write_text("".join(f"{x}\t{y}\n" for x, y in WORDS[:4]) * 3)
    succeed("learn", "transducer", data, "--method", "ngram", "-o", tmp_path / "t.sigma")
    text = succeed("convert", tmp_path / "t.sigma", "--to", "att")
    pairs = StringPairs.of([(inputs, outputs.split()) for inputs, outputs in WORDS[:4]])
    known = load_model(tmp_path / "t.sigma").proposer.log_sums(pairs)
    found = [math.log(weight_of(text, x, y.split())) for x, y in WORDS[:4]]
    np.testing.assert_allclose(found, known, rtol=1e-9)


def test_ngrams_of_strings_in_openfst(tmp_path: Path) -> None:
    (data := tmp_path / "lines.txt").write_text("a b\nb a b\n\na a\n" * 3)
    succeed("learn", "automaton", data, "--method", "ngram", "--order", "3", "-o", tmp_path / "m.sigma")
    succeed("convert", tmp_path / "m.sigma", "--to", "att", "-o", tmp_path / "m.att")
    again, model = read_att(tmp_path / "m.att"), load_model(tmp_path / "m.sigma")
    strings = Strings.of([list(word) for word in ("", "a", "ab", "bab", "bbaab")], alphabet=model.alphabet)
    np.testing.assert_allclose(again.log_probability(strings), model.log_probability(strings), rtol=1e-9)


@pytest.mark.parametrize("kind", ["automaton", "tagger"])
def test_every_model_as_arrays(tmp_path: Path, kind: str) -> None:
    (data := tmp_path / "lines.txt").write_text("a b\nb a b\n" * 3)
    model, output = tmp_path / "m.sigma", tmp_path / "m.npz"
    if kind == "automaton":
        succeed("learn", "automaton", data, "-o", model)
    else:
        NgramTagger().fit([[("a", "D"), ("dog", "N")]] * 3).save(model)
    succeed("convert", model, "--to", "npz", "-o", output)
    opened, arrays = read_arrays(str(model))
    with np.load(output) as found:
        assert set(found.files) == {*arrays, "header"}
        assert all(np.array_equal(found[name], array) for name, array in arrays.items())
        assert json.loads(str(found["header"]))["family"] == opened.header["family"]
    assert "npz holds the arrays" in succeed("convert", model, "--help")
    assert "is not one of" in fail("convert", model, "--to", "poem", status=2) or kind == "tagger"


def test_signed_transducers_are_refused(tmp_path: Path) -> None:
    pairs = "".join(f"{x}\t{' '.join(x.upper())}\n" for x in ("ab", "ba", "aab", "abb", "b", "a", "bba")) * 5
    (data := tmp_path / "pairs.tsv").write_text(pairs)
    succeed("learn", "transducer", data, "--method", "spectral", "--states", "2", "-o", tmp_path / "t.sigma")
    done = invoke("convert", tmp_path / "t.sigma", "--to", "att", "-o", tmp_path / "t.att")
    assert done.exit_code == 0 or "negative weights" in done.stderr


def test_a_transducer_comes_back_from_openfst(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    truth = make_transducer(2, "ab", "AB", rng, shapes=((1, 1), (1, 0), (0, 1), (2, 1)), density=1.0)
    save_model(truth, tmp_path / "t.sigma")
    succeed("convert", tmp_path / "t.sigma", "--to", "att", "-o", tmp_path / "t.fst.txt")
    pairs = StringPairs.of([(inputs, outputs.split()) for inputs, outputs in WORDS])
    again = load_model(tmp_path / "t.fst.txt")
    np.testing.assert_allclose(again.log_value(pairs).log, truth.log_value(pairs).log, rtol=1e-9)
    (tmp_path / "p.tsv").write_text("ab\tA B\n")
    assert float(succeed("score", tmp_path / "t.fst.txt", tmp_path / "p.tsv", "-q")) < 0


SENTENCES = [[("the", "D"), ("dog", "N"), ("runs", "V")], [("a", "D"), ("run", "N")], [("runs", "N")]] * 5


@pytest.mark.parametrize(
    "tagger", [NgramTagger(order=2), NgramTagger(order=3), EMTagger(n_states=2, max_iter=2)]
)
def test_a_tagger_of_states_in_openfst(tmp_path: Path, tagger: Any) -> None:
    tagger.fit(SENTENCES).save(tmp_path / "t.sigma")
    text = succeed("convert", tmp_path / "t.sigma", "--to", "att")
    words = ["the", "run", "runs"]
    tags = tagger.classes_ if hasattr(tagger, "classes_") else tagger.model_.tags
    weights = {y: weight_of(text, words, list(y)) for y in itertools.product(tags, repeat=3)}
    gold = TaggedSentences.of([words] * len(weights), list(weights))
    shares = np.array(list(weights.values())) / sum(weights.values())
    np.testing.assert_allclose(shares, np.exp(tagger.model_.log_probability(gold)), atol=1e-3)
    (tmp_path / "t.fst.txt").write_text(text)
    pairs = StringPairs.of([(words, list(y)) for y in weights])
    back = np.exp(load_model(tmp_path / "t.fst.txt").log_value(pairs).log)
    np.testing.assert_allclose(back, list(weights.values()), rtol=1e-9)
    (tmp_path / "words.txt").write_text(
        "the run runs\n"
    )  # words, not letters, as the labels of the machine are
    found = succeed("predict", tmp_path / "t.fst.txt", tmp_path / "words.txt", "-q").split("\t")
    assert found[1].split() == tagger.predict([words])[0]


def test_a_tagger_of_features_is_refused_with_what_to_do(tmp_path: Path) -> None:
    SpectralTagger("chain").fit(SENTENCES).save(tmp_path / "t.sigma")
    said = fail("convert", tmp_path / "t.sigma", "--to", "att")
    assert "--method bigram, trigram or em" in said
    assert "--to npz" in said


TREES = [
    "(S (NP (D the) (N dog)) (V runs))",
    "(S (NP (D a) (N dog) (N cat)) (VP (V sees) (NP (N cats))))",
] * 4


@pytest.mark.parametrize(
    "parser", [PCFG(), SpectralTreebankGrammar("spectral+em", n_states=2, max_iter=2)], ids=["pcfg", "em"]
)
def test_the_rules_of_a_parser_are_its_grammar(tmp_path: Path, parser: Any) -> None:
    parser.fit(TREES).save(tmp_path / "p.sigma")
    succeed("convert", tmp_path / "p.sigma", "--to", "rules", "-o", tmp_path / "rules.txt")
    read = read_rules(tmp_path / "rules.txt")
    assert read.grammar.start == "TOP"
    assert read.weights is not None
    words = ["the", "cat", "sees", "a", "dog"]
    found = inside(read.grammar, read.weights, words)
    assert math.log(found) == pytest.approx(parser.model_.log_probability(words), abs=1e-4)


def inside(grammar: Any, weights: Any, words: list[str]) -> float:
    """The weight of all derivations of a sentence."""

    def cell(symbol: str, low: int, high: int) -> float:
        key = symbol, low, high
        if key not in known:
            rules = zip(grammar.rules, weights, strict=True)
            known[key] = sum(w * parts(rule.right, low, high) for rule, w in rules if rule.left == symbol)
        return known[key]

    def parts(right: tuple[Any, ...], low: int, high: int) -> float:
        if not right:
            return float(low == high)
        if isinstance(right[0], Word):
            return parts(right[1:], low + 1, high) if words[low:high][:1] == [right[0].text] else 0.0
        ends = range(low + 1, high - len(right) + 2) if len(right) > 1 else [high]
        return sum(cell(right[0], low, end) * parts(right[1:], end, high) for end in ends if end > low)

    known: dict[tuple[str, int, int], float] = {}
    return cell(grammar.start, 0, len(words))


def test_the_rules_of_tree_automata(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    automaton, grammar = make_tree_automaton(2, rng), make_latent_pcfg(rng, n_rules=8)
    for name, model in (("a", automaton), ("g", grammar)):
        save_model(model, tmp_path / name)
        succeed("convert", tmp_path / name, "--to", "rules", "-o", tmp_path / f"{name}.txt")
    read = read_rules(tmp_path / "a.txt")
    leaf, _, binary = (str(symbols.symbols[0]) for symbols in automaton.alphabet.ranks)
    value = inside(read.grammar, read.weights, [binary, leaf, binary, leaf, leaf])
    tree = f"({binary} {leaf} ({binary} {leaf} {leaf}))"
    assert math.log(value) == pytest.approx(automaton.log_probability(parse_brackets(tree))[0], abs=1e-9)
    words_of = dict(grammar.lexical)
    pairs = [rule[1:] for rule in grammar.rules if rule[0] in grammar.roots and {*rule[1:]} <= {*words_of}]
    words = [words_of[tag] for tag in pairs[0]]
    trees = [
        Tree(a, (Tree(b, (words[0],)), Tree(c, (words[1],))))
        for a, b, c in grammar.rules
        if a in grammar.roots and (b, words[0]) in grammar.lexical and (c, words[1]) in grammar.lexical
    ]
    assert trees
    read = read_rules(tmp_path / "g.txt")
    total = np.exp(grammar.log_probability(trees)).sum()
    assert inside(read.grammar, read.weights, words) == pytest.approx(total, rel=1e-9)


def test_a_gaussian_model_as_hmmlearn_names_it(tmp_path: Path) -> None:
    rows = np.random.default_rng(0).normal(size=(60, 2)) + np.repeat([[0.0, 0.0], [5.0, 5.0]], 30, axis=0)
    fitted = GaussianHMM(n_states=2, max_iter=2).fit([rows])
    fitted.save(tmp_path / "g.sigma")
    found = json.loads(succeed("convert", tmp_path / "g.sigma", "--to", "hmm"))
    np.testing.assert_allclose(found["transmat"], fitted.model_.transition)
    np.testing.assert_allclose(found["means"], fitted.model_.means[:, 0])
    assert found["covariance_type"] == fitted.model_.kind


def by_openfst(text: str, inputs: list[str], outputs: list[str], acceptor: bool = False) -> float:
    """As `weight_of`, by OpenFst itself; acceptors have one label per arc."""
    fst = pytest.importorskip(
        "pywrapfst", reason="OpenFst is not installed: its text is read by a twin alone"
    )
    arcs = [line.split("\t") for line in text.splitlines()]
    symbols = fst.SymbolTable()
    for label in ["<eps>", *inputs, *outputs, *(label for arc in arcs for label in arc[2:-1])]:
        symbols.add_symbol(label)
    tables = {"isymbols": symbols, "osymbols": symbols, "arc_type": "log64"}

    def compiled(lines: list[str], **options: bool) -> Any:
        compiler = fst.Compiler(**tables, **options)
        compiler.write("\n".join(lines) + "\n")
        return compiler.compile()

    def chain(words: list[str]) -> Any:
        return compiled(
            [*(f"{k} {k + 1} {word}" for k, word in enumerate(words)), str(len(words))], acceptor=True
        )

    machine = compiled(text.splitlines(), acceptor=acceptor).arcsort("ilabel")
    found = fst.compose(fst.compose(chain(inputs), machine).arcsort("olabel"), chain(outputs))
    return math.exp(-float(fst.shortestdistance(found, reverse=True)[found.start()]))


def test_openfst_reads_what_is_written(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    truth = make_transducer(2, "ab", "AB", rng, shapes=((1, 1), (1, 0), (2, 1)), density=1.0)
    save_model(truth, tmp_path / "t.sigma")
    NgramTagger(order=2).fit(SENTENCES).save(tmp_path / "g.sigma")
    asked = {"t": ("ab", "A"), "g": (["the", "run", "runs"], ["D", "N", "V"])}
    for name, (inputs, outputs) in asked.items():
        text = succeed("convert", tmp_path / f"{name}.sigma", "--to", "att")
        found = by_openfst(text, list(inputs), list(outputs))
        assert found == pytest.approx(weight_of(text, inputs, list(outputs)), rel=1e-6)


def test_openfst_reads_ngrams(tmp_path: Path) -> None:
    (data := tmp_path / "lines.txt").write_text("a b\nb a b\n\na a\n" * 3)
    succeed("learn", "automaton", data, "--method", "ngram", "--order", "3", "-o", tmp_path / "m.sigma")
    text = succeed("convert", tmp_path / "m.sigma", "--to", "att")
    model = load_model(tmp_path / "m.sigma")
    for word in ("", "ab", "bbaab"):
        known = model.log_probability(Strings.of([list(word)], alphabet=model.alphabet))[0]
        assert math.log(by_openfst(text, list(word), list(word), acceptor=True)) == pytest.approx(
            known, rel=1e-6
        )
    (pairs := tmp_path / "pairs.tsv").write_text("".join(f"{x}\t{y}\n" for x, y in WORDS[:4]) * 3)
    succeed("learn", "transducer", pairs, "--method", "ngram", "-o", tmp_path / "t.sigma")
    text = succeed("convert", tmp_path / "t.sigma", "--to", "att")
    for inputs, outputs in WORDS[:3]:
        found = by_openfst(text, list(inputs), outputs.split())
        assert found == pytest.approx(weight_of(text, inputs, outputs.split()), rel=1e-6)
