# Made by `python -m sigmastar.core.stubs` from the records of the families.
from sigmastar.bilexical.data.pairs import (
    HeadSplit as HeadSplit,
    Pairs as Pairs,
    read_pairs as read_pairs,
    split_heads as split_heads,
)
from sigmastar.bilexical.data.quadruples import Quadruples as Quadruples, read_quadruples as read_quadruples
from sigmastar.bilexical.data.relations import (
    Pattern as Pattern,
    read_relation as read_relation,
    relation_pairs as relation_pairs,
)
from sigmastar.bilexical.draw import (
    capacity_picture as capacity_picture,
    operator_page as operator_page,
    plot_embedding as plot_embedding,
    word_map as word_map,
)
from sigmastar.bilexical.estimator.bilexical_operator import BilexicalOperator as BilexicalOperator
from sigmastar.bilexical.estimator.pp_attachment import PPAttachment as PPAttachment
from sigmastar.bilexical.estimator.word_vectors import WordVectors as WordVectors
from sigmastar.bilexical.learn.attachment import interpolated as interpolated
from sigmastar.bilexical.learn.vectors import (
    ChosenInnerProduct as ChosenInnerProduct,
    best_inner_product as best_inner_product,
    inner_product as inner_product,
    vector_forms as vector_forms,
)
from sigmastar.bilexical.metrics import (
    PairwiseAccuracy as PairwiseAccuracy,
    capacity_curve as capacity_curve,
    interval_over_splits as interval_over_splits,
    pairwise_accuracy as pairwise_accuracy,
)
from sigmastar.bilexical.model.attachment import AttachmentModel as AttachmentModel
from sigmastar.bilexical.model.operator import (
    BilexicalModel as BilexicalModel,
    MadeRelation as MadeRelation,
    make_relation as make_relation,
)
from sigmastar.bilexical.model.vectors import (
    Vectors as Vectors,
    read_vectors as read_vectors,
    read_word2vec as read_word2vec,
    write_word2vec as write_word2vec,
)
