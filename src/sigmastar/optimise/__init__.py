"""Optimisation over matrices: proximal operators, solvers, completion."""
