"""Model files on the command line."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sigmastar.automata.model.automaton import WeightedAutomaton
from sigmastar.automata.model.sequence import SequenceModel
from sigmastar.core.errors import ModelFileError
from sigmastar.core.model_files import Header, load_model, read_header


@dataclass(frozen=True, eq=False)
class Loaded:
    """A model of strings, and what its file says."""

    model: SequenceModel
    header: Header
    path: str

    @property
    def learned(self) -> dict[str, Any]:
        learned = self.header["learned"]
        return learned if isinstance(learned, dict) else {}

    @property
    def automaton(self) -> WeightedAutomaton | None:
        """The weighted automaton that the model is or that is inside it."""
        inner = (
            self.model
            if isinstance(self.model, WeightedAutomaton)
            else getattr(self.model, "automaton", None)
        )
        return inner if isinstance(inner, WeightedAutomaton) else None

    def require_automaton(self) -> WeightedAutomaton:
        if self.automaton is None:
            raise ModelFileError(
                f"a model of family {self.header['family']!r} has no weighted automaton inside; "
                "learn one, as with --method auto",
                file=self.path,
            )
        return self.automaton


def load(path: str) -> Loaded:
    """Read a model of strings; a damaged or foreign file is refused."""
    model = load_model(path)
    if not isinstance(model, SequenceModel):
        raise ModelFileError("is not a model of strings", file=path)
    return Loaded(model, read_header(path), path)
