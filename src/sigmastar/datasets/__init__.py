"""Public data sets at hand: found, downloaded once, checked, read."""

from __future__ import annotations

from sigmastar.core.family import exporter

__getattr__, __dir__ = exporter(__name__)
