"""Learn head automata from a treebank that a known grammar generates, four ways, and parse fresh sentences.

Everything here works on a CoNLL-U file in the same way: `treebank = read_conllu("train.conllu")`.
"""

import time

import numpy as np

from sigmastar.dependency.learn.methods import learn_parser
from sigmastar.dependency.metrics import attachment
from sigmastar.dependency.model.generators import make_head_automata
from sigmastar.dependency.model.sampling import sample_trees

rng = np.random.default_rng(0)
truth = make_head_automata(["A", "D", "N", "P", "V"], n_states=3, rng=rng, n_modifiers=0.45)
train, fresh = (sample_trees(truth, n, rng, max_words=40) for n in (2000, 500))
print(
    f"{len(train)} trees, {train.n_words} words; the first:",
    " ".join(train.upos[: train.sentence_offsets[1]]),
)

best = learn_parser(train, "det", symbols="upos", rng=rng, distances=False).with_parts(automata=truth)
print(f"{'the true grammar':>18}: UAS {attachment(fresh, best.predict(fresh), rng).uas}")
for method in ("det", "det+f", "spectral", "spectral+em", "em"):
    begin = time.perf_counter()
    parser = learn_parser(train, method, 3, "upos", rng=np.random.default_rng(0), distances=False)
    seconds = time.perf_counter() - begin
    print(f"{method:>18}: UAS {attachment(fresh, parser.predict(fresh), rng).uas} in {seconds:.2f} s")
