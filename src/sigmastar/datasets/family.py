"""What the rest of the program knows of data sets."""

from __future__ import annotations

from sigmastar.core.family import Command, Family

HERE = "sigmastar.datasets"

FAMILY = Family(
    name="datasets",
    summary="Public data sets: found on this machine, or downloaded, checked and kept.",
    names={
        **{
            name: f"{HERE}.loaders:{name}"
            for name in (
                *("load_pautomac", "load_spice", "load_ud_english_ewt", "load_conll2000", "load_wikitext2"),
                *("load_treebank_sample", "load_dependency_sample", "load_ppattach", "load_brown"),
                *("load_cmudict", "load_taysir_words"),
            )
        },
        "DataSet": f"{HERE}.catalogue:DataSet",
        "data_sets": f"{HERE}.catalogue:data_sets",
        "fetch": f"{HERE}.fetching:fetch",
        "find": f"{HERE}.fetching:find",
    },
    commands={"data": Command(f"{HERE}.cli:data", "Public data sets: what there is, and how to get it.")},
)
