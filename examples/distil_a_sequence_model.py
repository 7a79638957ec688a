"""Distil a network into an automaton: train a small GRU, ask it, and see what it learned.

The GRU learns sequences of brackets and dots in which brackets that open must close, and no more than three
are open at a time. All that is used of it afterwards is what it answers: what comes next after a prefix. Its
stand-in has few states, can be drawn, and gives exact probabilities.
"""

import tempfile
from pathlib import Path

import numpy as np

from sigmastar import DistilledAutomaton, SpectralAutomaton
from sigmastar.automata import draw_automaton
from sigmastar.distil import judged

SYMBOLS, START, END, N = "().", 3, 3, 12


def teacher(rng: np.random.Generator) -> list[int]:
    """One sequence of brackets and dots, coded."""
    said, n_open = [], 0
    while True:
        choices = [0] * (n_open < 3) + [1] * (n_open > 0) + [2] + [END] * (n_open == 0)
        choice = choices[rng.integers(len(choices))]
        if choice == END:
            return said
        n_open += {0: 1, 1: -1, 2: 0}[choice]
        said.append(choice)


class GRU:
    """A gated recurrent unit in NumPy; as a black box it has `alphabet`, `start` and `step`."""

    alphabet = SYMBOLS

    def __init__(self, rng: np.random.Generator) -> None:
        shapes = {"inputs": (4, 3 * N), "hidden": (N, 3 * N), "out": (N, 4)}
        self.weights = {name: 0.4 * rng.standard_normal(shape) for name, shape in shapes.items()}

    def move(self, h, symbols):
        a, hidden = self.weights["inputs"][symbols], self.weights["hidden"]
        gates = 1 / (1 + np.exp(-a[:, : 2 * N] - h @ hidden[:, : 2 * N]))
        z, r = gates[:, :N], gates[:, N:]
        c = np.tanh(a[:, 2 * N :] + (r * h) @ hidden[:, 2 * N :])
        return h + z * (c - h), (h, z, r, c)

    def told(self, h):
        raised = np.exp(h @ self.weights["out"])
        return raised / raised.sum(axis=1, keepdims=True)

    def start(self, n):
        return self.step(np.zeros((n, N)), np.full(n, START))

    def step(self, h, symbols):
        h, _ = self.move(h, symbols)
        return h, self.told(h)

    def next_distributions(self, prefixes):
        rows = []
        for prefix in prefixes:
            h, told = self.start(1)
            for symbol in prefix:
                h, told = self.step(h, np.array([SYMBOLS.index(symbol)]))
            rows.append(told[0])
        return np.array(rows)

    def slopes(self, strings):
        """The loss of a batch of strings per symbol, and its slopes in the weights."""
        size = max(map(len, strings)) + 1
        inputs, targets = np.full((2, len(strings), size), START)
        live = np.zeros((len(strings), size))
        for row, string in enumerate(strings):
            inputs[row, 1 : len(string) + 1], targets[row, : len(string)] = string, string
            live[row, : len(string) + 1] = 1 / sum(len(s) + 1 for s in strings)
        h, kept, loss = np.zeros((len(strings), N)), [], 0.0
        for t in range(size):
            h, inner = self.move(h, inputs[:, t])
            kept.append((h, *inner))
            loss -= (live[:, t] * np.log(self.told(h)[np.arange(len(h)), targets[:, t]])).sum()
        found = {name: np.zeros_like(weight) for name, weight in self.weights.items()}
        back, hidden = np.zeros_like(h), self.weights["hidden"]
        for t in reversed(range(size)):
            h, before, z, r, c = kept[t]
            wrong = live[:, t, None] * (self.told(h) - np.eye(4)[targets[:, t]])
            found["out"] += h.T @ wrong
            dh = back + wrong @ self.weights["out"].T
            dc = dh * z * (1 - c * c)
            through = dc @ hidden[:, 2 * N :].T
            gates = np.hstack([dh * (c - before) * z * (1 - z), through * before * r * (1 - r)])
            found["hidden"] += np.hstack([before.T @ gates, (r * before).T @ dc])
            np.add.at(found["inputs"], inputs[:, t], np.hstack([gates, dc]))
            back = dh * (1 - z) + through * r + gates @ hidden[:, : 2 * N].T
        return loss, found

    def train(self, rng, n_steps=600):
        moments = {name: [np.zeros_like(w), np.zeros_like(w)] for name, w in self.weights.items()}
        for n in range(1, n_steps + 1):
            loss, found = self.slopes([teacher(rng) for _ in range(64)])
            for name, slope in found.items():
                first, second = moments[name]
                first += 0.1 * (slope - first)
                second += 0.01 * (slope**2 - second)
                self.weights[name] -= 0.02 * first / (np.sqrt(second) + 1e-8) * min(1, 2 - 2 * n / n_steps)
            if n % 200 == 0:
                print(f"step {n}: loss {loss:.4f} nats per symbol")


rng = np.random.default_rng(0)
network = GRU(rng)
network.train(rng)

stand_in = DistilledAutomaton(n_states=40, max_queries=100_000).fit(network)
print(f"{stand_in.method_}, {stand_in.n_states_} states, from {stand_in.queries_}")
figures = judged(stand_in.model_, network, None, n_samples=1000, seed=1)
print(f"it diverges by {1000 * figures['drawn_divergence']:.3f} millinats per symbol,")
print(f"an n-gram of averaged answers by {1000 * figures['ngram_divergence']:.3f}")

# what strings alone tell, for comparison, even 20,000 of them
drawn = SpectralAutomaton().fit(stand_in.sample(20_000))
samples = judged(drawn.model_, network, None, n_samples=1000, seed=1)
print(f"`fast` on 20,000 strings by {1000 * samples['drawn_divergence']:.3f}")

print("log-probabilities, and of what its teacher never said:")
for answer in ("", "(.)", "((()))", "(", "())", "(((())))"):
    print(f"  {answer or 'nothing':<8}  {stand_in.score_samples([answer])[0]:6.1f}")

small = DistilledAutomaton("clusters", n_states=4, max_queries=100_000).fit(network)
drawing = Path(tempfile.mkdtemp()) / "stand-in.svg"
drawing.write_text(draw_automaton(small.automaton_), encoding="utf-8")
print(f"four states, one per number of open brackets, are drawn in {drawing}")
