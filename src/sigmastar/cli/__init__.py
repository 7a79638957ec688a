"""The command line: `sigmastar COMMAND ...`, one file a command."""

from sigmastar.cli.group import command as command
from sigmastar.cli.group import main as main
