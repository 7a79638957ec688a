"""Models of strings under constraints: exact probabilities, weights that steer a generator, samples."""

from __future__ import annotations

from sigmastar.core.family import exporter

__getattr__, __dir__ = exporter(__name__)
