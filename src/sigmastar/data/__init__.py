"""Readers, writers and generators: what comes into models from outside, and what leaves them."""
