"""`sigmastar learn FAMILY`: the commands that families bring."""

from __future__ import annotations

import click

from sigmastar.core.cli.lazy import LazyGroup
from sigmastar.core.family import Command, families


def learners() -> dict[str, Command]:
    """The commands below `learn`, of all families."""
    return {name: entry for family in families().values() for name, entry in family.learn.items()}


@click.group(cls=LazyGroup, entries=learners)
def command() -> None:
    """Learn a model of some family from data and write it to a file."""
