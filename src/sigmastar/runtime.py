"""Models in a process that has NumPy alone: no numba, no SciPy, nothing to compile.

    from sigmastar import runtime

    model = runtime.load("model.sigma")
    model.predict_next(["ab"], top=1)

For servers that start cold and for small devices. It reads the model files of automata, n-grams, taggers and
transducers, holds them to the same checks, and gives the answers that the whole package gives. Automata and
n-grams are read by array operations; taggers and transducers by the kernels as Python runs them, which is far
slower than compiled. So a process whose first model was read here is not one to learn in, and `fit` refuses.

Where there is no Python, `JAVASCRIPT` is a file that reads the same models in a browser.
"""

from __future__ import annotations

import os
from typing import Any

from sigmastar.core.errors import InputError, ModelFileError
from sigmastar.core.family import find_kind, kinds
from sigmastar.core.family import load as load_place
from sigmastar.core.model_reading import kind_of, load_model
from sigmastar.core.plain_kernels import install

__all__ = ["JAVASCRIPT", "load"]

JAVASCRIPT = os.path.join(os.path.dirname(__file__), "sigmastar.mjs")
"""The path of one JavaScript file, without dependencies, that reads model files in a browser or in Node."""


def load(path: str | os.PathLike[str]) -> Any:
    """A model that can be asked at once, from a file that the whole package wrote.

    Parameters
    ----------
    path : str or path
        A model file of automata, n-grams, taggers or transducers.

    Returns
    -------
    object
        Of automata and n-grams with `predict_next`, `predict_proba_next` and `score_samples`; of taggers with
        `predict` and `predict_proba`; of transducers with `predict`, `predict_nbest` and `score_samples`.
        They take what the estimators take, and give the same.

    Examples
    --------
    >>> import tempfile, pathlib, sigmastar
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "model.sigma"
    >>> sigmastar.SpectralAutomaton().fit(["ab", "abab", "", "ab"] * 20).save(path)
    >>> load(path).predict_next(["aba"], top=1)
    [('b',)]
    """
    if isinstance(path, (bytes, bytearray, memoryview)):
        raise InputError("load takes the path of a file, not what is in it")
    kind = kind_of(path)
    place = getattr(find_kind(kind), "runtime", None)
    if place is None:
        known = ", ".join(name for name, other in kinds().items() if other.runtime)
        raise ModelFileError(
            f"holds a model of kind {kind!r}, which needs the whole package: use sigmastar.load; the runtime "
            f"reads {known}",
            file=os.fspath(path),
        )
    install()
    return load_place(place)(load_model(path))
