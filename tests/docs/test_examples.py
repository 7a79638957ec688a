"""Every example runs from any folder and prints what it found: by `make examples`, which keeps outputs."""

from __future__ import annotations

import ast
import os
import re
import runpy
import tempfile
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "examples"
EXAMPLES = sorted(FOLDER.glob("*.py"))

PRINTED = {
    "modifiers_of_a_head": ("test heads", "accuracy 0.9", "the likeliest modifiers of h7"),
    "distil_a_sequence_model": ["step 600", "it diverges by", "drawn in"],
    "exact_recovery": ["strings: a block of", "trees: a block of"],
    "generate_under_constraints": [
        "the rule has probability",
        "the old",
        "a generator of random words",
        "drawn in",
    ],
    "grid_search": ["grid search: 5 states", "by itself:"],
    "learn_a_grammar": ["excess risk after n trees", "mle inf", "very loose", "is satisfiable"],
    "learn_an_automaton": ["3-gram", "EM", "fast", "auto"],
    "model_words": ["over 2", "trigrams: perplexity", "states, spectral start: perplexity", "after "],
    "parse_a_treebank": ["the true grammar: UAS 0.5", "spectral+em: UAS 0.5"],
    "regression_on_strings": ["76 of 511 values are seen", "nuclear norm alone: relative error", "f(abba)"],
    "parse_with_hidden_states": ["1500 trees", "spectral + EM: F1 0.8", "The tree of"],
    "induce_a_grammar": ["right-branching: F1 0.", "spectral, brackets seen: F1 0.9", "EM from cca"],
    "pronounce_words": ["pairs; the first", "combined: word error 0.", "an input for", "log-probability of"],
    "stragglers_and_failures": ["all alike", "x ideal", "no ledger"],
    "tag_sentences": ["refined of 4: accuracy 0.8", "2000 sentences"],
    "negative_mass": ["% of the next-symbol weight is negative", "filter", "project"],
}


@pytest.mark.skipif("SIGMASTAR_EXAMPLES" not in os.environ, reason="examples run by make examples")
@pytest.mark.parametrize("script", EXAMPLES, ids=lambda script: script.stem)
def test_an_example_runs(
    script: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(script), run_name="__main__")
    printed = capsys.readouterr().out
    assert all(words in printed for words in PRINTED[script.stem])
    assert list(tmp_path.iterdir()) == []
    folder = re.escape(tempfile.gettempdir()) + r"/tmp\w*"
    (FOLDER / "output" / f"{script.stem}.txt").write_text(
        re.sub(folder, "results", printed), encoding="utf-8"
    )


def test_every_example_has_an_output() -> None:
    assert {path.stem for path in FOLDER.glob("output/*.txt")} == {script.stem for script in EXAMPLES}


@pytest.mark.parametrize("script", EXAMPLES, ids=lambda script: script.stem)
def test_an_example_says_what_it_shows(script: Path) -> None:
    assert ast.get_docstring(ast.parse(script.read_text(encoding="utf-8")))
