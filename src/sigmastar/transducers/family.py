"""The record of this family."""

from __future__ import annotations

from sigmastar.core.family import Command, Family, Kind, Pace

HERE = "sigmastar.transducers"
COMMANDS = {
    name: f"{HERE}.cli.models:{name}"
    for name in ("evaluate", "score", "predict", "sample", "show", "convert")
}
RUNTIME = f"{HERE}.model.runtime:TransducerRuntime"

FAMILY = Family(
    name="transducers",
    summary="Transducers: strings to strings.",
    kinds={
        "transducer": Kind(f"{HERE}.model.transducer:Transducer", COMMANDS, RUNTIME),
        "weighted-transducer": Kind(
            f"{HERE}.model.weighted_transducer:WeightedTransducer",
            COMMANDS,
            RUNTIME,
            {".fst.txt": f"{HERE}.model.weighted_transducer:read_transducer"},
        ),
    },
    estimators={"SpectralTransducer": f"{HERE}.estimator:SpectralTransducer"},
    exports={
        "StringPairs": f"{HERE}.data:StringPairs",
        "WeightedTransducer": f"{HERE}.model.weighted_transducer:WeightedTransducer",
    },
    names={
        "Aligner": f"{HERE}.model.aligner:Aligner",
        "EnsembleSpec": f"{HERE}.learn.combined:EnsembleSpec",
        "Transducer": f"{HERE}.model.transducer:Transducer",
        "UnitModels": f"{HERE}.model.transducer:UnitModels",
        "Units": f"{HERE}.data:Units",
        "draw_alignment": f"{HERE}.draw:draw_alignment",
        "draw_lattice": f"{HERE}.draw:draw_lattice",
        "edit_distance": f"{HERE}.metrics:edit_distance",
        "evaluate": f"{HERE}.metrics:evaluate",
        "learn_aligner": f"{HERE}.learn.aligner:learn_aligner",
        "learn_transducer": f"{HERE}.learn.combined:learn_transducer",
        "make_transducer": f"{HERE}.model.generators:make_transducer",
        "read_inputs": f"{HERE}.data:read_inputs",
        "read_transducer": f"{HERE}.model.weighted_transducer:read_transducer",
        "read_transductions": f"{HERE}.data:read_transductions",
        "transduction_scores": f"{HERE}.metrics:transduction_scores",
    },
    learn={
        "transducer": Command(f"{HERE}.cli.learn:learn_transducer", "Strings to strings, from pairs of them.")
    },
    formats={"pairs": f"{HERE}.data:read_transductions"},
    metrics={
        "word_error_rate": "Share of inputs whose best output is none of the right ones.",
        "symbol_error_rate": "Edit distance to the nearest right output per symbol of it.",
    },
    demo=f"{HERE}.demo:TransducerFamily",
    demo_seconds=64,
    explore=f"{HERE}.explore:open_exhibit",
    examples={
        "letters and sounds": f"{HERE}.explore:example",
    },
    pictures={f"{HERE}.model.aligner:AlignedPairs": f"{HERE}.draw:draw_aligned"},
    laws=f"{HERE}.laws:TransducerLaws",
    paces={"SpectralTransducer": Pace({"inputs.n_symbols": 8.5e-5}, fixed=8.0)},
)
