"""Groups of commands that are imported when they are called, not when they are listed."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any, NamedTuple

import click


class Entry(NamedTuple):
    """Where a command is defined, under the name `command`, and what the list of commands says of it."""

    module: str
    summary: str


class LazyGroup(click.Group):
    """A group by a table of entries: help and wrong calls load no command."""

    def __init__(self, *args: Any, entries: Mapping[str, Entry] | None = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.entries = dict(entries or {})

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.entries)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.entries:
            return None
        found = import_module(self.entries[cmd_name].module).command
        assert isinstance(found, click.Command)
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, entry.summary) for name, entry in self.entries.items()])
