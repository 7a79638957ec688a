"""The errors that users meet: each states what is wrong, where, and what to do."""

from __future__ import annotations

import sys
import warnings


class InputError(ValueError):
    """Data that cannot be used, with the file and line where it was found: one line in any case."""

    def __init__(self, problem: str, *, file: str | None = None, line: int | None = None) -> None:
        self.problem, self.file, self.line = " ".join(problem.splitlines()), file, line
        place = ":".join(str(part) for part in (file, line) if part is not None)
        super().__init__(f"{place}: {self.problem}" if place else self.problem)

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild_input_error, (self.problem, self.file, self.line)


def _rebuild_input_error(problem: str, file: str | None, line: int | None) -> InputError:
    return InputError(problem, file=file, line=line)


class UnknownSymbolError(InputError):
    """A symbol that the alphabet does not hold."""


class ModelFileError(InputError):
    """A model file that is damaged, foreign, or of another family than asked for."""


class NotFittedError(ValueError, AttributeError):
    """An estimator was asked before `fit`; where scikit-learn is loaded, its error of that name too."""

    def __new__(cls, *words: object) -> NotFittedError:
        theirs = getattr(sys.modules.get("sklearn.exceptions"), "NotFittedError", None)
        if cls is NotFittedError and theirs is not None:
            cls = type(cls.__name__, (cls, theirs), {"__module__": cls.__module__})
        return super().__new__(cls, *words)

    def __reduce__(self) -> tuple[object, ...]:
        return NotFittedError, self.args


def warn_user(message: str) -> None:
    """A warning about the line that called this package, however many calls lie between.

    Parameters
    ----------
    message : str
        What is doubtful, and what to do.
    """
    package = __name__.partition(".")[0]
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == package:
        level, frame = level + 1, frame.f_back
    warnings.warn(message, stacklevel=level)
