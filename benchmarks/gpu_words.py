"""How well do thousands of log-bilinear states on a GPU predict words, and what is the spectral start worth?

    python -m benchmarks.gpu_words prepare FOLDER
    python -m benchmarks.gpu_words learn FOLDER OUT --runs spectral:4096:0,random:4096:0:same --budget 500
    python -m benchmarks.gpu_words conclude FOLDER OUT [OUT ...]

WikiText-2 as a stream. The first step needs compiled kernels and no GPU, the second a GPU and no compiled
kernels, so that each can run on a machine of its own; the third, on the first machine again, mixes models
with n-grams and writes `results/gpu_words.json`. A run is START:STATES:SEED[:EPOCHS[:RATE]]; with "same" as
epochs it gets the seconds that the last spectral run of so many states took in all. All choices are by the
validation text; the test text is looked at once per run.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import time
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.gpu import provenance

RESULT = Path(__file__).with_name("results") / "gpu_words.json"
ORDER, N_FEATURES = 5, 256
LANES, WARM = 64, 500  # of the texts that perplexities are of
PARTS = ("valid", "test")


def prepare(folder: Path, data: Path, lines: int | None = None) -> dict[str, Any]:
    """Arrays of the texts, the views of all tokens, and what n-grams give to held-out tokens."""
    from sigmastar.automata.data.formats import Layout
    from sigmastar.automata.model.ngram_smoothing import cells_of, n_cells
    from sigmastar.words.learn.log_bilinear import views_of
    from sigmastar.words.learn.word_model import unigram_of, word_ngram
    from sigmastar.words.model.mixture import contexts_of

    read = Layout("lines", False, None).read
    train = read(str(data / "train.txt.gz"))
    held = {name: read(str(data / f"{name}.txt.gz"), train.alphabet) for name in PARTS}
    if lines is not None:
        train, held = train.select(np.arange(lines)), {k: v.select(np.arange(lines)) for k, v in held.items()}
    begin = time.process_time()
    past, future, pasts, futures = views_of(train)
    seconds = {"views": time.process_time() - begin}
    begin = time.process_time()
    ngram = word_ngram(train, ORDER, True)
    arrays = {
        "tokens": train.outcomes.astype(np.uint16), "unigram": unigram_of(train),
        "past": past.astype(np.uint16), "future": future.astype(np.uint16),
        "pasts": pasts.astype(np.float16), "futures": futures.astype(np.float16),
    }  # fmt: skip
    for name, part in held.items():
        contexts = contexts_of(ngram, part, True)
        found = ngram.probabilities(contexts, part.outcomes.astype(np.int32))
        arrays[name] = part.outcomes.astype(np.uint16)
        arrays[f"{name}_cells"] = cells_of(ngram)[contexts].astype(np.uint8)
        arrays[f"{name}_ngram"] = found.astype(np.float32)
    seconds["n-grams"] = time.process_time() - begin
    folder.mkdir(parents=True, exist_ok=True)
    np.savez(folder / "words.npz", **arrays)
    told = {"seconds": seconds, "cells": n_cells(ngram), "classes": [len(pasts), len(futures)]}
    (folder / "words.json").write_text(json.dumps(told) + "\n")
    return told


@dataclass(frozen=True)
class Run:
    """What to learn."""

    start: str
    n_states: int
    seed: int
    epochs: str = "145"
    rate: float = 7e-3

    @classmethod
    def of(cls, text: str) -> Run:
        start, states, seed, *more = text.split(":")
        if start not in ("spectral", "random") or len(more) > 2:
            raise SystemExit(f"no run: {text}")
        return cls(start, int(states), int(seed), *more[:1], *(float(rate) for rate in more[1:]))

    @property
    def name(self) -> str:
        return f"{self.start}-{self.n_states}-{self.seed}-{self.epochs}-{self.rate:g}"


class Learning:
    """Runs one after the other; what is finished is on disk."""

    def __init__(self, folder: Path, out: Path, budget: float, device: str) -> None:
        self.began, self.out, self.budget, self.device = time.perf_counter(), out, budget, device
        self.arrays = dict(np.load(folder / "words.npz"))
        self.prepared = json.loads((folder / "words.json").read_text())["seconds"]
        self.rows: list[dict[str, Any]] = []
        out.mkdir(parents=True, exist_ok=True)

    def add(self, run: Run) -> None:
        """Learn, unless the time left does not suffice by what the last such run took."""
        left = self.budget - (time.perf_counter() - self.began)
        row: dict[str, Any] = {"name": run.name, "start": run.start, "states": run.n_states, "seed": run.seed}
        n_epochs = self._epochs(run)
        if n_epochs is None or self._expected(run, n_epochs) > left:
            row["skipped"] = "no spectral run before it" if n_epochs is None else f"{left:.0f} s left"
        else:
            try:
                row |= {"rate": run.rate, **self._learned(run, n_epochs)}
            except RuntimeError as problem:  # the other runs are worth having
                row["failed"] = f"{type(problem).__name__}: {problem}"[:300]
        self.rows.append(row)
        print(json.dumps(row), flush=True)
        self.save()

    def _like(self, run: Run) -> list[dict[str, Any]]:
        return [row for row in self.rows if row["states"] == run.n_states and "epochs" in row]

    def _epochs(self, run: Run) -> int | None:
        if run.epochs != "same":
            return int(run.epochs)
        like = [row for row in self._like(run) if row["start"] == "spectral"]
        return round(like[-1]["seconds"] / like[-1]["seconds per epoch"]) if like else None

    def _expected(self, run: Run, n_epochs: int) -> float:
        like = self._like(run)
        if not like:
            return 0.0
        return like[-1]["start seconds"] + 1.1 * n_epochs * like[-1]["seconds per epoch"] + 5.0

    def _learned(self, run: Run, n_epochs: int) -> dict[str, Any]:
        from sigmastar.words.gpu.log_bilinear import Prepared, Training, Work

        begin, arrays = time.perf_counter(), self.arrays
        is_spectral = run.start == "spectral"
        text = Prepared(
            arrays["tokens"].astype(np.int32), arrays["valid"].astype(np.int32), arrays["unigram"]
        )
        training = Training(n_epochs=n_epochs, rate=run.rate, seed=run.seed)
        work = Work(text, run.n_states, N_FEATURES, training, self.device)
        views = tuple(arrays[name] for name in ("past", "future", "pasts", "futures"))
        model = work.started(views if is_spectral else None)  # type: ignore[arg-type]
        self._wait(work)
        started, read = time.perf_counter() - begin, [0]
        model, scores = work.trained(model, lambda message, done=None: read.__setitem__(0, read[0] + 1))
        self._wait(work)
        trained = time.perf_counter() - begin - started
        return {
            "epochs": n_epochs, "epochs read": read[0], "start seconds": started, "training seconds": trained,
            "seconds per epoch": trained / read[0],
            "seconds": started + trained + (self.prepared["views"] if is_spectral else 0.0),
            "looks": [round(float(np.exp(-score)), 2) for score in scores],
            **self._perplexities(run, model),
        }  # fmt: skip

    def _perplexities(self, run: Run, model: Any) -> dict[str, float]:
        from sigmastar.words.gpu.chains import probabilities

        chain = model.chain()
        parts = chain.initial, chain.moves, chain.by_word
        found = {
            name: probabilities(self.arrays[name].astype(np.int64), *parts, LANES, WARM) for name in PARTS
        }
        np.savez(self.out / f"{run.name}.npz", **{name: p.astype(np.float32) for name, p in found.items()})
        return {name: perplexity(p) for name, p in found.items()}

    def _wait(self, work: Any) -> None:
        import torch

        if work.device.type == "cuda":
            torch.cuda.synchronize()

    def save(self) -> None:
        import torch

        result = {"provenance": provenance(torch) if self.device != "cpu" else {}, "rows": self.rows}
        (self.out / "words.json").write_text(json.dumps(result, indent=1) + "\n")


def perplexity(probabilities: Any) -> float:
    return float(np.exp(-np.log(np.maximum(np.asarray(probabilities, np.float64), 1e-300)).mean()))


class Mixing:
    """Models with n-grams, and models with models, by rates and weights that the validation text asks for."""

    def __init__(self, folder: Path) -> None:
        self.arrays, self.cells = (
            np.load(folder / "words.npz"),
            json.loads((folder / "words.json").read_text())["cells"],
        )
        self.ngram = {name: self.arrays[f"{name}_ngram"].astype(np.float64) for name in PARTS}
        self.cell = {name: self.arrays[f"{name}_cells"].astype(np.int32) for name in PARTS}

    def with_ngrams(self, states: dict[str, Any]) -> dict[str, float]:
        from sigmastar.automata.learn.ngram import rates_of_cells

        rates = rates_of_cells(self.cell["valid"], self.cells, states["valid"], self.ngram["valid"])
        found = {}
        for name in PARTS:
            rate = rates[self.cell[name]]
            mixed = (1.0 - rate) * states[name] + rate * self.ngram[name]
            found[f"{name} with n-grams"] = perplexity(mixed)
        return found

    def together(self, models: list[dict[str, Any]]) -> dict[str, float]:
        from sigmastar.core.mixture import mixture_weights

        weights = mixture_weights(np.stack([model["valid"] for model in models]))
        mixed = {name: weights @ np.stack([model[name] for model in models]) for name in PARTS}
        return {name: perplexity(p) for name, p in mixed.items()} | self.with_ngrams(mixed)


def hashed(folder: Path) -> str:
    """The hash of the prepared texts."""
    return hashlib.sha256((folder / "words.npz").read_bytes()).hexdigest()


def conclude(folder: Path, outs: list[Path], target: Path) -> dict[str, Any]:
    """The rows of all runs, with n-grams, and pairs of spectral models of the same kind together."""
    from sigmastar.core.provenance import git_commit

    mixing, rows, models, machine = Mixing(folder), [], {}, {}
    for out in outs:
        found = json.loads((out / "words.json").read_text())
        machine = found["provenance"]
        for row in found["rows"]:
            if "epochs" not in row:
                continue
            with np.load(out / f"{row['name']}.npz") as arrays:
                models[row["name"]] = {name: arrays[name].astype(np.float64) for name in PARTS}
            rows.append(row | mixing.with_ngrams(models[row["name"]]))
    pairs = []
    for one, other in combinations([row for row in rows if row["start"] == "spectral"], 2):
        if (one["states"], one["epochs"], one["rate"]) == (other["states"], other["epochs"], other["rate"]):
            names = [one["name"], other["name"]]
            pairs.append({"names": names, **mixing.together([models[name] for name in names])})
    told = json.loads((folder / "words.json").read_text())
    alone = {f"{name} of n-grams alone": perplexity(mixing.ngram[name]) for name in PARTS}
    result = {
        "question": "gpu_words", "title": "Word models on a GPU",
        "provenance": {**machine, "commit": git_commit(), "tokens": hashed(folder)},
        "prepared": told, **alone, "rows": rows, "two models": pairs,
    }  # fmt: skip
    target.write_text(json.dumps(result, indent=1) + "\n")
    return result


def main(words: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.gpu_words", description=__doc__.split("\n")[0]
    )
    parser.add_argument("step", choices=["prepare", "learn", "conclude"])
    parser.add_argument("folder", type=Path)
    parser.add_argument("outs", type=Path, nargs="*")
    parser.add_argument(
        "--runs", default="spectral:4096:0,spectral:4096:1,spectral:4096:2,random:4096:0:same"
    )
    parser.add_argument("--budget", type=float, default=500.0, help="seconds")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--data", type=Path, help="folder of WikiText-2")
    parser.add_argument("--lines", type=int, help="of each text: to try things out")
    parser.add_argument("--target", type=Path, default=RESULT)
    given = parser.parse_args(words)
    if given.step == "prepare":
        print(json.dumps(prepare(given.folder, given.data, given.lines)))
    elif given.step == "learn":
        work = Learning(given.folder, given.outs[0], given.budget, given.device)
        for text in given.runs.split(","):
            work.add(Run.of(text))
    else:
        print(json.dumps(conclude(given.folder, given.outs, given.target), indent=1))


if __name__ == "__main__":
    main()
