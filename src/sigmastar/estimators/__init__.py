"""Estimators in the manner of scikit-learn: fit, score, predict_next, sample."""

from sigmastar.estimators.automata import EMAutomaton, NgramAutomaton, SpectralAutomaton
from sigmastar.estimators.symbols import END

__all__ = ["END", "EMAutomaton", "NgramAutomaton", "SpectralAutomaton"]
