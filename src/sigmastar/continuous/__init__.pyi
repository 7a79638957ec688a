# Made by `python -m sigmastar.core.stubs` from the records of the families.
from sigmastar.continuous.data import Series as Series, read_series as read_series
from sigmastar.continuous.estimator import GaussianHMM as GaussianHMM
from sigmastar.continuous.model import GaussianHmm as GaussianHmm
