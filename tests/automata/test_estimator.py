"""What every estimator of distributions on strings keeps to, whatever its method."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.validation import check_is_fitted

from sigmastar.automata.data.strings import Strings
from sigmastar.automata.estimator.em_and_ngram import EMAutomaton, NgramAutomaton
from sigmastar.automata.estimator.sequence import SequenceEstimator
from sigmastar.automata.estimator.spectral import SpectralAutomaton
from sigmastar.automata.model.automaton import WeightedAutomaton
from sigmastar.automata.model.generators import make_automaton
from sigmastar.automata.model.sequence import SequenceModel
from sigmastar.core.alphabet import END, Alphabet
from sigmastar.core.errors import InputError, NotFittedError, UnknownSymbolError

Make = Callable[..., SequenceEstimator]

MAKERS: dict[str, Make] = {
    "fast": lambda **more: SpectralAutomaton(n_classes=50, **more),
    "convex": lambda **more: SpectralAutomaton("convex", **more),
    "auto": lambda **more: SpectralAutomaton("auto", **more),
    "spectral": lambda **more: SpectralAutomaton("spectral", basis_size=50, **more),
    "spectral, string": lambda **more: SpectralAutomaton(
        "spectral", statistic="string", basis_size=50, **more
    ),
    "em": lambda **more: EMAutomaton(**{"n_states": 3, "max_iter": 10, **more}),
    "hmm": lambda **more: EMAutomaton(**{"n_states": 3, "max_iter": 10, "structure": "hmm", **more}),
    "3-gram": lambda **more: NgramAutomaton(**more),
    "kneser-ney": lambda **more: NgramAutomaton(order="auto", smoothing="kneser-ney", **more),
}
SPECTRAL = ("fast", "convex", "auto", "spectral", "spectral, string")
WITH_STATES = (*SPECTRAL, "em", "hmm")


@pytest.fixture(params=MAKERS)
def make(request: pytest.FixtureRequest) -> Make:
    return MAKERS[request.param]


@pytest.fixture(scope="module")
def strings() -> Strings:
    rng = np.random.default_rng(7)
    machine = make_automaton(3, 3, rng, stop=0.2)
    return WeightedAutomaton(Alphabet("abc"), machine.initial, machine.transitions, machine.final).sample(
        400, rng
    )


def probabilities(estimator: SequenceEstimator, strings: Any) -> np.ndarray[Any, Any]:
    return estimator.score_samples(strings)


def test_a_constructor_only_stores(make: Make) -> None:
    estimator = make()
    assert vars(estimator) == estimator.get_params()


def test_parameters_can_be_set_and_copied(make: Make) -> None:
    estimator = make().set_params(random_state=5)
    copy = clone(estimator)
    assert copy is not estimator
    assert copy.get_params() == estimator.get_params()
    assert copy.random_state == 5
    with pytest.raises(ValueError, match="has no parameter 'colour'; it has"):
        estimator.set_params(colour="red")


def test_the_representation_names_what_was_changed() -> None:
    assert repr(SpectralAutomaton(n_states=4)) == "SpectralAutomaton(n_states=4)"
    assert repr(NgramAutomaton()) == "NgramAutomaton()"
    assert "n_classes=(5, 7)" in repr(SpectralAutomaton(n_classes=(5, 7)))


def test_before_fit_every_question_is_refused(make: Make) -> None:
    estimator = make()
    for ask in (
        lambda: estimator.score(["a"]),
        lambda: estimator.score_samples(["a"]),
        lambda: estimator.predict_next(["a"]),
        lambda: estimator.predict_proba_next(["a"]),
        lambda: estimator.sample(),
        lambda: estimator.model_,
    ):
        with pytest.raises(NotFittedError, match="not fitted yet; call fit"):
            ask()
    assert not hasattr(estimator, "automaton_")
    with pytest.raises(ValueError, match="not fitted"):
        check_is_fitted(estimator)


def test_after_fit_the_model_answers(make: Make, strings: Strings) -> None:
    estimator = make()
    assert estimator.fit(strings) is estimator
    check_is_fitted(estimator)
    assert isinstance(estimator.model_, SequenceModel)
    assert estimator.alphabet_ == strings.alphabet
    assert estimator.outcomes_ == ("a", "b", "c", END)
    assert estimator.score(strings) == pytest.approx(probabilities(estimator, strings).mean())
    rows = estimator.predict_proba_next(["", "ab", "cab"])
    assert rows.shape == (3, 4)
    assert (rows >= 0).all()
    np.testing.assert_allclose(rows.sum(axis=1), 1.0, atol=1e-12)
    for row, ranking in zip(rows, estimator.predict_next(["", "ab", "cab"]), strict=True):
        assert set(ranking) == {"a", "b", "c", END}
        ordered = [row[estimator.outcomes_.index(outcome)] for outcome in ranking]
        assert ordered == sorted(row, reverse=True)
    assert [len(ranking) for ranking in estimator.predict_next(["", "ab"], top=2)] == [2, 2]
    assert estimator.predict_next([]) == []
    assert estimator.predict_proba_next([]).shape == (0, 4)


@pytest.mark.parametrize("name", [name for name in MAKERS if name != "spectral, string"])
def test_the_model_is_better_than_chance(name: str, strings: Strings) -> None:
    uniform = -np.log(4) * strings.n_gaps / len(strings)
    assert uniform + 0.3 < MAKERS[name]().fit(strings).score(strings) < 0


def test_samples_are_strings_of_the_alphabet(make: Make, strings: Strings) -> None:
    estimator = make().fit(strings)
    drawn = estimator.sample(20, random_state=1)
    assert len(drawn) == 20
    assert {symbol for string in drawn for symbol in string} <= {"a", "b", "c"}
    assert drawn == estimator.sample(20, random_state=1)
    assert drawn != estimator.sample(20, random_state=2)
    assert estimator.sample(5) == estimator.sample(5)
    assert all(len(string) <= 1 for string in estimator.sample(10, max_length=1))


def test_the_same_seed_gives_the_same_model(make: Make, strings: Strings) -> None:
    first, second = make(random_state=3).fit(strings), make(random_state=3).fit(strings)
    np.testing.assert_array_equal(probabilities(first, strings), probabilities(second, strings))
    given = make(random_state=np.random.default_rng(3)).fit(strings)
    np.testing.assert_array_equal(probabilities(given, strings), probabilities(first, strings))


def test_a_second_fit_replaces_the_first(make: Make, strings: Strings) -> None:
    again = make().fit([(1, 2), (2,), (1, 2, 2)] * 20).fit(strings)
    fresh = make().fit(strings)
    assert again.alphabet_ == strings.alphabet
    assert set(vars(again)) == set(vars(fresh))
    np.testing.assert_array_equal(probabilities(again, strings), probabilities(fresh, strings))


def test_a_failed_fit_leaves_the_model(make: Make, strings: Strings) -> None:
    estimator = make().fit(strings)
    model = estimator.model_
    with pytest.raises(InputError):
        estimator.fit([])
    assert estimator.model_ is model


@pytest.mark.parametrize(
    "symbols",
    [("a", "b", "c"), (10, 20, 30), (("x", 1), ("y", 2), ("z",)), ("a", 1, ("b",)), (None, True, 2.5)],
    ids=["text", "numbers", "tuples", "mixed", "odd"],
)
def test_symbols_may_be_anything_hashable(make: Make, strings: Strings, symbols: tuple[Any, ...]) -> None:
    names = dict(zip("abc", symbols, strict=True))
    renamed = [[names[symbol] for symbol in string] for string in strings]
    estimator = make(random_state=0).fit(renamed)
    assert set(estimator.alphabet_) == set(symbols)
    assert np.isfinite(estimator.score(renamed))
    assert set(estimator.predict_next([renamed[0][:1]])[0]) == {*symbols, END}


def test_all_ways_to_say_the_same_corpus(make: Make, strings: Strings) -> None:
    expected = probabilities(make().fit(strings), strings)
    rows = list(strings)
    flat, lengths = [symbol for row in rows for symbol in row], [len(row) for row in rows]
    for corpus in (
        rows,
        ["".join(map(str, row)) for row in rows],
        [list(row) for row in rows],
        [np.array(row, dtype=object) for row in rows],
        (tuple(row) for row in rows),
        np.array(["".join(map(str, row)) for row in rows]),
    ):
        np.testing.assert_array_equal(probabilities(make().fit(corpus), strings), expected)
    for symbols in (flat, np.array(flat), np.array(flat)[:, None]):
        estimator = make().fit(symbols, lengths=lengths)
        np.testing.assert_array_equal(estimator.score_samples(symbols, lengths=lengths), expected)
        assert estimator.score(symbols, lengths=lengths) == pytest.approx(expected.mean())


@pytest.mark.parametrize(
    ("corpus", "words"),
    [
        (np.zeros((5, 3), dtype=int), r"array of shape \(5, 3\); pass a list of strings"),
        (np.zeros((5, 1)), r"fit\(X, lengths=lengths\)"),
        ([1, 2, 3], r"expected sequences of symbols, got 1"),
        (np.array([1.5, 2.0, 3.0]), "expected sequences of symbols"),
        ("abc", r"pass a list of strings, as in \[X\]"),
        (7, "pass a list of strings"),
        ([], "no strings to learn from"),
        ([[["unhashable"]]], "hashable"),
    ],
)
def test_what_is_no_corpus_is_refused(make: Make, corpus: Any, words: str) -> None:
    with pytest.raises(InputError, match=words):
        make().fit(corpus)


def test_lengths_must_add_up(make: Make) -> None:
    with pytest.raises(InputError, match="lengths add up to 4, but there are 3 symbols"):
        make().fit([1, 2, 3], lengths=[2, 2])


def test_an_unknown_symbol_is_named(make: Make, strings: Strings) -> None:
    estimator = make().fit(strings)
    for ask in (
        estimator.score,
        estimator.score_samples,
        estimator.predict_next,
        estimator.predict_proba_next,
    ):
        with pytest.raises(UnknownSymbolError, match=r"string 2: symbol 'z' .*; .*unknown='zero'"):
            ask(["a", "az"])
    estimator.set_params(unknown="zero")
    np.testing.assert_array_equal(np.isneginf(estimator.score_samples(["", "az"])), [False, True])
    assert len(estimator.predict_next(["az"])[0]) == 4
    estimator.set_params(unknown="ignore")
    with pytest.raises(ValueError, match="unknown='ignore' must be one of error, zero"):
        estimator.score(["a"])


def test_an_alphabet_may_be_given(make: Make, strings: Strings) -> None:
    estimator = make(alphabet="abcd").fit(strings)
    assert estimator.alphabet_ == Alphabet("abcd")
    assert estimator.predict_proba_next(["a"]).shape == (1, 5)
    with pytest.raises(UnknownSymbolError, match=r"symbol 'c' .*give an alphabet"):
        make(alphabet="ab").fit(strings)


@pytest.mark.parametrize(
    "corpus",
    [["abcab"], ["a"], [""], ["", "", ""], ["ab"] * 30, ["", "a"], ["", "a", "b"], ["a" * 200, "b"]],
    ids=["one", "one symbol", "nothing", "only empty", "equal", "two", "three", "long"],
)
def test_small_corpora_are_learned(make: Make, corpus: list[str]) -> None:
    estimator = make(**({"n_states": 1} if make in (MAKERS["em"], MAKERS["hmm"]) else {})).fit(corpus)
    assert np.isfinite(estimator.score(corpus)) or isinstance(estimator.model_, WeightedAutomaton)
    np.testing.assert_allclose(estimator.predict_proba_next([corpus[0]]).sum(axis=1), 1.0)
    assert len(estimator.sample(3, max_length=50)) == 3


@pytest.mark.parametrize("name", SPECTRAL)
def test_more_states_than_the_rank_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match=r"n_states=50 exceeds block rank \d+; use n_states<="):
        MAKERS[name](n_states=50).fit(["ab", "ba", "a", ""] * 20)


@pytest.mark.parametrize("name", WITH_STATES)
@pytest.mark.parametrize("n_states", [0, -1, 2.5, "many", True])
def test_the_number_of_states_is_checked(name: str, n_states: Any, strings: Strings) -> None:
    with pytest.raises(ValueError, match=r"n_states=.* must be 'auto' or a whole number"):
        MAKERS[name](n_states=n_states).fit(strings)


@pytest.mark.parametrize("name", WITH_STATES)
def test_states_and_automata_are_told(name: str, strings: Strings) -> None:
    estimator = MAKERS[name](n_states=2).fit(strings)
    assert estimator.n_states_ == 2
    assert estimator.automaton_.n_states == 2
    assert estimator.model_.alphabet == estimator.automaton_.alphabet
    assert hasattr(estimator, "held_out_score_") == ("spectral" not in name)


@pytest.mark.parametrize("name", SPECTRAL)
def test_the_choice_of_states_has_evidence(name: str, strings: Strings) -> None:
    estimator = MAKERS[name]().fit(strings)
    evidence = estimator.rank_evidence_
    assert evidence.chosen in evidence.candidates
    assert len(evidence.candidates) == len(evidence.scores) > 1
    assert evidence.noise_level is not None
    assert str(evidence.chosen) in str(evidence)


def test_what_an_estimator_does_not_have_is_explained(strings: Strings) -> None:
    with pytest.raises(AttributeError, match="an n-gram model has no weighted automaton inside; use model_"):
        _ = NgramAutomaton().fit(strings).automaton_
    with pytest.raises(AttributeError, match="EM has no spectrum"):
        _ = MAKERS["em"]().fit(strings).rank_evidence_
    with pytest.raises(AttributeError, match="has no attribute 'colour'"):
        _ = NgramAutomaton().colour


def test_models_survive_pickling(make: Make, strings: Strings) -> None:
    estimator = make().fit(strings)
    copy = pickle.loads(pickle.dumps(estimator))
    np.testing.assert_array_equal(probabilities(copy, strings), probabilities(estimator, strings))
    assert copy.outcomes_[-1] is END
    assert pickle.loads(pickle.dumps(make())).get_params() == make().get_params()


def test_grid_search_and_pipelines_work(make: Make, strings: Strings) -> None:
    corpus = ["".join(map(str, string)) for string in strings]
    name = "n_states" if "n_states" in make().get_params() else "order"
    lower = FunctionTransformer(lambda rows: [row.lower() for row in rows])
    pipeline = Pipeline([("lower", lower), ("automaton", make(alphabet="abc"))])
    search = GridSearchCV(pipeline, {f"automaton__{name}": [1, 2]}, cv=2, error_score="raise")
    search.fit([row.upper() for row in corpus])
    assert search.best_params_[f"automaton__{name}"] in (1, 2)
    assert np.isfinite(search.best_score_)
    assert len(cross_val_score(make(alphabet="abc"), strings, cv=2, error_score="raise")) == 2


def test_names_of_choices_are_checked(strings: Strings) -> None:
    for estimator in (
        SpectralAutomaton("quick"),
        SpectralAutomaton("spectral", statistic="word"),
        SpectralAutomaton("spectral", weighting="heavy"),
        EMAutomaton(start="nowhere"),
        EMAutomaton(structure="tree"),
        EMAutomaton(precision="float8"),
        NgramAutomaton(smoothing="none at all"),
    ):
        with pytest.raises(ValueError, match="must be one of '"):
            estimator.fit(strings)
    with pytest.raises(ValueError, match="n_jobs=0 must be -1"):
        NgramAutomaton(n_jobs=0).fit(strings)


def test_progress_is_told(strings: Strings) -> None:
    told: list[str] = []
    for method in ("fast", "convex", "auto"):
        told.clear()
        SpectralAutomaton(method, progress=lambda message, done=None: told.append(message)).fit(strings)
        assert told, method


def test_em_can_choose_its_states(strings: Strings) -> None:
    estimator = EMAutomaton(n_states="auto", max_iter=3).fit(strings)
    scores = estimator.held_out_scores_
    assert estimator.n_states_ == max(scores, key=scores.__getitem__)
    assert set(scores) == {5, 10, 20, 40}


def test_a_large_alphabet_fits_in_memory(rng: np.random.Generator, tmp_path: Path) -> None:
    """10^5 symbols, most of which are met once or never."""
    rare = rng.permutation(100_000)[:4000].reshape(-1, 4)
    corpus = [tuple(row) for row in rare.tolist()] + [(0, 1), (1, 0), (0,)] * 300
    estimator = SpectralAutomaton(n_classes=300, alphabet=range(100_000)).fit(corpus)
    assert len(estimator.alphabet_) == 100_000
    assert np.isfinite(estimator.score(corpus))
    assert estimator.n_symbol_classes_ <= 513
    with pytest.raises(AttributeError, match=r"model_.inner, and model_.symbols.classed"):
        assert estimator.automaton_
    estimator.save(tmp_path / "model.sigma")
    assert (tmp_path / "model.sigma").stat().st_size < 20_000_000
    assert len(estimator.predict_next([(0,), (99_999,)], top=3)[0]) == 3


def test_smoothing_and_weighting_of_blocks_are_parameters(strings: Strings) -> None:
    def fitted(**settings: Any) -> np.ndarray[Any, Any]:
        made = SpectralAutomaton("spectral", n_states=2, basis_size=30, repair="none", **settings)
        return made.fit(strings).automaton_.value(strings)

    plain = fitted()
    assert not np.allclose(fitted(block_smoothing=50.0), plain)
    assert not np.allclose(fitted(weighting="counts"), plain)
    np.testing.assert_array_equal(fitted(block_smoothing=0.0, weighting="none"), plain)
    with pytest.raises(ValueError, match=r"smoothing=-1\.0 must not be negative"):
        fitted(block_smoothing=-1.0)


def test_weights_count_strings_as_often(make: Make, strings: Strings) -> None:
    few = strings.select(range(60))
    times = np.arange(60) % 3
    weighted = make().fit(few, sample_weight=times)
    repeated = make().fit(few.select(np.repeat(np.arange(60), times)))
    np.testing.assert_array_equal(probabilities(weighted, few), probabilities(repeated, few))
    for wrong in ([1.5] * 60, [1] * 59, [-1] * 60, ["a"] * 60):
        with pytest.raises(InputError, match="60 whole numbers"):
            make().fit(few, sample_weight=wrong)
    with pytest.raises(InputError, match="no strings to learn from"):
        make().fit(few, sample_weight=[0] * 60)


def test_top_is_a_number_of_symbols():
    model = NgramAutomaton(order=1).fit(["ab", "b"])
    with pytest.raises(ValueError, match="top=-1 must be a whole number, 1 or more"):
        model.predict_next(["a"], top=-1)


def test_nan_is_no_symbol():
    with pytest.raises(InputError, match="a symbol is NaN, which equals nothing"):
        NgramAutomaton().fit([[1.0, float("nan")], [2.0]])


def test_a_column_of_texts_is_told_apart_from_a_table_of_symbols() -> None:
    column = np.array([["ab"], ["b"]], dtype=object)
    with pytest.raises(
        InputError, match=r"X is one column, of shape \(2, 1\); pass it flat, as in fit\(X\[:, 0\]\)"
    ):
        NgramAutomaton().fit(column)


def test_samples_of_splearn_end_where_minus_one_begins() -> None:
    padded = np.array([[0.0, 1.0, -1.0], [1.0, -1.0, -1.0], [-1.0, -1.0, -1.0]])
    theirs = padded.view(type("SplearnArray", (np.ndarray,), {}))
    model = NgramAutomaton(order=2).fit(theirs)
    assert model.alphabet_.symbols == (0, 1)
    assert model.score(theirs) == model.score([[0, 1], [1], []])


@pytest.mark.parametrize("method", ["fast", "spectral"])
def test_models_take_lists_as_estimators_do(method: str) -> None:
    fitted = SpectralAutomaton(method=method).fit(["ab", "abab", "", "ab"] * 20)
    logs = fitted.model_.log_probability(["ab", "ba", "zz"])  # type: ignore[arg-type]
    np.testing.assert_array_equal(logs[:2], fitted.score_samples(["ab", "ba"]))
    assert logs[2] == -np.inf
