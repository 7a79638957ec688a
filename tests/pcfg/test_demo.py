from __future__ import annotations

import math

from sigmastar.core.progress import silent
from sigmastar.pcfg.demo import GrammarFamily


def test_grammars_show_themselves():
    result = GrammarFamily(n_trees=60, max_iter=5).run(0, silent)
    assert [row.learner.split(",")[0] for row in result.rows] == [
        "truncated (ERM)",
        "maximum likelihood",
        "Dirichlet MAP",
        "EM",
    ]
    assert all(row.measures["excess risk"] > 0 for row in result.rows)
    assert math.isfinite(result.rows[0].measures["excess risk"])
    assert result.data_hash
