"""What a GPU does for large models: sequences per second beside eager PyTorch, SVD beside SciPy.

    python -m benchmarks.gpu [--quick] [FILE [ROW ...]]

Runs where PyTorch finds a GPU, and writes `results/gpu.json`, after every row, with the chip, the driver,
versions, and the peak of copies and products in the same run. Rows that are named are measured anew, and the
others of the file kept. With --quick small cases of the rows that a processor can do too run to their end,
and nothing is written. Numba is not needed: compiled kernels, which prepare the work of a GPU, then run as
plain Python.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import time
from hashlib import sha256
from importlib.metadata import version
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.gpu_grammars import control, latent_grammar, timed, tree_states, treebank_round
from benchmarks.gpu_svd import svd
from sigmastar.core.provenance import git_commit

RESULT = Path(__file__).with_name("results") / "gpu.json"
N_SYMBOLS = 1000


def peaks(torch: Any) -> dict[str, float]:
    """Bytes per second of a copy, and operations per second of a product."""
    size, n = 1 << 30, 8192
    source = torch.empty(size, dtype=torch.uint8, device="cuda")
    target = torch.empty_like(source)
    found = {"copy TB/s": 2 * size / timed(lambda: target.copy_(source), torch) / 1e12}
    for name in ("bfloat16", "float32", "float64"):
        a = torch.randn((n, n), device="cuda").to(getattr(torch, name))
        found[f"{name} TFLOP/s"] = 2 * n**3 / timed(lambda a=a: a @ a, torch) / 1e12
    return found


def model(n: int, rng: np.random.Generator) -> tuple[Any, ...]:
    rows: Any = lambda *shape: rng.dirichlet(np.ones(shape[-1]), size=shape[:-1])  # noqa: E731
    return rows(n), rows(n, n), rows(n, N_SYMBOLS), np.full(n, 0.02)


def markov(torch: Any, n: int, n_strings: int, precision: str, length: int = 64) -> dict[str, Any]:
    from sigmastar.automata.gpu.lanes import lanes_of
    from sigmastar.automata.gpu.markov import TorchMarkov, _Pass, _Totals

    rng = np.random.default_rng(0)
    weights = model(n, rng)
    codes = rng.integers(0, N_SYMBOLS, n_strings * length).astype(np.int32)
    offsets = np.arange(n_strings + 1) * length
    tensor = TorchMarkov(*weights, device="cuda", precision=precision)
    batches = list(lanes_of(codes, offsets, tensor.device, tensor._piece(3), even=True))
    totals = _Totals(tensor)

    def rounds() -> None:
        for lanes in batches:
            tensor.add_counts(lanes, totals)

    def eager() -> None:
        for lanes in batches:
            done = _Pass(tensor, lanes, keep=True)
            done.backward(done.forward(), totals)

    seconds = timed(rounds, torch)
    plain = timed(eager, torch, 2)
    flops = 6 * n * n * n_strings * length / seconds
    row = {
        "what": "EM", "states": n, "precision": precision, "strings": n_strings,
        "sequences/s": n_strings / seconds, "eager sequences/s": n_strings / plain, "TFLOP/s": flops / 1e12,
    }  # fmt: skip
    if (fused := tensor.fused) is not None:
        both = timed(lambda: [fused.posteriors(lanes.symbols) for lanes in batches], torch)
        row["forward-backward sequences/s"] = n_strings / both
    return row


def words(torch: Any, n: int = 4096, n_tokens: int = 2_088_628, n_symbols: int = 33_278) -> dict[str, Any]:
    """One round of EM on a stream of the size of WikiText-2, cut into lanes."""
    from sigmastar.automata.gpu.markov import TorchMarkov

    rng, lanes = np.random.default_rng(0), 4096
    codes = np.minimum(rng.zipf(1.2, n_tokens) - 1, n_symbols - 1).astype(np.int32)
    offsets = np.linspace(0, n_tokens, lanes + 1).astype(np.int64)
    emission = rng.random((n, n_symbols), dtype=np.float32)
    transition = rng.random((n, n), dtype=np.float32)
    for rows in (emission, transition):
        rows /= rows.sum(axis=1, keepdims=True)
    tensor = TorchMarkov(
        np.full(n, 1 / n), transition, emission, np.full(n, 1e-3), device="cuda", precision="bfloat16"
    )
    return {
        "what": "EM, a stream of words",
        "states": n,
        "seconds": timed_round(tensor, codes, offsets, torch),
    }


def timed_round(tensor: Any, codes: Any, offsets: Any, torch: Any) -> float:
    from sigmastar.automata.gpu.lanes import lanes_of
    from sigmastar.automata.gpu.markov import _Totals

    batches = list(lanes_of(codes, offsets, tensor.device, tensor._piece(3)))
    totals = _Totals(tensor)
    return timed(lambda: [tensor.add_counts(lanes, totals) for lanes in batches], torch, 3)


def heads(torch: Any, n_sentences: int, n_states: int = 10, length: int = 40) -> dict[str, Any]:
    from sigmastar.dependency.gpu.heads import TorchHeads, chart_of

    rng, n_symbols = np.random.default_rng(0), 45
    n_sorts = 2 * n_symbols + 1
    operators = rng.uniform(0, 0.4 / n_states / n_symbols, (n_sorts, n_symbols, n_states, n_states))
    initial = rng.dirichlet(np.ones(n_states), n_sorts)
    tensor = TorchHeads(
        initial, rng.uniform(0.1, 1, (n_sorts, n_states)), operators, device="cuda", precision="float32"
    )
    codes = rng.integers(0, n_symbols, (n_sentences, length)).astype(np.int32)
    factors = tensor._factors()
    inside = timed(lambda: chart_of(tensor, codes, factors).inside(), torch, 3)

    def both() -> Any:
        chart = chart_of(tensor, codes, factors)
        z = chart.inside()
        chart.outside(z)
        return z.log() - chart.scale[:, 1:].log().sum(dim=1), chart.arcs

    plain = {
        "inside, plain": n_sentences / inside,
        "with marginals, plain": n_sentences / timed(both, torch, 3),
    }
    return {
        "what": "head automata", "states": n_states, "length": length, "sentences": n_sentences,
        **plain, **fused_heads(torch, tensor, codes, both()),
    }  # fmt: skip


def fused_heads(torch: Any, tensor: Any, codes: Any, expected: tuple[Any, Any]) -> dict[str, Any]:
    """One kernel for everything: figures of the shape that users get, and of others beside it."""
    from sigmastar.dependency.gpu.fused import FusedHeads, Shape

    n, factors, tried = len(codes), tensor._factors(), {}
    for block, n_warps, (n_programs, most) in product((16, 32), (1, 2, 4), ((4, None), (8, None), (16, 128))):
        if n_warps * n_programs > 32 or n_warps * 16 > 2 * block:
            continue
        name = _named(shape := Shape(block, n_warps, n_programs, most))
        try:
            fused = FusedHeads(tensor, shape)
            logs, arcs = fused.marginals(codes, factors)
            tried[name] = {
                "inside, sentences/s": n / timed(lambda f=fused: f.log_totals(codes, factors), torch, 3),
                "with marginals": n / timed(lambda f=fused: f.marginals(codes, factors), torch, 3),
                "largest difference, log Z": float((logs - expected[0]).abs().max()),
                "largest difference, arcs": float((arcs - expected[1]).abs().max()),
            }
        except Exception as problem:  # the others are worth having
            tried[name] = {"failed": f"{type(problem).__name__}: {problem}"[:2000]}
        print(json.dumps({name: tried[name]}), flush=True)
    usual = tried[_named(Shape())]
    public = timed(lambda: tensor.marginals(codes.ravel(), np.arange(n + 1) * codes.shape[1]), torch, 2)
    return {**usual, "with marginals, to NumPy": n / public, "shapes": tried}


def _named(shape: Any) -> str:
    most = shape.n_registers or "any"
    return f"{shape.block} items, {shape.n_warps} warps, {shape.n_programs} programs, {most} registers"


def provenance(torch: Any) -> dict[str, Any]:
    """The chip, versions and, of the text that a row reads, the hash."""
    question = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
    shown = subprocess.run(question, capture_output=True, text=True).stdout.strip()
    packages = {name: version(name) for name in ("torch", "triton", "scipy", "numpy")}
    text = Path(os.environ.get("SIGMASTAR_DATA", "")) / "wikitext-2" / "train.txt.gz"
    data = {"wikitext-2/train.txt.gz": sha256(text.read_bytes()).hexdigest()} if text.exists() else {}
    return {
        "gpu": shown, **packages, "python": platform.python_version(), "seed": 0, "data": data,
    }  # fmt: skip


def measured_at(row: dict[str, Any], peak: dict[str, float]) -> dict[str, Any]:
    """A row with its share of the peak, the day and the commit; without a repository, that of GIT_COMMIT."""
    share = {}
    if (reached := row.get("TFLOP/s")) is not None:
        share["share of the measured peak"] = reached / peak[f"{row['precision']} TFLOP/s"]
    commit = git_commit() or os.environ.get("GIT_COMMIT", "unknown")
    return {**row, **share, "commit": commit, "date": time.strftime("%F")}


ROWS = {
    "markov-64": lambda torch: markov(torch, 64, 65_536, "float32"),
    "markov-64-bf16": lambda torch: markov(torch, 64, 65_536, "bfloat16"),
    "markov-64-few": lambda torch: markov(torch, 64, 1024, "float32"),
    "markov-64-few-bf16": lambda torch: markov(torch, 64, 1024, "bfloat16"),
    "markov-4096": lambda torch: markov(torch, 4096, 16_384, "bfloat16"),
    "markov-1024": lambda torch: markov(torch, 1024, 16_384, "bfloat16"),
    "markov-16384": lambda torch: markov(torch, 16_384, 2048, "bfloat16"),
    "words": words,
    "heads": lambda torch: heads(torch, 4096),
    "heads-many": lambda torch: heads(torch, 32_768),
    "svd": svd,
    "grammar-bf16": lambda torch: latent_grammar(torch, "bfloat16"),
    "grammar": lambda torch: latent_grammar(torch, "float32", 512),
    "trees": tree_states,
    "treebank-round": treebank_round,
    "control": control,
}
QUICK = {
    "svd": lambda torch: svd(torch, quick=True),
    "treebank-round": lambda torch: treebank_round(torch, quick=True),
}


def _case(row: dict[str, Any]) -> tuple[Any, ...]:
    """What a row is about: the one that is measured anew takes the place of the old one."""
    return tuple(row.get(name) for name in ("what", "states", "precision", "strings", "sentences"))


def main() -> None:
    import torch

    if "--quick" in sys.argv:
        sys.argv.remove("--quick")
        for name in sys.argv[2:] or QUICK:
            print(json.dumps(QUICK[name](torch)), flush=True)
        return
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else RESULT
    names = sys.argv[2:] or list(ROWS)
    old = json.loads(target.read_text()) if target.exists() and sys.argv[2:] else {}
    result = old | {"question": "gpu", "provenance": old.get("provenance", {}) | provenance(torch)}
    peak = peaks(torch)
    result |= {"peaks": peak, "rows": old.get("rows", [])}
    measured: list[dict[str, Any]] = []
    for name in names:
        try:
            measured.append(measured_at(ROWS[name](torch), peak))
        except Exception as problem:  # the others are worth having
            measured.append({"what": name, "failed": f"{type(problem).__name__}: {problem}"[:2000]})
        print(json.dumps(measured[-1]), flush=True)
        anew = {_case(row) for row in measured}
        rows = [row for row in old.get("rows", []) if _case(row) not in anew] + measured
        target.write_text(json.dumps(result | {"rows": rows}, indent=1) + "\n")
        torch.cuda.empty_cache()
    print(json.dumps(result["peaks"]))


if __name__ == "__main__":
    main()
