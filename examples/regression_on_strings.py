"""Learn a function on strings exactly from a seventh of its values.

The Hankel matrix H[p, s] = f(p s) of an automaton with three states has rank three. Most of its entries are
missing; the nuclear norm fills them in, operators are read off its shifts, and gradients do the rest.
"""

import numpy as np

from sigmastar import HankelRegressor
from sigmastar.regression import make_regression

made = make_regression(np.random.default_rng(4), n_states=3, longest=8, seen=0.15)
print(f"{len(made.seen)} of {len(made.strings)} values are seen")
for label, n_starts in (("nuclear norm alone", 0), ("refined", 16)):
    model = HankelRegressor(n_states=3, n_starts=n_starts).fit(made.seen_strings, made.seen_values)
    print(f"{label}: relative error {made.relative_error(model.predict(made.strings)):.0e}")
truth = made.automaton.value(made.strings.of(["abba"]))
print(f"f(abba) = {model.predict(['abba'])[0]:.4f}, truly {truth[0]:.4f}")
