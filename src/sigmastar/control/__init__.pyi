# Made by `python -m sigmastar.core.stubs` from the records of the families.
from sigmastar.control.constraints import (
    as_constraint as as_constraint,
    avoids as avoids,
    contains as contains,
    length as length,
    matches as matches,
)
from sigmastar.control.decoder import ConstrainedDecoder as ConstrainedDecoder
from sigmastar.control.languages import Constraint as Constraint
from sigmastar.control.logits import ConstrainedLogits as ConstrainedLogits
from sigmastar.control.steering import SteeredModel as SteeredModel
