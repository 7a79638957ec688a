"""Learn phrase structure parsers from trees that a known latent PCFG draws, and parse fresh sentences.

Everything here works on a treebank in brackets in the same way: `trees = read_brackets("train.mrg")`.
"""

import time

import numpy as np

from sigmastar import PCFG, EMTreebankGrammar, SpectralTreebankGrammar
from sigmastar.treebanks import score_brackets
from sigmastar.trees import make_latent_pcfg, tree_text

rng = np.random.default_rng(0)
truth = make_latent_pcfg(rng, n_states=3, n_phrases=4, n_tags=4, n_words=4, n_rules=6)
train, fresh = (truth.sample(n, rng, max_words=25) for n in (1500, 300))
print(f"{len(train)} trees, {sum(len(list(tree.words())) for tree in train)} words")

parsers = {
    "PCFG": PCFG(),
    "spectral": SpectralTreebankGrammar("spectral", 3),
    "EM": EMTreebankGrammar(3),
    "spectral + EM": SpectralTreebankGrammar("spectral+em", 3),
}
for name, parser in parsers.items():
    begin = time.perf_counter()
    parser.fit(train)
    seconds = time.perf_counter() - begin
    found = parser.predict([list(tree.words()) for tree in fresh])
    scores = score_brackets(fresh, found, np.random.default_rng(0))
    print(f"{name:>14}: F1 {scores.f1}, exact {scores.exact.value:.2f}, in {seconds:.2f} s")

words = list(next(tree for tree in fresh if len(list(tree.words())) == 6).words())
print(f"\nThe tree of {' '.join(words)}:")
print(tree_text(parsers["spectral + EM"].predict([words])[0]))
