"""Solvers of completion by name."""

from __future__ import annotations

from collections.abc import Mapping

from sigmastar.optimise.completion import (
    Completer,
    alternating,
    by_factors,
    frank_wolfe,
    proximal,
    singular_value_thresholding,
)
from sigmastar.optimise.constrained import hard_thresholding

COMPLETERS: Mapping[str, Completer] = {
    "proximal": proximal,
    "frank-wolfe": frank_wolfe,
    "svt": singular_value_thresholding,
    "factored": by_factors,
    "alternating": alternating,
    "hard": hard_thresholding,
}
