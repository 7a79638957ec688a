"""What is measured is what is shipped: `sigmastar learn` and the estimator give the same model by default."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.calls import succeed
from sigmastar.core.family import families, load
from sigmastar.core.model_reading import load_model, model_bytes
from sigmastar.core.progress import Event, Phase, Saved, listening

COMMANDS = [(name, command) for name, family in families().items() for command in family.learn]


@pytest.mark.parametrize(("family", "command"), COMMANDS)
def test_the_command_and_the_estimator_learn_the_same(family: str, command: str, tmp_path: Path) -> None:
    calls = load(str(families()[family].laws))().calls(tmp_path)
    assert set(calls) == set(families()[family].learn)
    call = calls[command]
    heard: list[Event] = []
    with listening(heard.append):
        succeed("learn", command, *call.words, "-o", tmp_path / "model", "-q")
    assert any(isinstance(event, Phase) for event in heard)  # whoever watches sees it learn
    assert [event.path for event in heard if isinstance(event, Saved)] == [str(tmp_path / "model")]
    assert type(call.estimator)(**call.given).get_params() == call.estimator.get_params()
    learned = call.estimator.fit(call.X) if call.y is None else call.estimator.fit(call.X, call.y)
    assert model_bytes(learned.model_) == model_bytes(load_model(tmp_path / "model"))
