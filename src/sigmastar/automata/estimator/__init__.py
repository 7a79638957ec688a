"""Classes that learn from strings, in the manner of scikit-learn."""
