"""Networks of PyTorch and of Hugging Face as black boxes; torch is imported when one is made."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from sigmastar.core.alphabet import Alphabet, Symbol
from sigmastar.core.arrays import Floats
from sigmastar.core.torch_device import import_torch
from sigmastar.distil.black_box import Texts

_BATCH = 256


class TorchBox:
    """A module of PyTorch that gives logits of the next symbol after every position.

    Parameters
    ----------
    module : torch.nn.Module
        From integers (strings x length) to logits (strings x length x outputs), or to an object that has
        them as `logits`, as causal models of Hugging Face have.
    alphabet : iterable
        The symbols.
    inputs : sequence of int, optional
        The number of each symbol among the inputs; 0, 1 .. if left out.
    start : int
        The input that stands before every string.
    outputs : sequence of int, optional
        The column of each symbol among the logits; those of the inputs if left out.
    end : int
        The column of the end of a string. Other columns are left out, and what is kept made to sum to one.
    """

    def __init__(
        self,
        module: Any,
        alphabet: Iterable[Symbol],
        *,
        start: int,
        end: int,
        inputs: Iterable[int] | None = None,
        outputs: Iterable[int] | None = None,
    ) -> None:
        self.torch, self.module, self.alphabet = import_torch(), module.eval(), Alphabet(alphabet)
        numbers = np.arange(len(self.alphabet)) if inputs is None else np.array(list(inputs))
        columns = numbers if outputs is None else np.array(list(outputs))
        if len(numbers) != len(self.alphabet) or len(columns) != len(self.alphabet):
            raise ValueError("inputs and outputs need a number per symbol of the alphabet")
        self.numbers, self.start_input = numbers, start
        self.columns = np.append(columns, end)

    def next_distributions(self, prefixes: Texts) -> Floats:
        """What comes after each prefix."""
        return np.array([rows[-1] for rows in self.distributions_along(prefixes)])

    def distributions_along(self, strings: Texts) -> list[Floats]:
        """What comes after every prefix of each string."""
        found: list[Any] = [None] * len(strings)
        order = sorted(range(len(strings)), key=lambda number: len(strings[number]))
        for first in range(0, len(order), _BATCH):
            some = order[first : first + _BATCH]
            for number, rows in zip(some, self._batch([strings[n] for n in some]), strict=True):
                found[number] = rows
        return found

    def _batch(self, strings: Texts) -> list[Floats]:
        torch = self.torch
        longest = max(map(len, strings))
        inputs = np.full((len(strings), longest + 1), self.start_input)
        for row, string in enumerate(strings):
            inputs[row, 1 : len(string) + 1] = self.numbers[self.alphabet.encode(string)]
        device = next(iter(self.module.parameters())).device
        with torch.no_grad():
            told = self.module(torch.as_tensor(inputs, device=device))
            logits = getattr(told, "logits", told)[:, :, torch.as_tensor(self.columns, device=device)]
            rows = torch.softmax(logits.double(), dim=-1).cpu().numpy()
        return [rows[row, : len(string) + 1] for row, string in enumerate(strings)]


def from_causal_model(model: Any, tokens: Iterable[int], *, start: int, end: int) -> TorchBox:
    """A causal language model of Hugging Face over some of its tokens, as a black box.

    Parameters
    ----------
    model : PreTrainedModel
        With `logits` in what it returns. Padding stands behind the strings, where a causal model does not
        look, so that no mask is needed.
    tokens : iterable of int
        The tokens that strings are made of; the symbols of the black box.
    start, end : int
        The tokens that begin and end a string.

    Returns
    -------
    TorchBox
        The black box.
    """
    kept = list(tokens)
    return TorchBox(model, kept, start=start, end=end, inputs=kept)
