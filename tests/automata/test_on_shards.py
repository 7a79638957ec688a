"""Learning from corpora on disk: what the same strings in memory give, for any shards and workers."""

from __future__ import annotations

from contextlib import nullcontext
from functools import reduce
from pathlib import Path

import numpy as np
import pytest

from cli.calls import invoke
from sigmastar import EMAutomaton, SpectralAutomaton, StringCorpus
from sigmastar.automata.counts import on_shards
from sigmastar.automata.counts.on_classes import ContextCounts
from sigmastar.automata.counts.on_shards import count_shards, count_steps, merged, with_gaps
from sigmastar.automata.data.corpora import ShardedStrings
from sigmastar.automata.data.formats import write_lines
from sigmastar.automata.data.strings import Strings
from sigmastar.automata.estimator import em_and_ngram
from sigmastar.automata.learn import context_operators
from sigmastar.automata.learn import on_shards as learning
from sigmastar.automata.learn.context_operators import choose_classes
from sigmastar.automata.learn.em_steps import EMCorpus
from sigmastar.automata.model.generators import make_automaton
from sigmastar.core.engines import Here
from sigmastar.core.ledger import Ledger
from sigmastar.corpus import build as building
from sigmastar.corpus import sources
from sigmastar.corpus.build import build_corpus

FIELDS = ("n_strings", "keys", "counts", "slice_keys", "slice_counts", "ends", "starts")


def assert_same(first: ContextCounts, second: ContextCounts) -> None:
    for name in FIELDS:
        np.testing.assert_array_equal(getattr(first, name), getattr(second, name))


@pytest.fixture(scope="module")
def corpora(tmp_path_factory: pytest.TempPathFactory) -> list[StringCorpus]:
    """The same strings in one shard, and in many."""
    folder, rng = tmp_path_factory.mktemp("corpora"), np.random.default_rng(3)
    strings = make_automaton(4, 5, rng, stop=0.2).sample(900, rng)
    with open(folder / "text", "w") as stream:
        write_lines(strings, stream)
    found = [build_corpus([str(folder / "text")], folder / "one")]
    with pytest.MonkeyPatch.context() as patch:
        for module in (sources, building):
            patch.setattr(module, "UNIT_BYTES", 1500)
        found.append(build_corpus([str(folder / "text")], folder / "many"))
    assert found[1].n_shards > 4
    return found


def in_memory(corpus: StringCorpus) -> Strings:
    return ShardedStrings(corpus).whole()


@pytest.mark.parametrize("limit", [1 << 24, 0])
def test_steps_are_all_that_needs_counting(
    corpora: list[StringCorpus], monkeypatch: pytest.MonkeyPatch, limit: int
) -> None:
    monkeypatch.setattr(on_shards, "_TABLE_LIMIT", limit)  # 0: as for large alphabets
    strings = in_memory(corpora[0])
    classes = choose_classes(strings, 40)
    expected = ContextCounts.of(strings, *classes)
    for corpus in corpora:
        sharded = ShardedStrings(corpus)
        found = count_shards(sharded, classes)
        assert_same(with_gaps(found, sharded.alphabet_like, classes), expected)
        assert not found.lost.any()


def test_merging_in_any_way_is_the_same(corpora: list[StringCorpus]) -> None:
    strings = in_memory(corpora[0])
    classes = choose_classes(strings, 30)
    parts = [count_steps(piece, classes) for piece in strings.pieces(500)]
    one, other = reduce(merged, parts), reduce(merged, reversed(parts))
    for a, b in zip(one, other, strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_budget_keeps_what_is_frequent_and_tells_the_loss(corpora: list[StringCorpus]) -> None:
    sharded = ShardedStrings(corpora[0])
    classes = choose_classes(in_memory(corpora[0]), 40)
    whole, few = count_shards(sharded, classes), count_shards(sharded, classes, budget=64 * 50)
    assert 0 < len(few.keys) <= 50
    assert few.counts.min() >= np.sort(whole.counts)[-50]
    assert few.lost.tolist() == [len(whole.keys) - len(few.keys), whole.counts.sum() - few.counts.sum()]
    model = SpectralAutomaton(n_states=3, n_classes=40, memory=64 * 400).fit(corpora[0])
    assert model.pruned_[1] > 0
    assert np.isfinite(model.score(corpora[0]))


@pytest.fixture
def few_are_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(context_operators, "_GAPS_ENOUGH", 1000)  # so that classes come from a sample


@pytest.mark.usefixtures("few_are_enough")
def test_a_corpus_on_disk_gives_the_model_of_the_same_strings(corpora: list[StringCorpus]) -> None:
    strings = in_memory(corpora[0])
    expected = SpectralAutomaton(n_classes=(20, 40)).fit(strings)
    for corpus, workers in ((corpora[0], None), (corpora[1], None), (corpora[1], 2)):
        found = SpectralAutomaton(n_classes=(20, 40), workers=workers).fit(corpus)
        assert found.pruned_ == (0, 0)
        assert found.held_out_score_ == expected.held_out_score_
        np.testing.assert_array_equal(found.score_samples(strings), expected.score_samples(strings))


def test_a_stopped_count_goes_on(corpora: list[StringCorpus], tmp_path: Path) -> None:
    sharded, classes = ShardedStrings(corpora[1]), choose_classes(in_memory(corpora[1]), 30)
    ledger = Ledger(tmp_path / "ledger", "test")

    class Dies(Here):
        def run(self, task, items, merge, progress=None):  # type: ignore[no-untyped-def]
            return super().run(task, items[:2], merge)

    count_shards(sharded, classes, Dies(), ledger=ledger)
    assert len(list(ledger.folder.iterdir())) == 2
    found, expected = count_shards(sharded, classes, ledger=ledger), count_shards(sharded, classes)
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_array_equal(a, b)


def test_tasks_are_as_large_as_the_budget_allows(
    corpora: list[StringCorpus], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(on_shards, "_LEAST_GAPS", 100)
    sharded, classes = ShardedStrings(corpora[0]), choose_classes(in_memory(corpora[0]), 30)
    numbers = list[int]()

    class Notes(Here):
        def run(self, task, items, merge, progress=None):  # type: ignore[no-untyped-def]
            numbers.append(len(items))
            return super().run(task, items, merge)

    for n_gaps in (200, 1000, 10**6):
        count_shards(sharded, classes, Notes(), budget=64 * n_gaps)
    assert numbers == [-(-sharded.n_gaps // n_gaps) for n_gaps in (200, 1000, 10**6)]


def test_em_over_shards_is_em(corpora: list[StringCorpus], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(learning, "_EM_GAPS", 200)
    monkeypatch.setattr(learning, "TASK_GAPS", 300)
    strings, automaton = in_memory(corpora[1]), make_automaton(3, 5, np.random.default_rng(0))
    automaton = type(automaton)(strings.alphabet, *automaton.arrays)
    held = np.array([0, 5, 899])
    sharded = learning.ShardedEMCorpus(ShardedStrings(corpora[1]), held, Here())
    kept = strings.select(np.delete(np.arange(len(strings)), held))
    found, expected = sharded.expect(automaton), EMCorpus(kept, 3).expect(automaton)
    assert found.log_likelihood == pytest.approx(expected.log_likelihood, rel=1e-12)
    np.testing.assert_allclose(found.transitions, expected.transitions, rtol=1e-9)
    assert sharded.n_strings == len(kept)
    memory = EMAutomaton(n_states=2, max_iter=4).fit(strings)
    for corpus in corpora:
        disk = EMAutomaton(n_states=2, max_iter=4).fit(corpus)
        assert disk.held_out_score_ == pytest.approx(memory.held_out_score_, rel=1e-6)


@pytest.mark.parametrize("task_gaps", [1 << 21, 300])
def test_workers_change_no_bit_of_em_on_any_corpus(
    corpora: list[StringCorpus], monkeypatch: pytest.MonkeyPatch, task_gaps: int
) -> None:
    monkeypatch.setattr(learning, "TASK_GAPS", task_gaps)
    monkeypatch.setattr(learning, "_SAMPLE_GAPS", 300)  # of strings that a start on shards is made from
    monkeypatch.setattr(em_and_ngram, "EM_SIZES", (1, 2))
    alone, shared = (
        EMAutomaton("auto", max_iter=2, workers=workers).fit(corpora[1]) for workers in (None, 2)
    )
    assert shared.held_out_scores_ == alone.held_out_scores_
    assert shared.model_.transitions.tobytes() == alone.model_.transitions.tobytes()


def test_tasks_share_a_shard_by_its_symbols(tmp_path: Path) -> None:
    lengths = [1] * 500 + [50] * 10
    (tmp_path / "text").write_text("".join("a " * length + "\n" for length in lengths))
    strings = ShardedStrings(build_corpus([str(tmp_path / "text")], tmp_path / "corpus"))
    parts = strings.parts(300)
    assert [edge for _, begin, end in parts for edge in (begin, end)] == [
        0, *(edge for _, _, end in parts[:-1] for edge in (end, end)), len(lengths)
    ]  # fmt: skip
    sizes = [strings.part(*part).n_gaps for part in parts]
    assert sum(sizes) == strings.n_gaps
    assert max(sizes) <= 300 + 51
    assert min(sizes) >= 300 - 2 * 51


def test_the_command_learns_from_a_folder(corpora: list[StringCorpus], tmp_path: Path) -> None:
    words = ["learn", "automaton", corpora[1].folder, "-o", tmp_path / "m.sigma", "--states", "2"]
    result = invoke(*words, "--memory", "1G")
    assert result.exit_code == 0, result.output
    assert "2 states, from 900 strings over 5 symbols" in result.stderr
    assert list(tmp_path.iterdir()) == [tmp_path / "m.sigma"]
    refused = invoke(*words, "--method", "ngram", "--workers", "2")
    assert refused.exit_code == 2
    assert "--states is for" in refused.stderr or "--workers is for --method fast or em" in refused.stderr


def test_a_ledger_knows_the_classes_of_symbols(corpora: list[StringCorpus], tmp_path: Path) -> None:
    sides = np.arange(len(corpora[1].alphabet)) % 2
    told = pytest.warns(UserWarning, match=r"ledger: \d+ parts of other corpora or settings are not used")
    for class_of, telling in ((sides, nullcontext()), (1 - sides, told)):
        strings, held = ShardedStrings(corpora[1], class_of.astype(np.int32)), np.arange(5)
        with telling:
            kept = learning.count_for_fast(strings, held, [20], learning.Plan(ledger=tmp_path / "ledger"))
        fresh = learning.count_for_fast(strings, held, [20], learning.Plan())
        assert_same(kept.batches.kept, fresh.batches.kept)
