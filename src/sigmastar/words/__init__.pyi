# Made by `python -m sigmastar.core.stubs` from the records of the families.
from sigmastar.words.counts import token_views as token_views
from sigmastar.words.estimator import WordModel as WordModel
from sigmastar.words.model.hmm import WordHmm as WordHmm
from sigmastar.words.model.mixture import WordMixture as WordMixture
