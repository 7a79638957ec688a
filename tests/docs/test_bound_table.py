"""The table of bounds that the guide works out by hand, against the code, to six digits."""

from __future__ import annotations

import math
import re
from pathlib import Path

import pytest

from sigmastar.pcfg.theory.assumptions import Assumptions
from sigmastar.pcfg.theory.bounds import (
    Complexity,
    automaton_samples,
    entropy_bound,
    latent_pcfg_samples,
    level,
    log_excess,
    multiplicative_samples,
    multiplicative_samples_from_strings,
    tail,
)

GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "probabilistic-grammars.md"
DATA = Assumptions(2.0, 1.0, 0.25, 0.5, 4.0)
N, S, LOG_N = 10, 1.5, math.log(1e9)
COMPUTED = {
    "K_n": level(LOG_N, N, S),
    "tail(n)": tail(1000, N, S),
    "bound(n)": math.exp(log_excess(math.log(1000), S, DATA)),
    "theorem 2, right side": math.exp(Complexity(N, S, DATA).log_required(LOG_N, 1.0, 0.05)),
    "theorem 3, right side": math.exp(Complexity(N, S, DATA, False).log_required(LOG_N, 1.0, 0.05)),
    "equation 17": multiplicative_samples(0.1, 0.05, N),
    "equation 20": multiplicative_samples_from_strings(0.1, 0.05, N, DATA),
    "proposition 1": entropy_bound(DATA),
    "latent PCFG": latent_pcfg_samples(0.1, 0.05, 2, 50, 10, 0.1, 0.1),
    "automaton": automaton_samples(0.1, 4, 2, 10, 0.5),
}


def test_table_of_the_guide():
    rows = dict(re.findall(r"^\| ([^|]+?) \| (\d[-+.e\d]*) \|$", GUIDE.read_text(), re.MULTILINE))
    assert set(rows) == set(COMPUTED)
    for name, shown in rows.items():
        assert float(shown) == pytest.approx(COMPUTED[name], rel=6e-6), name
