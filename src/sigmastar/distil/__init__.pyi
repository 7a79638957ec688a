# Made by `python -m sigmastar.core.stubs` from the records of the families.
from sigmastar.distil.answer_files import RecordedBox as RecordedBox
from sigmastar.distil.black_box import (
    BlackBox as BlackBox,
    ModelBox as ModelBox,
    as_black_box as as_black_box,
    from_function as from_function,
)
from sigmastar.distil.classifier import DistilledClassifier as DistilledClassifier
from sigmastar.distil.estimator import DistilledAutomaton as DistilledAutomaton
from sigmastar.distil.judging import judged as judged, judged_labels as judged_labels
from sigmastar.distil.networks import TorchBox as TorchBox, from_causal_model as from_causal_model
from sigmastar.distil.questions import QueryReport as QueryReport, Questions as Questions
from sigmastar.distil.sources import open_source as open_source
