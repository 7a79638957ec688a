"""Black boxes by name: a model file, `path/to/file.py:name`, or a file of questions and answers."""

from __future__ import annotations

import inspect
import os
import runpy
import sys
from typing import Any

from sigmastar.core.errors import InputError
from sigmastar.core.model_reading import is_model_file, load_model
from sigmastar.distil.answer_files import RecordedBox
from sigmastar.distil.black_box import BlackBox, as_black_box


def open_source(source: str) -> BlackBox:
    """The black box of a name.

    Parameters
    ----------
    source : str
        A model file; `path/to/file.py:name`, an object that the Python file defines, or a function without
        arguments that gives it: this runs the file; or a file of questions and answers.

    Returns
    -------
    BlackBox
        It can be asked.
    """
    path, colon, name = source.rpartition(":")
    if colon and path.endswith(".py"):
        return _in_words(_from_python(path, name), source)
    if source.endswith(".py"):
        raise InputError(f"name the object in it, as in {source}:network", file=source)
    if not os.path.isfile(source):
        raise InputError("no such file; give a model file, or path/to/file.py:name", file=source)
    if is_model_file(source):
        return _in_words(load_model(source), source)
    return _in_words(RecordedBox(source), source)


def _from_python(path: str, name: str) -> Any:
    if not os.path.isfile(path):
        raise InputError("no such file", file=path)
    folder = os.path.dirname(os.path.abspath(path))
    sys.path.insert(0, folder)  # so that the file can import its neighbours
    try:
        names = runpy.run_path(path)
        if name not in names:
            raise InputError(f"the file defines no {name!r}", file=path)
        found = names[name]
        return found() if _makes_one(found) else found
    except InputError:
        raise
    except Exception as problem:
        raise InputError(f"running it failed: {type(problem).__name__}: {problem}", file=path) from problem
    finally:
        sys.path.remove(folder)


def _makes_one(found: Any) -> bool:
    """Whether something is called for a black box: a class, or a function without arguments."""
    if isinstance(found, type):
        return True
    if not callable(found) or any(
        hasattr(found, name) for name in ("next_distributions", "scores", "forward")
    ):
        return False
    try:
        inspect.signature(found).bind()
    except TypeError:
        return False
    return True


def _in_words(found: Any, source: str) -> BlackBox:
    try:
        return as_black_box(found)
    except InputError as problem:
        raise InputError(problem.problem, file=source) from None
