"""The errors that users meet: each states what is wrong, where, and what to do."""

from __future__ import annotations

import sys


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
