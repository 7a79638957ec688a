"""Induce brackets: a grammar from bracketed strings, and grammars from strings whose brackets are hidden.

The strings are those of the probabilistic Dyck language, S -> S S | a S b | a b. Right-branching trees are
what one gets without learning.
"""

import numpy as np

from sigmastar import EMGrammar, SpectralGrammar
from sigmastar.grammars import baselines, bracket_score, dyck

rng = np.random.default_rng(1)
drawn = dyck().sample_brackets(2500, rng)
drawn = drawn.select(np.flatnonzero(drawn.strings.lengths <= 20))
train, test = drawn.select(np.arange(2000)), drawn.select(np.arange(2000, len(drawn)))

print(f"right-branching: F1 {baselines(test)['right-branching'].f1:.2f}")
spectral = SpectralGrammar(n_states=4, basis_factor=0.2).fit(train)
print(f"spectral, brackets seen: F1 {bracket_score(spectral.brackets(test), test).f1:.2f}")
for start in ("random", "cca"):
    em = EMGrammar(n_states=4, start=start, max_iter=20).fit(train.strings)
    f1 = bracket_score(em.brackets(test), test).f1
    print(f"EM from {start}, brackets hidden: F1 {f1:.2f}, {em.score(test):.2f} nats per held-out string")
