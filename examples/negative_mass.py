"""Negative probabilities: see them, and repair them.

Operators from noisy counts are signed. With little data and more states than the data bear, part of the
next-symbol weight is negative and some strings have no positive value. Each repair makes a distribution.
"""

import numpy as np

from sigmastar import SpectralAutomaton
from sigmastar.automata import REPAIRS, diagnose, kl_on, make_automaton

rng = np.random.default_rng(0)
truth = make_automaton(n_states=5, n_symbols=4, rng=rng, density=0.15)
strings, fresh = truth.sample(600, rng), truth.sample(2000, rng)

raw = SpectralAutomaton(method="spectral", n_states=8, basis_size=100, repair="none").fit(strings).automaton_
print(diagnose(raw, fresh))
print()

print(f"{'repair':<8}  {'impossible strings':>18}  {'smallest probability':>20}  {'KL, nats per string':>19}")
for name, repair in REPAIRS.items():
    model = repair(raw, strings, np.random.default_rng(0))
    loss = kl_on(model, truth, fresh)
    smallest = model.gap_distributions(fresh).min()
    print(f"{name:<8}  {loss.n_impossible:>18}  {smallest:>20.1e}  {loss.value:>19.3f}")
