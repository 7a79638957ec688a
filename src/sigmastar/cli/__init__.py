"""The command line: `sigmastar COMMAND ...`, one file a command."""

from sigmastar.cli.group import command, main

__all__ = ["command", "main"]
