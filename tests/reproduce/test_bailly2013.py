"""The reproduction of Bailly et al. (2013): its samples, its bases, and a small run on the real corpus."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sigmastar.automata.data.strings import Strings
from sigmastar.core.errors import InputError
from sigmastar.core.progress import silent
from sigmastar.grammars.model.generators import dyck
from sigmastar.reproduce import bailly2013
from sigmastar.reproduce.bailly2013.corpus import BASES, Problem, _judged, basis_yields
from sigmastar.reproduce.bailly2013.dyck import DyckPoint, unsupervised
from sigmastar.reproduce.bailly2013.report import SCHEME, Findings, _claims, falling_claim
from sigmastar.reproduce.bailly2013.synthetic import (
    FIGURES,
    LEARNERS,
    Plan,
    Point,
    ShortCounts,
    bracketed_matrix,
    draw,
    geometric_means,
    grammar_of,
    make_target,
    points,
)
from sigmastar.reproduce.result import Unfinished


@pytest.mark.parametrize("shape", FIGURES, ids=lambda shape: shape.figure)
def test_exact_frequencies_with_brackets_give_the_target_back(shape) -> None:
    target = make_target(shape, np.random.default_rng(0))
    n = shape.n_symbols
    ones, twos = target.probabilities[:n], target.probabilities[n : n + n * n].reshape(n, n)
    counts = ShortCounts(target.grammar.alphabet, ones, twos, target.right, target.left)
    found = grammar_of(bracketed_matrix(counts), target.grammar.alphabet, shape.n_states)
    np.testing.assert_allclose(found.value(target.strings), target.probabilities, atol=1e-9)
    assert target.divergence(found) < 1e-6


def test_a_sample_counts_what_it_draws() -> None:
    target = make_target(FIGURES[0], np.random.default_rng(1))
    sample = draw(target, 10**6, np.random.default_rng(2))
    assert sample.counts.sum() <= 10**6
    np.testing.assert_allclose(sample.counts / 10**6, target.probabilities, atol=3e-3)
    threes = sample.counts[6:14].reshape(2, 2, 2) / 10**6
    np.testing.assert_allclose(sample.short.right + sample.short.left, threes)
    np.testing.assert_allclose(sample.short.right, target.right, atol=2e-3)


def test_learners_come_closer_with_more_strings() -> None:
    names = ("supervised spectral", "the paper's scheme", "nuclear norm, refined")
    plan = Plan((10**3, 10**6), dict.fromkeys(names, 2), {})
    means = geometric_means(list(points(FIGURES[0], plan, 0, silent, Unfinished())))
    for name in names:
        assert means["figure 1", name, 10**6][0] < 0.1 * means["figure 1", name, 10**3][0]
    assert set(LEARNERS) >= set(names)


def test_means_are_geometric() -> None:
    found = [Point("figure 1", "x", k, 10, value, 1.0) for k, value in enumerate((1e-4, 1e-2))]
    assert geometric_means(found)["figure 1", "x", 10][:2] == (pytest.approx(1e-3), 2)


def test_a_basis_keeps_the_strings_that_it_generates() -> None:
    words = ["a", "b", "ab", "aab", "abab", "bbbb"]
    strings = Strings.of(words)
    counts = np.array([5.0, 4.0, 3.0, 1.0, 1.0, 1.0])

    def generated(n_outsides: int, n_insides: int) -> list[str]:
        return [words[k] for k in basis_yields(strings, counts, n_outsides, n_insides)]

    assert generated(1, 2) == ["a", "b", "ab"]  # single symbols, and pairs of them, with nothing around
    assert set(generated(1, 3)) == {"a", "b", "ab", "aab", "abab"}  # "ab" is the next inside
    assert generated(100, 100) == words


def test_completion_of_the_dyck_language_beats_its_sample() -> None:
    drawn = dyck().sample(4000, np.random.default_rng(0))
    grammar = unsupervised(drawn, 0.2, refine=True)
    short = Strings.of(["ab", "aabb", "abab", "ba", "aaa"], alphabet=grammar.alphabet)
    np.testing.assert_allclose(grammar.value(short), [0.4, 0.16, 0.032, 0.0, 0.0], atol=0.01)


def made(factor: float, n_strings: int, errors: dict[int, float]) -> Findings:
    """Divergences of four targets: the paper's scheme and EM have `factor` times those of the others."""
    of = {"supervised spectral": 1.0, SCHEME: factor, "nuclear norm, refined": 1.0, "EM": factor}
    found = [
        Point(figure, name, target, n_strings, times * (1 + target) * (1 + 0.01 * k), 1.0)
        for figure in ("figure 1", "figure 2")
        for k, (name, times) in enumerate(of.items())
        for target in range(4)
    ]
    dyck_found = [
        DyckPoint(name, 0.1, seed, l1 * (1 + 0.1 * seed), 1.0)
        for seed in range(3)
        for name, l1 in (("WFA, 4 states", 0.1 * factor), ("unsupervised, refined", 0.1),
                         ("unsupervised, nuclear norm", 0.1))
    ]  # fmt: skip
    rows = (Problem("WSJ", (1, 11), (3, 3), 1, 1, 1.0, 1, 1, 1.0, errors, {}),)
    return Findings(tuple(found), tuple(dyck_found), rows, (), (1, 1))


def test_verdicts_follow_the_data() -> None:
    def holds(*data: Any) -> list[bool | None]:
        return [claim.holds for claim in _claims(made(*data))]

    assert holds(20.0, 10**5, {5: 3e-3, 10: 1e-3}) == [False, True, True, True, None, True]
    assert holds(0.5, 10**5, {5: 1e-3, 10: 2e-3}) == [True, False, False, False, None, False]
    assert holds(20.0, 10**3, {5: 3e-3, 10: 0.5, 20: 1e-3}) == [False, None, True, True, None, False]
    assert (
        "blown up: WSJ, 1 x 11, 10 states: 0.5" in falling_claim(made(1, 1, {5: 3e-3, 10: 0.5}).problems).ours
    )


def test_values_that_are_no_probabilities_are_left_out() -> None:
    grammar, strings = dyck(), dyck().sample(20, np.random.default_rng(0))
    assert _judged("proper", grammar, strings, strings).train == pytest.approx(
        grammar.log_probability(strings).mean()
    )
    doubled = replace(grammar, initial=2 * grammar.initial)
    found = _judged("doubled", doubled, strings, strings)
    assert found.mass == pytest.approx(2.0)
    assert found.train is found.held_out is None


def test_the_papers_rows_are_there() -> None:
    assert len(BASES) == 11
    assert BASES[0] == (1, 11)
    assert BASES[-1] == (60, 48)


def test_without_data_the_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="wsj-train"):
        bailly2013.run(tmp_path, tmp_path / "out", quick=True)


def test_a_small_run_writes_everything(
    data_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = bailly2013._plan((10**4,), 1, 1, 0, 0)
    small = bailly2013.Budget(
        (plan, bailly2013._plan((10**4,), 1, 0, 0, 0)), (0.1,), 1, BASES[:1], BASES[:1], None
    )
    monkeypatch.setattr(bailly2013, "QUICK", small)
    result = bailly2013.run(data_folder, tmp_path / "out", quick=True, progress=silent)
    written = {path.name for path in (tmp_path / "out").iterdir()}
    assert written == {"report.html", "figures.json", "figure1.svg", "figure2.svg", "figure3.svg"}
    record = json.loads((tmp_path / "out" / "figures.json").read_text())
    assert {row["corpus"] for row in record["problems"]} == {"WSJ sample", "drawn"}
    assert "Table 1" in str(result)
    assert "39 x 159" in str(result)
