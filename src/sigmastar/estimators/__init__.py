"""Estimators in the manner of scikit-learn: fit, score, predict_next, sample."""

from sigmastar.estimators.automata import EMAutomaton as EMAutomaton
from sigmastar.estimators.automata import NgramAutomaton as NgramAutomaton
from sigmastar.estimators.automata import SpectralAutomaton as SpectralAutomaton
from sigmastar.estimators.symbols import END as END
