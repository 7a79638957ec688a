"""Networks of PyTorch and Hugging Face as black boxes, with random weights: nothing is fetched."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed: make test-torch installs it")

from sigmastar.distil.estimator import DistilledAutomaton  # noqa: E402
from sigmastar.distil.networks import TorchBox, from_causal_model  # noqa: E402


class Recurrent(torch.nn.Module):  # type: ignore[misc, name-defined, unused-ignore]
    """Symbols 0, 1, 2; 3 begins a string, and column 3 ends it."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.embedding = torch.nn.Embedding(4, 5)
        self.cell = torch.nn.GRU(5, 6, batch_first=True)
        self.out = torch.nn.Linear(6, 4)

    def forward(self, inputs: Any) -> Any:
        return self.out(self.cell(self.embedding(inputs))[0])


def test_a_module_is_a_black_box() -> None:
    module = Recurrent()
    box = TorchBox(module, "abc", start=3, end=3)
    told = box.next_distributions(["ab", "", "cab"])
    by_hand = torch.softmax(module(torch.tensor([[3, 2, 0, 1]]))[0, -1].double(), dim=-1).detach().numpy()
    assert np.allclose(told[2], by_hand, atol=1e-6)
    assert np.allclose(box.distributions_along(["cab"])[0][-1], told[2], atol=1e-6)
    stand_in = DistilledAutomaton("ngram", max_queries=2000).fit(box)
    assert np.abs(stand_in.predict_proba_next(["ab"])[0] - told[0]).max() < 0.05


def test_a_causal_model_is_a_black_box() -> None:
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    torch.manual_seed(0)
    settings = transformers.GPT2Config(vocab_size=11, n_positions=32, n_embd=8, n_layer=1, n_head=2)
    model = transformers.GPT2LMHeadModel(settings)
    box = from_causal_model(model, [2, 3, 5], start=0, end=1)
    told = box.next_distributions([(2, 5), (3,)])
    logits = model.eval()(torch.tensor([[0, 2, 5]])).logits[0, -1].detach().double().numpy()[[2, 3, 5, 1]]
    expected = np.exp(logits) / np.exp(logits).sum()
    assert np.allclose(told[0], expected, atol=1e-6)
    assert box.alphabet.symbols == (2, 3, 5)
