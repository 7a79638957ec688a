"""Generate under constraints: exact samples of a model that keep a rule, and a generator that is steered.

A model of sentences is learned from a few thousand of them. Then it keeps a rule: exact samples, how likely
the rule is, and a picture of what the rule does to the choices at every step.
"""

import tempfile
from pathlib import Path

import numpy as np

from sigmastar import ConstrainedDecoder, NgramAutomaton
from sigmastar.automata import plot_next_symbols
from sigmastar.control import avoids, contains, length, matches

rng = np.random.default_rng(0)


def sentence() -> list[str]:
    """The black box: who does what, and perhaps to whom."""
    said = ["the", *["old"] * int(rng.integers(0, 2)), str(rng.choice(["dog", "cat", "king"]))]
    if rng.random() < 0.3:
        return [*said, "sleeps"]
    return [*said, str(rng.choice(["sees", "hears"])), *sentence()]


corpus = [sentence() for _ in range(3000)]
model = NgramAutomaton(order=3).fit(corpus).model_
print("free:      ", *(" ".join(map(str, string)) for string in model.sample(2, rng)), sep="\n  ")

rule = matches("the old .*") & contains(["king", "hears"]) & avoids(["dog"]) & length(7, 12)
decoder = ConstrainedDecoder(model, rule)
print(f"the rule has probability {decoder.probability()[0]:.2e}; strings that keep it:")
for string in decoder.sample(3, random_state=0):
    print("  " + " ".join(map(str, string)))

# any generator can be steered: here one that knows nothing but which words there are
prefix = ["the", "old", "cat", "sees", "the"]
words = [*model.alphabet, "<end>"]
weights = decoder.weights([prefix])[0]
shares = weights / weights.sum()
print("after", " ".join(prefix), "a generator of random words should say")
for column in np.argsort(-shares)[:3]:
    print(f"  {words[column]:<8} {shares[column]:.2f}")

folder = Path(tempfile.mkdtemp())
string = decoder.sample(1, random_state=3)[0]
plot_next_symbols(model, string, title="What the model expects").savefig(folder / "free.svg")
plot_next_symbols(decoder, string, title="The same, given the rule").savefig(folder / "bound.svg")
print(f"drawn in {folder}")
