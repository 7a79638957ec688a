"""Learn head automata from a treebank that a known grammar generates, five ways, and parse fresh sentences.

Everything here works on a CoNLL-U file in the same way: `treebank = read_treebank("train.conllu")`. The
automata decide the parse here (`arcs="none"`); on real treebanks trained arcs, the default, are far better.
"""

import time

import numpy as np

from sigmastar import DeterministicDependencyGrammar, EMDependencyGrammar, SpectralDependencyGrammar
from sigmastar.dependency import attachment, make_head_automata, sample_trees

rng = np.random.default_rng(0)
truth = make_head_automata(["A", "D", "N", "P", "V"], n_states=3, rng=rng, n_modifiers=0.45)
train, fresh = (sample_trees(truth, n, rng, max_words=40) for n in (2000, 500))
print(
    f"{len(train)} trees, {train.n_words} words; the first:",
    " ".join(train.upos[: train.sentence_offsets[1]]),
)

plain = {"symbols": "upos", "arcs": "none", "distances": False}
learners = {
    "det": DeterministicDependencyGrammar(first=False, **plain),
    "det+f": DeterministicDependencyGrammar(**plain),
    "spectral": SpectralDependencyGrammar("spectral", n_states=3, **plain),
    "spectral+em": SpectralDependencyGrammar("spectral+em", n_states=3, **plain),
    "em": EMDependencyGrammar(n_states=3, **plain),
}
for name, learner in learners.items():
    begin = time.perf_counter()
    parser = learner.fit(train).model_
    seconds = time.perf_counter() - begin
    print(f"{name:>18}: UAS {attachment(fresh, parser.predict(fresh), rng).uas} in {seconds:.2f} s")
best = parser.with_parts(automata=truth)
print(f"{'the true grammar':>18}: UAS {attachment(fresh, best.predict(fresh), rng).uas}")
