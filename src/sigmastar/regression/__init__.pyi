# Made by `python -m sigmastar.core.stubs` from the records of the families.
from sigmastar.regression.data.generators import (
    MadeRegression as MadeRegression,
    make_regression as make_regression,
)
from sigmastar.regression.data.observations import BilinearMeasure as BilinearMeasure, Order as Order
from sigmastar.regression.data.tables import read_table as read_table
from sigmastar.regression.estimator.classifier import HankelClassifier as HankelClassifier
from sigmastar.regression.estimator.regressor import HankelRegressor as HankelRegressor
from sigmastar.regression.metrics import r_squared as r_squared
from sigmastar.regression.model import StringClassifier as StringClassifier, StringFunction as StringFunction
