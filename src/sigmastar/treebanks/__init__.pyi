# Made by `python -m sigmastar.core.stubs` from the records of the families.
from sigmastar.treebanks.counts import INSIDE as INSIDE, OUTSIDE as OUTSIDE
from sigmastar.treebanks.data.binarized import Binarization as Binarization
from sigmastar.treebanks.data.phrases import Phrases as Phrases, phrases as phrases
from sigmastar.treebanks.draw import draw_chart as draw_chart
from sigmastar.treebanks.estimator import (
    EMTreebankGrammar as EMTreebankGrammar,
    PCFG as PCFG,
    SpectralTreebankGrammar as SpectralTreebankGrammar,
)
from sigmastar.treebanks.gpu.dense import RuleTensors as RuleTensors
from sigmastar.treebanks.gpu.grammar import (
    RuleFactors as RuleFactors,
    TorchGrammar as TorchGrammar,
    exact_factors as exact_factors,
)
from sigmastar.treebanks.learn.methods import (
    BEST as BEST,
    GrammarSpec as GrammarSpec,
    SpanScorerSpec as SpanScorerSpec,
    learn_treebank as learn_treebank,
)
from sigmastar.treebanks.metrics import (
    BracketScores as BracketScores,
    Conventions as Conventions,
    EVALB as EVALB,
    paired_f1 as paired_f1,
    score_brackets as score_brackets,
    spans_of as spans_of,
)
from sigmastar.treebanks.model.parser import Chart as Chart, Parse as Parse, TreebankParser as TreebankParser
