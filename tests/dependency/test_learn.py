"""Head automata: counted by hand, recovered exactly, climbed by EM, kept in files, drawn from."""

from __future__ import annotations

from collections import Counter
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from oracles import projective_trees
from sigmastar.automata.data.strings import Strings
from sigmastar.core.alphabet import Alphabet, Term
from sigmastar.core.model_reading import load_model, save_model
from sigmastar.core.resources import limited_threads
from sigmastar.dependency.counts import bigram_views
from sigmastar.dependency.data.projectivity import projective_sentences
from sigmastar.dependency.data.sequences import WeightedSequences
from sigmastar.dependency.data.treebank import DependencyTreebank
from sigmastar.dependency.learn.counting import learn_deterministic
from sigmastar.dependency.learn.em import climb, clustered_start, learn_heads_em, random_start
from sigmastar.dependency.learn.parser import METHODS, Recipe, learn_parser
from sigmastar.dependency.learn.spectral import learn_spectral
from sigmastar.dependency.model.head_automata import HeadAutomata, sample_trees
from sigmastar.dependency.model.parser import DependencyParser

ALPHABET = Alphabet("ab")


def sequences_of(weights: dict[int, dict[str, float]]) -> WeightedSequences:
    """Sequences and their counts for every sort of a grammar over a and b."""
    rows = [
        (sort, string, weight) for sort, part in sorted(weights.items()) for string, weight in part.items()
    ]
    strings = Strings.of([string for _, string, _ in rows], alphabet=ALPHABET)
    starts = np.searchsorted([sort for sort, _, _ in rows], np.arange(6))
    counts = np.array([weight for _, _, weight in rows])
    return WeightedSequences(ALPHABET, strings, counts, starts, np.arange(len(rows)))


def all_sequences(rng: np.random.Generator) -> dict[int, dict[str, float]]:
    strings = ["".join(word) for n in range(3) for word in product("ab", repeat=n)]
    return {sort: dict(zip(strings, rng.random(7) + 0.1, strict=True)) for sort in range(5)}


def grammar(rng: np.random.Generator) -> HeadAutomata:
    """A proper grammar that stops soon."""
    automata = []
    for sort in range(5):
        moves = rng.dirichlet(np.ones(5) * 0.5, size=2) * (0.25 if sort < 4 else 1.0)
        operators = moves[:, :4].reshape(2, 2, 2).transpose(1, 0, 2)
        automata.append((np.array([1.0, 0.0]), operators, 1.0 - moves[:, :4].sum(axis=1)))
    single = np.zeros((2, 2, 2))
    single[:, 0, 1] = 0.5
    automata[4] = (np.array([1.0, 0.0]), single, np.array([0.0, 1.0]))
    return HeadAutomata.of_automata(ALPHABET, automata)


@pytest.fixture(scope="module")
def treebank() -> DependencyTreebank:
    rng = np.random.default_rng(1)
    return sample_trees(grammar(rng), 300, rng, 12)


def test_deterministic_automata_count() -> None:
    sequences = sequences_of({sort: {"": 1.0, "a": 2.0, "ab": 1.0} for sort in range(5)})
    automata = learn_deterministic(sequences, first=True)
    strings = Strings.of(["", "a", "ab"], alphabet=ALPHABET)
    # Before the first modifier: stop 1, a 3; after it: stop 3, b 1; all heads alike, so is the back-off.
    np.testing.assert_allclose(
        automata.automaton(0).value(strings), [1 / 4, 3 / 4 * 3 / 4, 3 / 4 * 1 / 4 * 3 / 4], atol=2e-3
    )
    assert all(automata.automaton(sort).is_stochastic() for sort in range(5))


@pytest.mark.parametrize("seed", range(3))
def test_exact_statistics_give_the_exact_function(seed: int) -> None:
    weights = all_sequences(np.random.default_rng(seed))
    automata = learn_spectral(sequences_of(weights), 20, counts_per_state=1e-3, deterministic_share=0.0)
    for sort, part in weights.items():
        values = automata.automaton(sort).value(Strings.of(list(part), alphabet=ALPHABET))
        np.testing.assert_allclose(values, np.array(list(part.values())) / sum(part.values()), atol=1e-9)


def test_bigrams_learn_what_the_last_symbol_tells() -> None:
    """Of a Markov chain the paper's statistics are enough."""
    counts = {"": 4.0, "a": 2.0, "ab": 1.0, "aba": 0.5, "abab": 0.5}
    automata = learn_spectral(
        sequences_of(dict.fromkeys(range(5), counts)),
        3,
        bigram_views,
        counts_per_state=1e-3,
        deterministic_share=0.0,
    )
    value = automata.automaton(0).value(Strings.of(["", "a"], alphabet=ALPHABET))
    assert value[0] == pytest.approx(0.5, abs=1e-9)
    assert 0.2 < value[1] < 0.3


def test_em_climbs_to_the_likelihood_of_the_counts(treebank: DependencyTreebank) -> None:
    weights = all_sequences(np.random.default_rng(0))
    sequences = sequences_of({sort: {s: 100 * w for s, w in part.items()} for sort, part in weights.items()})
    rng = np.random.default_rng(0)
    fit = climb(sequences, random_start(sequences, 4, rng), 60, back_off=1e-9, tolerance=0.0)
    logs = np.array(fit.log_likelihoods) * sequences.counts.sum()
    assert (np.diff(logs) > -1e-6).all()
    best = sum(100 * w * np.log(w / sum(part.values())) for part in weights.values() for w in part.values())
    assert logs[0] < logs[-1] <= best + 1e-6
    start = clustered_start(sequences, 4, np.random.default_rng(0))
    clustered = climb(sequences, start, 5, back_off=1e-9, tolerance=0.0)
    assert clustered.log_likelihoods[0] > fit.log_likelihoods[0]
    assert all(clustered.latest.automaton(sort).is_stochastic(1e-6) for sort in range(5))


def test_the_most_likely_of_several_seeds_is_kept() -> None:
    sequences = sequences_of(all_sequences(np.random.default_rng(0)))
    logs = [
        (sequences.counts * found.log_probability(sequences)).sum()
        for found in (
            learn_heads_em(sequences, 3, np.random.default_rng(1), max_iter=3, n_seeds=n) for n in (1, 4)
        )
    ]
    assert logs[1] >= logs[0]


def test_random_starts_differ() -> None:
    sequences = sequences_of(all_sequences(np.random.default_rng(0)))
    one, two = (random_start(sequences, 3, np.random.default_rng(seed)) for seed in (0, 1))
    assert not np.allclose(one.operators, two.operators)


def test_operators_and_back() -> None:
    automata = grammar(np.random.default_rng(0))
    model = automata.to_operators()
    again = HeadAutomata.of_operators(model, ALPHABET)
    np.testing.assert_array_equal(again.operators, automata.operators)
    stop, modifier = (model.signature.operation((kind, ("a", "left"))) for kind in ("stop", "modifier"))
    term = Term(modifier, 1, (Term(modifier, 0, (Term(stop),)),))
    expected = automata.automaton(0).value(Strings.of(["ba"], alphabet=ALPHABET))[0]
    assert model.value(term) == pytest.approx(expected)


def test_mixing_mixes_the_functions() -> None:
    one, two = grammar(np.random.default_rng(0)), grammar(np.random.default_rng(1))
    strings = Strings.of(["", "a", "bab"], alphabet=ALPHABET)
    mixed = one.mixed_with(two, 0.25).automaton(1).value(strings)
    np.testing.assert_allclose(
        mixed, 0.75 * one.automaton(1).value(strings) + 0.25 * two.automaton(1).value(strings)
    )


def test_samples_are_projective_and_have_the_right_probability(treebank: DependencyTreebank) -> None:
    assert projective_sentences(treebank.head, treebank.sentence_offsets).all()
    automata = grammar(np.random.default_rng(1))
    parser = learn_parser(treebank, Recipe("det", symbols="upos"), np.random.default_rng(0))
    parser = parser.with_parts(automata=automata)
    logs = parser.log_probability(treebank)
    lone = treebank.lengths == 1
    p_single = np.exp(logs[lone]).mean()
    assert np.isfinite(logs).all()
    assert p_single > 0
    one = DependencyTreebank.of([["a"], ["b"]], [["a"], ["b"]], [[0], [0]])
    expected = np.exp(parser.log_probability(one)).sum()
    drawn = sample_trees(automata, 4000, np.random.default_rng(5), 1000)
    assert (drawn.lengths == 1).mean() == pytest.approx(expected, abs=0.03)


@pytest.mark.parametrize("method", METHODS)
def test_every_method_parses(method: str, treebank: DependencyTreebank, tmp_path: Path) -> None:
    parser = learn_parser(treebank, Recipe(method, 3, "upos"), np.random.default_rng(0))
    parse = parser.parse(treebank, marginals=True)
    assert projective_sentences(parse.heads, treebank.sentence_offsets).all()
    assert (np.add.reduceat(parse.heads == 0, treebank.sentence_offsets[:-1]) == 1).all()
    for table in parse.marginals or []:
        np.testing.assert_allclose(table[:, 1:].sum(axis=0), 1.0, atol=1e-10)
    save_model(parser, tmp_path / "m")
    again: DependencyParser = load_model(tmp_path / "m")
    with limited_threads(2):
        np.testing.assert_array_equal(again.parse(treebank).heads, parse.heads)


def test_arcs_help_and_labels_are_learnt(treebank: DependencyTreebank, tmp_path: Path) -> None:
    """Labels that the tags tell are found; a factor of arcs is better than none on its own data."""
    told = ["root" if h == 0 else tag for h, tag in zip(treebank.head.tolist(), treebank.upos, strict=True)]
    labelled = treebank.with_heads(treebank.head, told)
    plain = learn_parser(labelled, Recipe("det+f", 1, "upos"), np.random.default_rng(0))
    trained = learn_parser(labelled, Recipe("det+f", 1, "upos", "lexical"), np.random.default_rng(0))
    save_model(trained, tmp_path / "m")
    found = load_model(tmp_path / "m").predict(labelled)
    right = (found.head == labelled.head).mean()
    assert right > (plain.parse(labelled).heads == labelled.head).mean()
    agree = np.array(trained.label(labelled, labelled.head)) == np.array(told)
    assert agree.mean() > 0.95


def test_unknown_symbols_and_words_are_parsed(treebank: DependencyTreebank) -> None:
    parser = learn_parser(treebank, Recipe("spectral+em", 2, "upos", "lexical"), np.random.default_rng(0))
    strange = DependencyTreebank.of([["zzz", "a", "q"]], [["Z", "a", "Q"]])
    parse = parser.parse(strange)
    assert sorted(parse.heads.tolist()).count(0) == 1
    assert np.isfinite(parse.log_weights).all()


def test_sentences_without_positive_weight_fall_back(treebank: DependencyTreebank) -> None:
    parser = learn_parser(treebank, Recipe("det+f", symbols="upos"), np.random.default_rng(0))
    broken = HeadAutomata(
        ALPHABET,
        parser.automata.n_states,
        parser.automata.initial,
        parser.automata.operators * 0.0,
        parser.automata.final,
    )
    parse = parser.with_parts(automata=broken).parse(treebank, marginals=True)
    assert parse.n_fallback == len(treebank)
    np.testing.assert_array_equal(parse.heads, parser.parse(treebank).heads)


def test_with_trained_arcs_the_automata_take_no_part(treebank: DependencyTreebank) -> None:
    recipe = Recipe("spectral+em", 2, "upos", "trained", arc_epochs=1)
    parser = learn_parser(treebank, recipe, np.random.default_rng(0))
    other = parser.with_parts(automata=grammar(np.random.default_rng(7)))
    assert parser.decided_by == "trained arcs"
    np.testing.assert_array_equal(other.parse(treebank).heads, parser.parse(treebank).heads)
    np.testing.assert_array_equal(other.log_probability(treebank), parser.log_probability(treebank))
    of_automata = (one.grammar.log_probability(treebank) for one in (other, parser))
    assert not np.allclose(*of_automata)


def test_samples_have_columns_of_tags() -> None:
    tags = [["PROPN", "VERB"]] * 20
    treebank = DependencyTreebank.of(tags, tags, [[2, 0]] * 20, xpos=[["NNP", "VERB"]] * 20)
    for symbols, upos, xpos in (
        ("upos+xpos", "PROPN", "NNP"),
        ("upos", "PROPN", "_"),
        ("xpos", "_", "NNP"),
    ):
        parser = learn_parser(treebank, Recipe("det+f", symbols=symbols), np.random.default_rng(0))
        drawn = parser.sample(30, np.random.default_rng(0), 20)
        cells = set(zip(drawn.form, drawn.upos, drawn.xpos, strict=True))
        assert ("_", upos, xpos) in cells
        assert {form for form, _, _ in cells} == {"_"}


@pytest.mark.parametrize("method", ["det", "em"])
def test_samples_have_one_root_where_the_treebank_has(method: str) -> None:
    """One state cannot count the modifiers of the root: drawn from freely it would give several."""
    tags = [["a", "b", "b"]] * 10 + [["b", "a"]] * 30
    heads = [[0, 1, 2]] * 10 + [[0, 1]] * 30
    single = DependencyTreebank.of(tags, tags, heads)
    recipe = Recipe(method, symbols="upos", n_states=1)
    drawn = learn_parser(single, recipe, np.random.default_rng(0)).sample(400, np.random.default_rng(0))
    assert (drawn.head == 0).sum() == len(drawn)
    roots = Counter(tag for tag, head in zip(drawn.upos, drawn.head.tolist(), strict=True) if head == 0)
    assert roots["a"] / len(drawn) == pytest.approx(0.25, abs=0.06)
    several = DependencyTreebank.of(tags, tags, [[0 for _ in above] for above in heads])
    drawn = learn_parser(several, recipe, np.random.default_rng(0)).sample(50, np.random.default_rng(0))
    assert (drawn.head == 0).sum() > len(drawn)


def test_sums_over_trees_are_the_probabilities_of_sentences(treebank: DependencyTreebank) -> None:
    parser = learn_parser(treebank, Recipe("det+f", symbols="upos"), np.random.default_rng(0))
    three = ["a", "b", "a"]
    trees = [list(heads) for heads in projective_trees(3, single_root=False)]
    every = DependencyTreebank.of([three] * len(trees), [three] * len(trees), trees)
    alone = parser.log_probability(DependencyTreebank.of([three], [three]))
    assert np.exp(parser.log_probability(every)).sum() == pytest.approx(np.exp(alone[0]))
