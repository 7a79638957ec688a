"""Phrase structure parsers: latent-variable grammars of treebanks."""

from __future__ import annotations

from sigmastar.core.family import exporter

__getattr__, __dir__ = exporter(__name__)
