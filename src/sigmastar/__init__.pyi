# Made by `python -m sigmastar.core.stubs` from the records of the families.
from sigmastar.automata.data.strings import Strings as Strings
from sigmastar.automata.estimator.em_and_ngram import (
    EMAutomaton as EMAutomaton,
    NgramAutomaton as NgramAutomaton,
)
from sigmastar.automata.estimator.spectral import SpectralAutomaton as SpectralAutomaton
from sigmastar.automata.model.automaton import WeightedAutomaton as WeightedAutomaton
from sigmastar.bilexical.estimator.bilexical_operator import BilexicalOperator as BilexicalOperator
from sigmastar.bilexical.estimator.pp_attachment import PPAttachment as PPAttachment
from sigmastar.bilexical.estimator.word_vectors import WordVectors as WordVectors
from sigmastar.continuous.estimator import GaussianHMM as GaussianHMM
from sigmastar.control.decoder import ConstrainedDecoder as ConstrainedDecoder
from sigmastar.core.alphabet import Alphabet as Alphabet, END as END
from sigmastar.core.errors import (
    InputError as InputError,
    ModelFileError as ModelFileError,
    NotFittedError as NotFittedError,
    UnknownSymbolError as UnknownSymbolError,
)
from sigmastar.core.estimator import load as load
from sigmastar.core.factors import StreamingFactors as StreamingFactors
from sigmastar.core.model_format import save_model as save_model
from sigmastar.core.model_reading import load_model as load_model
from sigmastar.core.notebook import draw as draw
from sigmastar.core.skipping import reading as reading
from sigmastar.corpus.build import build_corpus as build_corpus
from sigmastar.corpus.reading import StringCorpus as StringCorpus, open_corpus as open_corpus
from sigmastar.dependency.data.treebank import DependencyTreebank as DependencyTreebank
from sigmastar.dependency.estimator import (
    DeterministicDependencyGrammar as DeterministicDependencyGrammar,
    EMDependencyGrammar as EMDependencyGrammar,
    SpectralDependencyGrammar as SpectralDependencyGrammar,
)
from sigmastar.distil.classifier import DistilledClassifier as DistilledClassifier
from sigmastar.distil.estimator import DistilledAutomaton as DistilledAutomaton
from sigmastar.grammars.estimator.completion import CompletionGrammar as CompletionGrammar
from sigmastar.grammars.estimator.learners import EMGrammar as EMGrammar, SpectralGrammar as SpectralGrammar
from sigmastar.grammars.model.grammar import WeightedGrammar as WeightedGrammar
from sigmastar.pcfg.estimator import ERMGrammar as ERMGrammar
from sigmastar.regression.estimator import (
    HankelClassifier as HankelClassifier,
    HankelRegressor as HankelRegressor,
)
from sigmastar.taggers.data.sentences import TaggedSentences as TaggedSentences
from sigmastar.taggers.estimator import (
    EMTagger as EMTagger,
    NgramTagger as NgramTagger,
    SpectralTagger as SpectralTagger,
)
from sigmastar.taggers.estimator.pipeline import Pipeline as Pipeline
from sigmastar.transducers.data import StringPairs as StringPairs
from sigmastar.transducers.estimator import SpectralTransducer as SpectralTransducer
from sigmastar.transducers.model.weighted_transducer import WeightedTransducer as WeightedTransducer
from sigmastar.treebanks.estimator import (
    EMTreebankGrammar as EMTreebankGrammar,
    PCFG as PCFG,
    SpectralTreebankGrammar as SpectralTreebankGrammar,
)
from sigmastar.trees.data.tree import Tree as Tree
from sigmastar.trees.estimator import (
    SpectralLatentPCFG as SpectralLatentPCFG,
    SpectralTreeAutomaton as SpectralTreeAutomaton,
)
from sigmastar.trees.model.automaton import TreeAutomaton as TreeAutomaton
from sigmastar.trees.model.latent_pcfg import LatentPCFG as LatentPCFG
from sigmastar.words.estimator import WordModel as WordModel
from sigmastar import runtime as runtime

__version__: str
_COMMON: dict[str, str]
