"""Learn a transducer from unaligned pairs that a known one draws, and ask it in both directions.

Real data come in the same way: `read_transductions("train.tsv", "chars", "tokens")` gives the pairs.
"""

import time

import numpy as np

from sigmastar import SpectralTransducer
from sigmastar.transducers import draw_alignment, make_transducer

rng = np.random.default_rng(0)
truth = make_transducer(6, "aeklrst", "AEKLRST", rng, n_units=9, density=0.04, stop=0.15)
train, fresh = ([(x, y) for x, y in truth.sample(n, rng, 30) if x and y] for n in (1000, 300))
print(f"{len(train)} pairs; the first: {''.join(train[0][0])} -> {''.join(train[0][1])}")

models = {}
for method in ("spectral", "ngram", "combined"):
    begin = time.perf_counter()
    models[method] = SpectralTransducer(method=method).fit(train)
    seconds = time.perf_counter() - begin
    print(f"{method:>9}: word error {1 - models[method].score(fresh):.3f} in {seconds:.1f} s")

model = models["combined"]
word, said = fresh[0]
print(f"outputs of {''.join(word)}:")
for output, share in model.predict_nbest([word], 3)[0]:
    print(f"    {''.join(output)}  {share:.3f}")
print(f"an input for {''.join(said)}: {''.join(model.predict_inputs([said])[0])}")
print(f"log-probability of the output given the word: {model.score_samples([(word, said)])[0]:.2f}")
print(draw_alignment(model.align([(word, said)])[0]))
