"""The file for browsers: the same answers as the whole package, here in Node where it is installed."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sigmastar
from sigmastar.automata import make_automaton
from sigmastar.automata.estimator import spectral
from sigmastar.automata.learn import classed
from sigmastar.core.model_reading import load_model, save_model, sealed
from sigmastar.core.word_clusters import learn_word_classes
from sigmastar.runtime import JAVASCRIPT
from sigmastar.taggers.data.sentences import TaggedSentences
from sigmastar.transducers.model.runtime import TransducerRuntime

ASK = """
const plain = (key, value) => {
  if (value === END) return "END";
  if (value === -Infinity) return "-inf";
  return value instanceof Float64Array ? Array.from(value) : value;
};
const ask = (model, name, questions) => {
  if (name.startsWith("tagger")) return [model.predict(questions), model.predictProba(questions)];
  if (name.startsWith("transducer")) {
    const { inputs, pairs } = questions;
    return [model.predictNbest(inputs, 3), model.scoreSamples(pairs), model.predict(inputs)];
  }
  return [model.predictNext(questions, 2), model.predictProbaNext(questions), model.scoreSamples(questions)];
};
const refusal = (task) => {
  try { task(); } catch (problem) { return `${problem.constructor.name}: ${problem.message}`; }
  return "none";
};
"""
"""What pages and scripts ask of models, for `END` as the file has it."""

SCRIPT = """
import {{ readFileSync }} from "node:fs";
import {{ read, END }} from "{module}";
{ask}
const [files, questions, wrong] = JSON.parse(readFileSync(0, "utf-8"));
const answers = Object.fromEntries(
  Object.entries(files).map(([name, file]) => [name, ask(read(readFileSync(file)), name, questions[name])]),
);
const refusals = Object.fromEntries(
  Object.entries(wrong).map(([name, file]) => [name, refusal(() => read(readFileSync(file)))]),
);
refusals.symbol = refusal(() => read(readFileSync(files.fast)).predictNext(["abz"]));
refusals.string = refusal(() => read(readFileSync(files.fast)).predictNext("ab"));
console.log(JSON.stringify({{ answers, refusals }}, plain));
"""

Asked = tuple[dict[str, Any], dict[str, Path], Any]
SENTENCES = [
    ["the", "dog", "runs"],
    ["a", "cat", "sleeps", "now"],
    ["the", "cat", "runs"],
    ["Eve", "runs"],
] * 7
TAGS = [["D", "N", "V"], ["D", "N", "V", "A"], ["D", "N", "V"], ["N", "V"]] * 7
FRESH = [
    ["the", "dog", "sleeps"],
    ["a", "Mouse", "runs", "now"],
    ["U.S.", "3-4", "κόσμος", "U.S."],
    ["now"],
    [],
]


def with_columns(sentences: list[list[str]]) -> list[list[tuple[str, str]]]:
    return [[(word, word[0].upper()) for word in sentence] for sentence in sentences]


def with_features(sentences: list[list[str]]) -> list[list[dict[str, Any]]]:
    return [[{"word": word, "end": word[-1], "long": len(word) > 3} for word in row] for row in sentences]


def with_classes(tagger: sigmastar.SpectralTagger) -> sigmastar.SpectralTagger:
    """A tagger as pipelines learn it, with classes of words from raw text."""
    raw = [*SENTENCES, *([["the", "mice", "run"], ["a", "mouse", "runs", "1979"]] * 4)]
    classes = learn_word_classes(raw, np.random.default_rng(0))
    return tagger._fit_with(TaggedSentences.of(SENTENCES, TAGS), classes)


def make_models(patch: pytest.MonkeyPatch) -> dict[str, tuple[Any, Any]]:
    """A small model of every kind that is read, and what to ask it."""
    rng, chance = np.random.default_rng(0), random.Random(0)
    drawn = make_automaton(6, 4, rng).sample(300, rng)
    strings = [["abcd"[code] for code in string] for string in drawn]
    many = ["", "a", *("".join(chance.choices("abcd", k=chance.randint(1, 12))) for _ in range(20))]
    odd = [[1, ("x", 2), None], [("x", 2), "é"], [1, 1, "é", 2.5]] * 5
    rare = [["a", "b"], ["b", "a", "c"], ["a"]] * 4 + [["d"]]
    numbers = [chance.choices(range(12), k=chance.randint(1, 6)) for _ in range(60)]
    words = ["".join(chance.choices("abc", k=chance.randint(1, 5))) for _ in range(60)]
    spelled = {"a": "A", "b": "BB", "c": ""}
    pairs = [
        (word, "".join("C" if chance.random() < 0.2 else spelled[letter] for letter in word))
        for word in words
    ]
    asked = {
        "inputs": ["abca", "c", "bb", "az", "z", "", "ccabab"],
        "pairs": [("abca", "ABBA"), ("c", ""), ("b", "A"), ("az", "A"), ("a", "Z"), ("ab", "ABB")],
    }
    back = {"inputs": ["ABBA", "", "C"], "pairs": [("A", "a"), ("BB", "b"), ("BB", "ac")]}
    combined = sigmastar.SpectralTransducer("combined").fit(pairs)
    tagger, transducer = sigmastar.SpectralTagger, sigmastar.SpectralTransducer
    found = {
        "fast": (sigmastar.SpectralAutomaton(n_states=6).fit(strings), many),
        "signed": (sigmastar.SpectralAutomaton("spectral", n_states=4).fit(strings), many),
        "em": (sigmastar.EMAutomaton(n_states=3, max_iter=2).fit(strings), many),
        "ngram": (sigmastar.NgramAutomaton(order=3).fit(strings), many),
        "odd symbols": (
            sigmastar.NgramAutomaton(order=2).fit(odd),
            [[1, ["x", 2]], [], ["é", 2.5, None, True]],
        ),
        "unknown class": (sigmastar.NgramAutomaton(min_count=2).fit(rare), [["a", "z"], ["d"]]),
        "tagger refined": (tagger(max_iter=2).fit(SENTENCES, TAGS), FRESH),
        "tagger viterbi": (tagger(max_iter=2, decoding="viterbi").fit(SENTENCES, TAGS), FRESH),
        "tagger spectral": (tagger("spectral").fit(SENTENCES, TAGS), FRESH),
        "tagger columns": (tagger("chain").fit(with_columns(SENTENCES), TAGS), with_columns(FRESH)),
        "tagger features": (tagger("chain").fit(with_features(SENTENCES), TAGS), with_features(FRESH)),
        "tagger classes": (with_classes(tagger("chain")), [*FRESH, ["Mice", "RUN", "1984"]]),
        "tagger hankel": (tagger("hankel-margin").fit(SENTENCES, TAGS), FRESH),
        "tagger trigram": (sigmastar.NgramTagger().fit(SENTENCES, TAGS), FRESH),
        "transducer ngram": (transducer("ngram").fit(pairs), asked),
        "transducer spectral": (transducer("spectral").fit(pairs), asked),
        "transducer combined": (combined, asked),
        "transducer inverse": (combined.model_.inverse(), back),
    }
    patch.setattr(spectral, "LARGE_ALPHABET", 10)
    patch.setattr(classed, "N_CLASSES", 3)
    for method in ("fast", "auto"):
        fitted = sigmastar.SpectralAutomaton(method, n_states=2).fit(numbers)
        found[f"classed {method}"] = fitted, [[], [1, 2, 3], [11, 0, 5, 5]]
    return found


def written(models: dict[str, tuple[Any, Any]], folder: Path) -> dict[str, Path]:
    """The files of models."""
    files = {name: folder / f"{number}.sigma" for number, name in enumerate(models)}
    for name, (model, _) in models.items():
        save_model(model, files[name])
    return files


def plain(value: Any) -> Any:
    """An answer in what JSON can hold."""
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return str(value) if value is sigmastar.END or value == -np.inf else value


def expected(file: Path, name: str, questions: Any) -> list[Any]:
    """What the whole package answers."""
    is_bare = name.endswith("inverse")  # which no estimator learned
    model: Any = TransducerRuntime(load_model(file)) if is_bare else sigmastar.load(file)
    if name.startswith("tagger"):
        return [plain(model.predict(questions)), plain(model.predict_proba(questions))]
    if name.startswith("transducer"):
        inputs, pairs = questions["inputs"], questions["pairs"]
        found = model.predict_nbest(inputs, 3), model.score_samples(pairs), model.predict(inputs)
        return [plain(answer) for answer in found]
    questions = [[tuple(s) if isinstance(s, list) else s for s in string] for string in questions]
    found = (
        model.predict_next(questions, top=2),
        model.predict_proba_next(questions),
        model.score_samples(questions),
    )
    return [plain(answer) for answer in found]


FORGED = {"context_parent": 1, "row_starts": 10**6, "outcomes": 77, "own": -1.0}
"""Numbers that would lead a reader astray, for the second place of arrays of an n-gram."""


def forged(model: Any, name: str) -> bytes:
    """The file of an n-gram with a number that does not belong there, under a right checksum."""
    arrays, described = model.to_parts()
    array = arrays[name].copy()
    array[1] = FORGED[name]
    header = {"family": "ngram", "version": 2, "sigmastar": "0", "model": described, "learned": {}}
    return b"".join(sealed(header, {**arrays, name: array}, None))


def wrong_files(file: Path, ngram: Any, folder: Path) -> dict[str, Path]:
    """Files that are no models, or none that is read."""
    content = file.read_bytes()
    flipped = bytearray(content)
    flipped[-5] ^= 1
    long = (200_000_000).to_bytes(8, "little") + b"{" + content[9:]
    found = {
        "empty": b"",
        "text": b"no model at all, but a text",
        "cut": content[:-8],
        "cut header": content[:100],
        "longer": content + b"0",
        "bit": bytes(flipped),
        "header": content.replace(b"filtered-automaton", b"filtered-automatoN", 1),
        "version": content.replace(rb"\"version\":2", rb"\"version\":9", 1),
        "long header": long,
        **{name: forged(ngram, name) for name in FORGED},
    }
    for name, wrong in found.items():
        (folder / f"wrong {name}").write_bytes(wrong)
    sigmastar.PCFG().fit(["(S (N a) (V b))"] * 3).save(folder / "wrong kind")
    return {name: folder / f"wrong {name}" for name in [*found, "kind"]}


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Asked:
    node = shutil.which("node")
    if node is None:
        pytest.skip("Node is not installed: the file for browsers is tried by make test-browser alone")
    folder = tmp_path_factory.mktemp("javascript")
    with pytest.MonkeyPatch.context() as patch:
        models = make_models(patch)
    files = written(models, folder)
    questions = {name: asked for name, (_, asked) in models.items()}
    script = folder / "ask.mjs"
    script.write_text(SCRIPT.format(module=Path(JAVASCRIPT).as_uri(), ask=ASK))
    wrong = wrong_files(files["fast"], models["ngram"][0].model_, folder)
    given = json.dumps([files, questions, wrong], default=str)
    done = subprocess.run([node, script], input=given, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return questions, files, json.loads(done.stdout)


@pytest.mark.filterwarnings("ignore:input symbols that are not known")
def test_the_answers_are_those_of_the_whole_package(asked: Asked) -> None:
    questions, files, found = asked
    for name, file in files.items():
        require_close(found["answers"][name], expected(file, name, questions[name]), name)


def require_close(found: Any, wanted: Any, name: str) -> None:
    if isinstance(wanted, list):
        assert isinstance(found, list), name
        assert len(found) == len(wanted), (name, found, wanted)
        for ours, theirs in zip(found, wanted, strict=True):
            require_close(ours, theirs, name)
    elif isinstance(wanted, float):
        assert found == pytest.approx(wanted, rel=0.0, abs=1e-9), name
    else:
        assert found == wanted, name


REFUSALS: dict[str, str] = {
    "empty": "the file is empty",
    "text": "is not a model file",
    "cut": "is damaged: it was cut short",
    "cut header": "is damaged: it was cut short",
    "longer": "is damaged: it is longer than it says",
    "bit": "is damaged: its checksum is not that of its content",
    "header": "is damaged: its checksum is not that of its content",
    "version": "is of format version 9, this reads 2; use a newer sigmastar.mjs",
    "long header": "is not a model file",
    "context_parent": 'does not hold a model of its kind: the array "context_parent" must lead to',
    "row_starts": 'does not hold a model of its kind: the array "row_starts" must rise from 0 to',
    "outcomes": 'does not hold a model of its kind: the array "outcomes" must hold numbers from 0 to 4',
    "own": 'does not hold a model of its kind: the array "own" must hold numbers from 0 to 1',
    "kind": 'holds a model of kind "treebank", which needs Python',
}


def test_files_that_are_no_models_are_refused(asked: Asked) -> None:
    found = asked[2]["refusals"]
    for name, words in REFUSALS.items():
        assert found[name].startswith(f"ModelFileError: {words}"), (name, found[name])


def test_questions_that_cannot_be_answered_are_refused(asked: Asked) -> None:
    found = asked[2]["refusals"]
    assert found["symbol"] == 'UnknownSymbolError: "z" is not among the 4 symbols of the model'
    assert found["string"].startswith("TypeError: give a list of strings")
