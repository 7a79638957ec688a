"""EM by PyTorch climbs as the compiled kernels do."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("torch", reason="PyTorch is not installed: make test-torch installs it")
pytest.importorskip("numba", reason="the compiled kernels need numba")

from sigmastar import EMAutomaton
from sigmastar.automata.learn import em
from sigmastar.automata.learn.em_steps import TorchCorpus


def test_the_same_automaton_is_learned(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    strings = ["".join(rng.choice(list("abc"), rng.integers(1, 9))) for _ in range(60)]
    compiled = EMAutomaton(3, max_iter=5).fit(strings)
    monkeypatch.setattr(
        em, "laid_out", lambda strings, n_states, dtype, device: TorchCorpus(strings, dtype, device)
    )
    by_torch = EMAutomaton(3, max_iter=5).fit(strings)
    for ours, theirs in zip(by_torch.model_.arrays, compiled.model_.arrays, strict=True):
        assert np.abs(ours - theirs).max() < 1e-9


def test_other_devices_are_refused() -> None:
    with pytest.raises(ValueError, match="device"):
        EMAutomaton(2, device="tpu").fit(["ab", "b"] * 5)
