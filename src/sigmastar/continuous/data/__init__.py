"""Sequences of vectors, and files of them."""
