"""Compiled loops over the nodes of trees."""
