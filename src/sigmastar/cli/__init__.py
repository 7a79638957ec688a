"""The command line: `sigmastar COMMAND ...`, the shell of all families."""

from sigmastar.cli.group import command as command
from sigmastar.cli.group import main as main
