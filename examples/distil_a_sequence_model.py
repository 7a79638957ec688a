"""Distil a black box into an automaton: ask it for samples, learn, minimise, draw.

The box here is a small program with a stack of brackets; it could be any generator of sequences, such
as a neural network. All that is used of it is what it says. The automaton shows what it does: brackets
that open must close, and no more than three are open at a time.
"""

import tempfile
from pathlib import Path

import numpy as np

from sigmastar import SpectralAutomaton
from sigmastar.automata import SingularValueAutomaton, draw_automaton, l2_distance


def black_box(rng: np.random.Generator) -> str:
    """One sequence of brackets and dots."""
    said, n_open = "", 0
    while True:
        may_open, may_close = n_open < 3, n_open > 0
        choices = ["("] * may_open + [")"] * may_close + ["."] + ["stop"] * (n_open == 0)
        choice = choices[rng.integers(len(choices))]
        if choice == "stop":
            return said
        n_open += {"(": 1, ")": -1, ".": 0}[choice]
        said += choice


rng = np.random.default_rng(0)
answers = [black_box(rng) for _ in range(5000)]
print("the box says", ", ".join(repr(answer) for answer in answers[:4]))

# auto gives a proper automaton, perhaps larger than need be: two mixed, or states that say the same
teacher_copy = SpectralAutomaton(method="auto").fit(answers).automaton_
canonical = SingularValueAutomaton.of(teacher_copy)  # minimised, the states in order of importance
rank = canonical.automaton.n_states
print(f"auto takes {teacher_copy.n_states} states, {rank} when minimised; the first of them alone are off by")
for n_states in range(1, min(7, rank + 1)):
    print(f"  {n_states} states  at most {canonical.error_bound(n_states):.5f}")

# so four will do, which is one for each number of open brackets
student = SpectralAutomaton(method="auto", n_states=4).fit(answers)
print(f"auto with 4 states is {l2_distance(student.automaton_, teacher_copy):.5f} off")

said, never_said = ["", "(.)", "((()))"], ["(", "())", "(((())))"]
print("log-probabilities, and of what the box never says:")
for answer, value in zip(said + never_said, student.score_samples(said + never_said), strict=True):
    print(f"  {answer or 'nothing':<8}  {value:6.1f}")

drawing = Path(tempfile.mkdtemp()) / "student.svg"
drawing.write_text(draw_automaton(student.automaton_), encoding="utf-8")
print(f"drawn in {drawing}")
