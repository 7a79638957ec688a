"""TAYSIR 2023, networks into automata (Eyraud et al., PMLR 217): the tables of both tracks.

Track 2, language models: what is learned from strings that a network draws (an n-gram, `fast`), what is
learned from its exact answers, and the machines of the competition's winners. Track 1, classifiers: how small
an automaton, and how often it is wrong. The networks are run by `networks.py`, which lies beside them in the
folder of the data and is executed.
"""

from __future__ import annotations

import runpy
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from sigmastar.automata.data.strings import Strings
from sigmastar.automata.estimator.em_and_ngram import NgramAutomaton
from sigmastar.automata.estimator.spectral import SpectralAutomaton
from sigmastar.automata.model.sequence import SequenceModel
from sigmastar.core.model_format import hash_arrays
from sigmastar.core.progress import Progress, silent
from sigmastar.core.provenance import provenance
from sigmastar.distil.asked_strings import Asked, ask
from sigmastar.distil.classifier import DistilledClassifier
from sigmastar.distil.estimator import DistilledAutomaton
from sigmastar.distil.judging import tell_apart
from sigmastar.distil.learn import divergences
from sigmastar.distil.pools import draw
from sigmastar.distil.questions import Questions
from sigmastar.reproduce import require_files
from sigmastar.reproduce.result import Reproduction
from sigmastar.reproduce.taysir.report import (
    CLASSIFIERS,
    LANGUAGE_MODELS,
    NAME,
    Classified,
    Modelled,
    reproduction,
)

LONGEST = 200
N_DRAWN = 50_000
_N_JUDGED = 1000
_QUICK = ("2.1",), ("1.7",)

Word = tuple[int, ...]


class ReadsOn:
    """A recurrent network of the competition that keeps its states, and the time that it takes."""

    def __init__(self, network: Any) -> None:
        self.network, self.alphabet_size, self.seconds = network, network.alphabet_size, 0.0

    def start(self, n: int) -> Any:
        """n empty prefixes."""
        return self.step(self.network.body.start(n), np.full(n, self.network.start_symbol))

    def step(self, states: Any, symbols: Any) -> Any:
        """One symbol more of each prefix."""
        begin = time.process_time()
        states = self.network.body.step(states, np.asarray(symbols))
        rows = self.network.body.output(states[-1][0])
        self.seconds += time.process_time() - begin
        return states, rows

    def next_distributions(self, prefixes: Any) -> Any:
        """What comes after each prefix."""
        return self.network.next_distributions(prefixes)


def run(
    data_folder: Path, out: Path, quick: bool = False, seed: int = 0, progress: Progress = silent
) -> Reproduction:
    """Ask the networks of `data_folder`, write tables, figures and a page into `out`."""
    models, classifiers = _QUICK if quick else (tuple(LANGUAGE_MODELS), tuple(CLASSIFIERS))
    names = [*models, *classifiers]
    files = [
        "networks.py",
        *(f"{name}{end}" for name in names for end in (".safetensors", ".valid.words.gz")),
    ]
    require_files(data_folder, [f"taysir/{file}" for file in files], NAME)
    folder = data_folder / "taysir"
    tools = runpy.run_path(str(folder / "networks.py"))
    modelled, classified = list[Modelled](), list[Classified]()
    for place, name in enumerate(names):
        progress(f"network {name}", place / len(names))
        words = tools["read_words"](folder / f"{name}.valid.words.gz")
        network = tools["load"](name, folder)
        if name in LANGUAGE_MODELS:
            modelled += _modelled(name, ReadsOn(network), words, quick, seed)
        else:
            classified.append(_classified(name, network, words, quick, seed))
    digest = hash_arrays(*(np.frombuffer((folder / file).read_bytes(), np.uint8) for file in files))
    result = reproduction(modelled, classified, quick, provenance(seed, digest))
    result.write(out)
    return result


def _modelled(name: str, box: ReadsOn, words: list[Word], quick: bool, seed: int) -> Iterator[Modelled]:
    """Half of the words are given, the others judge, and so do strings that the network draws."""
    questions = Questions(box)
    coded, half = Strings.of(words, alphabet=questions.alphabet), len(words) // 2
    judges = [ask(questions, coded.select(np.arange(half, len(words))))]
    judges.append(draw(questions, _N_JUDGED, np.random.default_rng([seed, 7]), LONGEST))
    mean = np.concatenate([judge.rows for judge in judges]).mean(axis=0)
    means = [
        1e3 * float(divergences(judge.rows, np.tile(mean, (len(judge.rows), 1))).mean()) for judge in judges
    ]
    yield Modelled(name, "mean distribution", 0, *means)
    n_drawn = 3000 if quick else N_DRAWN
    drawn = draw(questions, n_drawn, np.random.default_rng([seed, 3]), LONGEST).strings
    ngram = NgramAutomaton(random_state=seed).fit(drawn)
    yield _judged(name, "n-gram, drawn strings", ngram.model_, 0, judges)
    fast = SpectralAutomaton(random_state=seed).fit(drawn)
    yield _judged(name, "fast, drawn strings", fast.model_, fast.n_states_, judges)
    limits: dict[str, Any] = {"max_queries": 30_000, "n_states": 30} if quick else {}
    asked = DistilledAutomaton(random_state=seed, **limits).fit(box, coded.select(np.arange(half)))
    n_states = vars(asked).get("n_states_") or 0
    yield _judged(name, f"asked, {asked.method_}", asked.model_, n_states, judges)


def _judged(name: str, method: str, model: SequenceModel, n_states: int, judges: list[Asked]) -> Modelled:
    told = [tell_apart(model, judge) for judge in judges]
    words, own = (1e3 * float(part.divergence.sum() / part.lengths.sum()) for part in told)
    gaps = (np.exp(told[1].log_box) - np.exp(told[1].log_model)) ** 2
    return Modelled(name, method, n_states, words, own, 1e6 * float(gaps.mean()))


def _classified(name: str, network: Any, words: list[Word], quick: bool, seed: int) -> Classified:
    rng = np.random.default_rng([seed, 11])
    order = rng.permutation(len(words))
    given, judged = ([words[number] for number in part] for part in (order[::2], order[1::2]))
    limits: dict[str, Any] = {"max_queries": 20_000} if quick else {}
    model = DistilledClassifier(random_state=seed, **limits).fit(network, given)
    some = [judged[number] for number in rng.integers(len(judged), size=2 * _N_JUDGED)]
    near = [edited(word, network.alphabet_size, rng) for word in some[:_N_JUDGED]]
    far = [tuple(rng.integers(0, network.alphabet_size, len(word)).tolist()) for word in some[_N_JUDGED:]]
    errors = [
        float((model.predict(strings) != network.accepts(strings)).mean()) for strings in (judged, near, far)
    ]
    return Classified(name, model.method_, model.n_states_, model.n_queries_, *errors)


def edited(word: Word, n_symbols: int, rng: np.random.Generator) -> Word:
    """One to three symbols replaced, removed or put in."""
    symbols = list(word)
    for _ in range(rng.integers(1, 4)):
        kind, symbol = rng.integers(3), int(rng.integers(n_symbols))
        at = int(rng.integers(len(symbols) + (kind == 0))) if symbols or kind == 0 else 0
        symbols[at : at + (kind > 0)] = [symbol] if kind < 2 else []
    return tuple(symbols)
