"""Learners in the manner of scikit-learn."""
