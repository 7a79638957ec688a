"""Spectral learning of weighted automata, transducers, tree automata and grammars."""

from __future__ import annotations

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

# Public names that belong to no family. Those of families stand in their records (`sigmastar.FAMILY.family`).
_COMMON = {
    "Alphabet": "sigmastar.core.alphabet:Alphabet",
    "InputError": "sigmastar.core.errors:InputError",
    "ModelFileError": "sigmastar.core.errors:ModelFileError",
    "NotFittedError": "sigmastar.core.errors:NotFittedError",
    "UnknownSymbolError": "sigmastar.core.errors:UnknownSymbolError",
    "StreamingFactors": "sigmastar.core.factors:StreamingFactors",
    "StringCorpus": "sigmastar.corpus.reading:StringCorpus",
    "build_corpus": "sigmastar.corpus.build:build_corpus",
    "open_corpus": "sigmastar.corpus.reading:open_corpus",
    "draw": "sigmastar.core.notebook:draw",
    "reading": "sigmastar.core.skipping:reading",
    "load": "sigmastar.core.estimator:load",
    "load_model": "sigmastar.core.model_reading:load_model",
    "save_model": "sigmastar.core.model_format:save_model",
}


def _exports() -> dict[str, str]:
    from sigmastar.core.family import public_names

    return {**_COMMON, **public_names()}


def __getattr__(name: str) -> Any:
    """A public name, imported when it is first asked for: `import sigmastar` stays cheap."""
    if name == "__all__":
        return ["__version__", *sorted(_exports())]
    if name == "runtime":  # whose point is to start at once: no look at the records of families
        return import_module("sigmastar.runtime")
    place = None if name.startswith("_") else _exports().get(name)
    if place is None:
        raise AttributeError(f"module 'sigmastar' has no attribute {name!r}")
    from sigmastar.core.family import load

    value = globals()[name] = load(place)  # so that the next access does not come here
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_exports()})
