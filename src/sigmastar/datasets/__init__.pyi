# Made by `python -m sigmastar.core.stubs` from the records of the families.
from sigmastar.datasets.catalogue import DataSet as DataSet, data_sets as data_sets
from sigmastar.datasets.fetching import fetch as fetch, find as find
from sigmastar.datasets.loaders import (
    load_brown as load_brown,
    load_cmudict as load_cmudict,
    load_conll2000 as load_conll2000,
    load_dependency_sample as load_dependency_sample,
    load_pautomac as load_pautomac,
    load_ppattach as load_ppattach,
    load_spice as load_spice,
    load_taysir_words as load_taysir_words,
    load_treebank_sample as load_treebank_sample,
    load_ud_english_ewt as load_ud_english_ewt,
    load_wikitext2 as load_wikitext2,
)
