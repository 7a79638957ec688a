"""Probabilistic grammars on given rules: empirical risk minimization and its theory."""

from __future__ import annotations

from sigmastar.core.family import exporter

__getattr__, __dir__ = exporter(__name__)
