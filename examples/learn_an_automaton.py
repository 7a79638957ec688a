"""Learn an automaton from strings, and see how far it is from the machine that made them.

A random machine with hidden states makes the strings. Four learners get 3,000 of them; fresh ones tell
how many nats per string each loses against the truth (the Kullback-Leibler divergence).
"""

from time import perf_counter

import numpy as np

from sigmastar import EMAutomaton, NgramAutomaton, SpectralAutomaton
from sigmastar.automata import kl_on, make_automaton, make_strings

rng = np.random.default_rng(1)
truth = make_automaton(n_states=6, n_symbols=5, rng=rng, density=0.08)
strings = make_strings(truth, 3000, rng)
fresh = make_strings(truth, 3000, rng)

learners = {
    "3-gram": NgramAutomaton(order=3),
    "EM, told the size": EMAutomaton(n_states=6),
    "fast": SpectralAutomaton(),
    "auto": SpectralAutomaton(method="auto"),
}

print(f"{'learner':<18}  {'states':>6}  {'KL, nats':>8}  {'seconds':>7}")
for name, learner in learners.items():
    begin = perf_counter()
    learner.fit(strings)
    seconds = perf_counter() - begin
    n_states = vars(learner).get("n_states_", "")  # an n-gram has none
    loss = kl_on(learner.model_, truth, fresh).value
    print(f"{name:<18}  {n_states:>6}  {loss:>8.4f}  {seconds:>7.2f}")
