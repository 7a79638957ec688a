"""Refinement: Adam on the loss of what an automaton tells at every prefix, judged by held-out answers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sigmastar.automata.model.automaton import WeightedAutomaton
from sigmastar.core.arrays import Array
from sigmastar.core.progress import Progress, silent
from sigmastar.distil.asked_strings import Asked
from sigmastar.distil.kernels import Loss, soft_gradient
from sigmastar.distil.parametrizations import Form

BATCH = 8192  # gaps per step
_EVERY = 5  # epochs between looks at what is held out
_SLOW, _SLOWER = 0.9, 0.99  # of the moments of slopes
_STRAYED = 1e15  # a slope beyond which squares are not kept; nothing is learned from such a batch
_BOUND = 4.0  # a slope this many times the usual size is cut: one string may have strayed


class Adam:
    """Steps by moments of the slopes (Kingma and Ba 2015), with slopes cut that are far above the usual."""

    def __init__(self, parameters: list[Array], rates: list[float]) -> None:
        self.parameters, self.rates, self.n = parameters, rates, 0
        self.first = [np.zeros_like(part) for part in parameters]
        self.second = [np.zeros_like(part) for part in parameters]

    def step(self, slopes: list[Array], share: float) -> None:
        """Move the parameters against the slopes by a share of the rates."""
        if not all(np.abs(slope).max(initial=0.0) < _STRAYED for slope in slopes):
            return
        self.n += 1
        down, up = 1.0 - _SLOW**self.n, 1.0 - _SLOWER**self.n
        for number, slope in enumerate(slopes):
            first, second = self.first[number], self.second[number]
            if self.n > _EVERY:
                slope *= min(1.0, _BOUND * float(np.sqrt(second.mean() / up) / (_size(slope) + 1e-30)))
            first += (1.0 - _SLOW) * (slope - first)
            second += (1.0 - _SLOWER) * (slope * slope - second)
            self.parameters[number] -= (
                (self.rates[number] * share / down) * first / (np.sqrt(second / up) + 1e-12)
            )


def _size(slope: Array) -> float:
    return float(np.sqrt(np.mean(slope * slope)))


def refine(
    form: Form,
    automaton: WeightedAutomaton,
    train: Asked,
    score: Callable[[WeightedAutomaton], float],
    rng: np.random.Generator,
    n_epochs: int,
    loss: Loss,
    progress: Progress = silent,
) -> tuple[WeightedAutomaton, float]:
    """The automaton with the lowest score, held-out answers decide, of those met on the way down.

    Steps shrink along a cosine; a start that is not improved upon is given back.
    """
    parameters = form.parameters(automaton)
    adam = Adam(parameters, form.rates(parameters))
    best, lowest = automaton, score(automaton)
    n_steps, step = n_epochs * max(1, -(-train.strings.n_gaps // BATCH)), 0
    for epoch in range(n_epochs):
        for trie in train.batches(BATCH, rng):
            arrays = form.arrays(parameters)
            slopes = form.slopes(arrays, soft_gradient(trie, arrays, loss)[1])
            size = trie.weights.sum()
            adam.step([slope / size for slope in slopes], 0.5 + 0.5 * np.cos(np.pi * min(step / n_steps, 1)))
            step += 1
        progress(f"refining {len(parameters[0])} states", (epoch + 1) / n_epochs)
        if epoch % _EVERY == _EVERY - 1 or epoch == n_epochs - 1:
            if not all(np.isfinite(part).all() for part in parameters):
                break
            met = form.automaton(automaton.alphabet, form.arrays(parameters))
            found = score(met)
            best, lowest = (met, found) if found < lowest else (best, lowest)
    return best, lowest
