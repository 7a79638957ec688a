"""Commands for models that are not models of strings: the table of the modules that serve a family.

A module has functions named as the commands that it serves; each gets the parameters of its command.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from types import MappingProxyType

import click

from sigmastar.core.model_files import read_header

HANDLERS: Mapping[str, str] = MappingProxyType({})


def handled(command: str, model: str) -> bool:
    """Whether the family of `model` has its own `command`; if so it has been done."""
    family = str(read_header(model)["family"])
    if family not in HANDLERS:
        return False
    handler = getattr(import_module(HANDLERS[family]), command, None)
    if handler is None:
        raise click.UsageError(f"there is no {command} for models of family {family!r}")
    handler(click.get_current_context().params)
    return True
