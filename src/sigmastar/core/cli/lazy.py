"""Groups of commands that are imported when they are called, not when they are listed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import click

from sigmastar.core.family import Command, load


class LazyGroup(click.Group):
    """A group by a table of commands: help and wrong calls load none of them.

    Parameters
    ----------
    entries : callable
        A function that gives the table; it is asked when the group is used.
    """

    def __init__(
        self, *args: Any, entries: Callable[[], Mapping[str, Command]] = dict, **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self.entries = entries

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.entries())

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        entry = self.entries().get(cmd_name)
        if entry is None:
            return None
        found = load(entry.place)
        assert isinstance(found, click.Command)
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, entry.summary) for name, entry in self.entries().items()])
