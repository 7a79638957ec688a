"""Language models over large vocabularies: hidden Markov models whose operators are factored."""

from __future__ import annotations

from sigmastar.core.family import exporter

__getattr__, __dir__ = exporter(__name__)
