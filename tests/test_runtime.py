"""The runtime: NumPy alone, and the same answers as the whole package."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sigmastar
from sigmastar import runtime
from sigmastar.automata import make_automaton
from sigmastar.core.errors import ModelFileError

FOREIGN = ("numba", "scipy", "threadpoolctl", "zstandard", "click", "rich", "sklearn")
LIMITS = {"import": 0.15, "all": 0.3}  # seconds of the processor, on a machine that does nothing else
SLOWER = 3.0  # than that, where tests run beside other work

ASK = """
import json, sys, time
begin = time.process_time()
from sigmastar import runtime
imported = time.process_time()
files, questions = json.loads(sys.stdin.read())
first = runtime.load(files["fast"])
loaded = time.process_time()
first.predict_next(questions["many"])
seconds = {"import": imported - begin, "all": time.process_time() - begin}
answers = {}
for name, file in files.items():
    model = runtime.load(file)
    if name.startswith("tagger"):
        answers[name] = [table.tolist() for table in model.predict_proba(questions["sentences"])]
        answers[name] += [model.predict(questions["sentences"])]
    elif name.startswith("transducer"):
        answers[name] = [model.predict_nbest(questions["inputs"], 3)]
        answers[name] += [model.score_samples(questions["pairs"]).tolist()]
    else:
        answers[name] = [model.predict_proba_next(questions["many"]).tolist()]
        answers[name] += [model.score_samples(questions["many"]).tolist()]
modules = sorted(sys.modules)
try:
    from sigmastar import NgramAutomaton
    NgramAutomaton().fit(["ab"])
    refused = ""
except RuntimeError as problem:
    refused = str(problem)
print(json.dumps({"seconds": seconds, "answers": answers, "refused": refused, "modules": modules}))
"""


def asked_of(estimator: Any, name: str, questions: dict[str, Any]) -> list[Any]:
    if name.startswith("tagger"):
        tables = [table.tolist() for table in estimator.predict_proba(questions["sentences"])]
        return [*tables, estimator.predict(questions["sentences"])]
    if name.startswith("transducer"):
        ranked = estimator.predict_nbest(questions["inputs"], 3)
        return [ranked, estimator.score_samples(questions["pairs"]).tolist()]
    many = questions["many"]
    return [estimator.predict_proba_next(many).tolist(), estimator.score_samples(many).tolist()]


def close(ours: Any, theirs: Any) -> bool:
    if isinstance(ours, (list, tuple)):
        alike = zip(ours, theirs, strict=True)
        return len(ours) == len(theirs) and all(close(a, b) for a, b in alike)
    return bool(ours == theirs if isinstance(ours, str) else np.isclose(ours, theirs, rtol=0.0, atol=1e-9))


@pytest.fixture(scope="module")
def models() -> dict[str, Any]:
    """Small models of every kind that the runtime reads."""
    rng = np.random.default_rng(0)
    drawn = make_automaton(20, 6, rng).sample(1500, rng)
    strings = [["abcdef"[code] for code in string] for string in drawn]
    sentences = [["the", "dog", "runs"], ["a", "cat", "sleeps", "now"], ["the", "cat", "runs"]] * 7
    tags = [["D", "N", "V"], ["D", "N", "V", "A"], ["D", "N", "V"]] * 7
    chance, spelled = random.Random(0), {"a": "A", "b": "BB", "c": ""}
    words = ["".join(chance.choices("abc", k=chance.randint(1, 6))) for _ in range(80)]
    pairs = [(word, "".join(spelled[letter] for letter in word)) for word in words]
    return {
        "fast": sigmastar.SpectralAutomaton(n_states=20).fit(strings),
        "signed": sigmastar.SpectralAutomaton("spectral", n_states=5).fit(strings),
        "em": sigmastar.EMAutomaton(n_states=5, max_iter=2).fit(strings),
        "ngram": sigmastar.NgramAutomaton(order=3).fit(strings),
        "tagger refined": sigmastar.SpectralTagger(max_iter=2).fit(sentences, tags),
        "tagger spectral": sigmastar.SpectralTagger("spectral").fit(sentences, tags),
        "transducer ngram": sigmastar.SpectralTransducer("ngram").fit(pairs),
        "transducer spectral": sigmastar.SpectralTransducer("spectral").fit(pairs),
    }


@pytest.fixture(scope="module")
def asked(
    models: dict[str, Any], tmp_path_factory: pytest.TempPathFactory
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The questions, and what a process with the runtime alone answers."""
    folder, chance = tmp_path_factory.mktemp("runtime"), random.Random(1)
    files = {name: str(folder / f"{number}.sigma") for number, name in enumerate(models)}
    for name, model in models.items():
        model.save(files[name])
    questions = {
        "many": ["".join(chance.choices("abcdef", k=chance.randint(0, 15))) for _ in range(1000)],
        "sentences": [["the", "dog", "sleeps"], ["a", "mouse", "runs", "now"], ["now"]],
        "inputs": ["abca", "c", "bb"],
        "pairs": [("abca", "ABBA"), ("c", ""), ("b", "A")],
    }
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", ASK],
        input=json.dumps([files, questions]),
        capture_output=True,
        text=True,
        check=True,
    )
    return questions, json.loads(done.stdout)


def test_the_answers_are_those_of_the_whole_package(
    models: dict[str, Any], asked: tuple[dict[str, Any], dict[str, Any]]
) -> None:
    questions, found = asked
    for name, model in models.items():
        assert close(found["answers"][name], asked_of(model, name, questions)), name


def test_nothing_but_numpy_is_imported(asked: tuple[dict[str, Any], dict[str, Any]]) -> None:
    modules = set(asked[1]["modules"])
    assert "numpy" in modules
    assert not modules.intersection(FOREIGN)


def test_it_starts_at_once(asked: tuple[dict[str, Any], dict[str, Any]]) -> None:
    seconds = asked[1]["seconds"]
    assert all(seconds[name] < SLOWER * limit for name, limit in LIMITS.items()), seconds


def test_learning_where_nothing_is_compiled_is_refused(asked: tuple[dict[str, Any], dict[str, Any]]) -> None:
    assert "learn in another process" in asked[1]["refused"]


def test_beside_the_whole_package_kernels_stay_compiled(models: dict[str, Any], tmp_path: Path) -> None:
    models["ngram"].save(tmp_path / "model.sigma")
    model = runtime.load(tmp_path / "model.sigma")
    expected = models["ngram"].predict_next(["ab", ""])
    assert model.predict_next(["ab", ""]) == expected
    assert sigmastar.NgramAutomaton().fit(["ab"]).model_ is not None


def test_unknown_symbols_are_refused(models: dict[str, Any], tmp_path: Path) -> None:
    models["fast"].save(tmp_path / "model.sigma")
    with pytest.raises(sigmastar.UnknownSymbolError, match="'z' is not among the 6"):
        runtime.load(tmp_path / "model.sigma").predict_next(["z"])


def test_models_of_other_families_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "pcfg.sigma"
    sigmastar.PCFG().fit(["(S (N a) (V b))"] * 3).save(path)
    with pytest.raises(ModelFileError, match=r"needs the whole package: use sigmastar\.load"):
        runtime.load(path)


def test_bytes_are_no_path() -> None:
    with pytest.raises(sigmastar.InputError, match="load takes the path of a file, not what is in it"):
        runtime.load(b"what is in a file")  # type: ignore[arg-type]
