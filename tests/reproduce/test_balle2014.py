"""The experiment with PoS tags: on small files in the formats of the data, and on the data itself."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from sigmastar.automata.counts import bases
from sigmastar.automata.data.strings import Strings
from sigmastar.automata.learn.spectral import learn_automaton
from sigmastar.automata.model.automaton import WeightedAutomaton
from sigmastar.automata.model.generators import make_automaton
from sigmastar.cli.group import command
from sigmastar.core.alphabet import Alphabet
from sigmastar.core.errors import InputError
from sigmastar.core.progress import silent
from sigmastar.reproduce import PAPERS, balle2014, paper
from sigmastar.reproduce.balle2014.claims import claims
from sigmastar.reproduce.balle2014.trials import EM, FILTERED, STRING, SUBSTRING, Found, Sweep
from sigmastar.reproduce.corpora import read_tag_map, read_tags

TAGS = {"NN": "NOUN", "NNS": "NOUN", "DT": "DET", "VBZ": "VERB", ".": ".", "FW": "X"}
SMALL = balle2014.Scale((1, 2, 3), (10, 20), (2, 3), 2, True)


def write_sentences(path: Path, sentences: Strings) -> None:
    lines = ["".join(f"word{k}\t{tag}\t{k}\n" for k, tag in enumerate(sentence, 1)) for sentence in sentences]
    path.write_text("\n".join(lines), encoding="utf-8")


@pytest.fixture
def small_folder(tmp_path: Path) -> Path:
    """Sentences from a random machine over a few tags, laid out as the real folder is."""
    rng = np.random.default_rng(3)
    drawn = make_automaton(3, len(TAGS) - 1, rng, stop=0.15)
    tags = Alphabet([tag for tag in TAGS if tag != "FW"])
    source = WeightedAutomaton(tags, drawn.initial, drawn.transitions, drawn.final)
    folder = tmp_path / "data"
    for name in ("ptb_sample", "universal_tagset"):
        (folder / name).mkdir(parents=True)
    for name, n_strings in (("train", 150), ("dev", 40), ("test", 40)):
        sample = source.sample(2 * n_strings, rng)
        filled = sample.select(np.flatnonzero(sample.lengths)[:n_strings])
        write_sentences(folder / "ptb_sample" / f"wsj-{name}.dp", filled)
    mapping = "".join(f"{tag}\t{universal}\n" for tag, universal in TAGS.items())
    (folder / "universal_tagset" / "en-ptb.map").write_text(mapping, encoding="utf-8")
    return folder


@pytest.fixture
def small_scale(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(balle2014, "QUICK", SMALL)
    monkeypatch.setattr(balle2014, "LEARNERS", {"fast": balle2014.LEARNERS["fast"]})


def test_sentences_are_read_and_mapped(tmp_path: Path) -> None:
    (tmp_path / "map").write_text("NN\tNOUN\nNNS\tNOUN\nDT\tDET\n", encoding="utf-8")
    (tmp_path / "dp").write_text("the\tDT\t2\ndog\tNN\t0\n\ndogs\tNNS\t0\n", encoding="utf-8")
    tags = read_tags(tmp_path / "dp", read_tag_map(tmp_path / "map"))
    assert list(tags) == [("DET", "NOUN"), ("NOUN",)]
    assert tags.alphabet.symbols == ("DET", "NOUN")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("dog\tNN\t0\ncat\tQQ\t0\n", r"dp: the tag 'QQ' is not in the map of tags"),
        ("dog\n", r"dp:1: expected 2 columns, found 1"),
        ("\n\n", "the file holds no sentence"),
    ],
)
def test_bad_sentences_are_told(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "dp").write_text(content, encoding="utf-8")
    with pytest.raises(InputError, match=message):
        read_tags(tmp_path / "dp", {"NN": "NOUN"})


@pytest.mark.parametrize("content", ["", "NN NOUN\n", "NN\t\n"])
def test_bad_maps_are_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / "map").write_text(content, encoding="utf-8")
    with pytest.raises(InputError, match="map"):
        read_tag_map(tmp_path / "map")


@pytest.mark.parametrize("statistic", [bases.STRING, bases.SUBSTRING], ids=lambda s: s.name)
def test_one_decomposition_gives_every_size(statistic: bases.Statistic, rng: np.random.Generator) -> None:
    strings = make_automaton(4, 3, rng).sample(400, rng)
    basis = bases.most_frequent(strings, 12, 12, statistic)
    sweep = Sweep.of(strings, lambda: basis, statistic, 6)
    for n_states in (1, 3, 5):
        alone = learn_automaton(strings, basis, n_states, statistic)
        np.testing.assert_allclose(
            sweep.automaton(n_states).value(basis.outsides),
            alone.value(basis.outsides),
            rtol=1e-8,
            atol=1e-12,
        )


def test_the_command_writes_a_page_figures_and_pictures(
    small_folder: Path, tmp_path: Path, small_scale: None
) -> None:
    out = tmp_path / "out"
    words = ["reproduce", "balle2014", "--quick", "--data", str(small_folder), "--out", str(out)]
    done = CliRunner().invoke(command, words)
    assert done.exit_code == 0, done.output
    for learner in ("unigram", "bigram", STRING, SUBSTRING, FILTERED, EM, "fast"):
        assert learner in done.stdout
    assert sorted(path.name for path in out.iterdir()) == [
        "bases.svg",
        "figures.json",
        "learners.svg",
        "report.html",
        "times.svg",
    ]
    figures = json.loads((out / "figures.json").read_text(encoding="utf-8"))
    assert len(figures["provenance"]["data_hash"]) == 64
    assert len(figures["claims"]) == 11  # eight of sequences, three of taggers and transducers
    em = [trial for trial in figures["trials"] if trial["learner"] == EM]
    assert [(trial["states"], trial["start"]) for trial in em] == [(2, 0), (2, 1), (3, 0), (3, 1)]
    chosen = {row["learner"]: row for row in figures["chosen"]}
    assert chosen[SUBSTRING]["test_perplexity"] is None
    assert 1.0 < chosen[FILTERED]["test_perplexity"] < 10.0
    page = (out / "report.html").read_text(encoding="utf-8")
    assert page.count("<svg") == 3


def test_what_is_chosen_errs_least_on_development_sentences(small_folder: Path, small_scale: None) -> None:
    found = balle2014.experiment(balle2014.read_split(small_folder), SMALL, 0, silent)
    for learner in (STRING, SUBSTRING, EM):
        assert found.chosen(learner).dev.rate == min(trial.dev.rate for trial in found.of(learner))
    errors = found.bigram.test
    assert errors.interval(np.random.default_rng(0)).value == pytest.approx(errors.rate)
    against = found.ngrams[0].test.against(errors, np.random.default_rng(0))
    assert against.difference == pytest.approx(found.ngrams[0].test.rate - errors.rate)


def test_without_data_one_line_says_what_to_do(tmp_path: Path) -> None:
    done = CliRunner().invoke(command, ["reproduce", "balle2014"], env={"SIGMASTAR_DATA": ""})
    assert done.exit_code == 2
    assert done.stderr.count("\n") == 1
    assert "SIGMASTAR_DATA or --data" in done.stderr
    done = CliRunner().invoke(command, ["reproduce", "balle2014", "--data", str(tmp_path)])
    assert done.exit_code == 1
    assert done.stderr.count("\n") == 1
    assert "ptb_sample/wsj-train.dp" in done.stderr


def test_every_paper_can_be_run() -> None:
    assert all(callable(paper(name).run) for name in PAPERS)
    with pytest.raises(ValueError, match="there are balle2014"):
        paper("unwritten2031")


@pytest.fixture(scope="module")
def real(data_folder: Path) -> Found:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(balle2014, "LEARNERS", {"fast": balle2014.LEARNERS["fast"]})
        scale = balle2014.Scale((1, 2, 3, 5, 10, 15, 20), (100, 500), (5, 10), 1, False)
        return balle2014.experiment(balle2014.read_split(data_folder), scale, 0, silent)


def test_on_the_treebank_sample_the_order_is_as_in_the_tutorial(real: Found) -> None:
    assert len(real.split.train.alphabet) == 12
    unigram, bigram = (trial.test.rate for trial in real.ngrams[:2])
    substring, string = real.chosen(SUBSTRING).test.rate, real.chosen(STRING).test.rate
    assert substring < bigram < unigram
    assert substring < string
    assert real.chosen("fast").test.rate < substring


def test_on_the_treebank_sample_the_claims_that_the_text_makes(real: Found) -> None:
    decided = {claim.paper: claim.holds for claim in claims(real, np.random.default_rng(0))}
    for words in ("ignore most of the examples", "smaller Hankel matrices", "at few states"):
        assert next(holds for claim, holds in decided.items() if words in claim) is True
