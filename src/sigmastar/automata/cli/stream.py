"""`sigmastar learn automaton - --every N`: a model that follows an endless pipe, written again and again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

import click
import numpy as np

from sigmastar import __version__
from sigmastar.automata.data.formats import FORMATS, Layout, splitter
from sigmastar.core.cli.learning import Learned
from sigmastar.core.errors import InputError
from sigmastar.core.model_files import save_model
from sigmastar.core.progress import Say, tell
from sigmastar.core.text_files import display_name, open_text


@dataclass(frozen=True)
class Stream:
    """Where strings come from, how often a model is written, and where to."""

    files: tuple[str, ...]
    layout: Layout
    every: int
    output: str
    method: str
    quiet: bool

    def check(self) -> None:
        """Refuse what cannot be followed."""
        if self.method not in ("fast", "spectral"):
            raise click.UsageError(f"--every is for --method fast or spectral, not {self.method}")
        if len(self.files) != 1 or not FORMATS[self.layout.format].is_plain:
            raise click.UsageError("--every follows one file of lines, or standard input (-)")
        if self.output == "-":
            raise click.UsageError("--every writes a model again and again; give -o a file")

    def learn(self, estimator: Any, say: Say) -> Learned:
        """Count every string as it comes; learn and write after every so many, and at the end."""
        n_strings, n_models = 0, 0
        for batch in self._batches():
            estimator.update(batch)
            n_strings += len(batch)
            say(f"{n_strings} strings")
            estimator.decompose()
            n_models += 1
            save_model(estimator.model_, self.output, self._header(estimator, n_strings))
            tell(f"{self.output}: {n_strings} strings, {_told(estimator)}", self.quiet)
        if not n_models:
            raise InputError("there are no strings to learn from", file=display_name(self.files[0]))
        data = {"files": [{"name": display_name(self.files[0])}], "n_strings": n_strings}
        summary = f"{estimator.n_states_} states, model {n_models} of {n_strings} strings"
        return Learned(data, summary, self.layout.to_header(), {"n_states": estimator.n_states_})

    def _batches(self) -> Iterator[list[list[str]]]:
        split = splitter(self.layout.separator, self.layout.characters)
        lines = open_text(self.files[0])
        while batch := [list(split(line)) for line in islice(lines, self.every)]:
            yield batch

    def _header(self, estimator: Any, n_strings: int) -> dict[str, Any]:
        return {
            "method": self.method,
            "estimator": type(estimator).__name__,
            "layout": self.layout.to_header(),
            "data": {"n_strings": n_strings},
            "n_states": estimator.n_states_,
            "sigmastar": __version__,
        }


def _told(estimator: Any) -> str:
    """The size of the model, and how far the last batch was from what the one before expected."""
    words = [f"{estimator.n_states_} states", f"{len(estimator.alphabet_)} symbols"]
    drift = vars(estimator).get("drift_")
    if drift is not None:
        change = f", {drift.change:+.4f} since the batch before" if np.isfinite(drift.change) else ""
        new = f", {drift.n_new_symbols} new symbols" if drift.n_new_symbols else ""
        words.append(
            f"batch {drift.score:.4f} per symbol by the last model{change} (+-{drift.error:.4f}){new}"
        )
    return ", ".join(words)
