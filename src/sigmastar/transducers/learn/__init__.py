"""Learners: from pairs of strings to transducers."""
