"""Compiled loops over arrays."""
