"""Spectral learning of weighted automata, transducers, tree automata and grammars."""

__version__ = "0.1.0"
