# Made by `python -m sigmastar.core.stubs` from the records of the families.
from sigmastar.transducers.data import (
    StringPairs as StringPairs,
    Units as Units,
    read_inputs as read_inputs,
    read_transductions as read_transductions,
)
from sigmastar.transducers.draw import draw_alignment as draw_alignment, draw_lattice as draw_lattice
from sigmastar.transducers.estimator import SpectralTransducer as SpectralTransducer
from sigmastar.transducers.learn.aligner import learn_aligner as learn_aligner
from sigmastar.transducers.learn.combined import (
    EnsembleSpec as EnsembleSpec,
    learn_transducer as learn_transducer,
)
from sigmastar.transducers.metrics import (
    edit_distance as edit_distance,
    evaluate as evaluate,
    transduction_scores as transduction_scores,
)
from sigmastar.transducers.model.aligner import Aligner as Aligner
from sigmastar.transducers.model.generators import make_transducer as make_transducer
from sigmastar.transducers.model.transducer import Transducer as Transducer, UnitModels as UnitModels
from sigmastar.transducers.model.weighted_transducer import (
    WeightedTransducer as WeightedTransducer,
    read_transducer as read_transducer,
)
