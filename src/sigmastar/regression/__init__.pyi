# Made by `python -m sigmastar.core.stubs` from the records of the families.
from sigmastar.regression.data import (
    BilinearMeasure as BilinearMeasure,
    MadeRegression as MadeRegression,
    Order as Order,
    make_regression as make_regression,
    read_table as read_table,
)
from sigmastar.regression.estimator import (
    HankelClassifier as HankelClassifier,
    HankelRegressor as HankelRegressor,
)
from sigmastar.regression.metrics import r_squared as r_squared
from sigmastar.regression.model import StringClassifier as StringClassifier, StringFunction as StringFunction
