"""Optimization over matrices: proximal operators, solvers, completion."""
