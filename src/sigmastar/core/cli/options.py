"""Arguments and options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any, TypeVar

import click

Function = TypeVar("Function", bound=Callable[..., Any])


def auto_or_number(value: str | int) -> int | str:
    """The type of an option: `auto`, or a whole number above zero."""
    if value == "auto":
        return "auto"
    if not str(value).isdecimal() or len(str(value)) > 18 or int(value) < 1:
        raise click.BadParameter(f"{str(value)[:40]!r} is neither 'auto' nor a whole number above 0")
    return int(value)


class _KeyFile(click.ParamType):  # type: ignore[type-arg]
    """A key, used to the end of the command by one of the blocks of `core.signing`."""

    name = "key"

    def __init__(self, block: str) -> None:
        self.block = block

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        from sigmastar.core import signing  # most calls have no key

        assert ctx is not None
        ctx.with_resource(getattr(signing, self.block)(value))
        return str(value)


model_argument = click.argument("model", metavar="MODEL")
seed_option = click.option(
    "--seed", type=click.IntRange(0), default=0, show_default=True, help="Seed of all random choices."
)
json_option = click.option("--json", "as_json", is_flag=True, help="Figures as JSON.")
quiet_option = click.option("--quiet", "-q", is_flag=True, help="No progress bar and no messages.")
output_option = click.option(
    "--output", "-o", default="-", metavar="FILE", help="File to write; standard output if left out."
)
threads_option = click.option(
    "--threads", type=click.IntRange(1), metavar="N", help="Number of threads  [default: one per core]"
)
device_option = click.option(
    "--device",
    type=click.Choice(("cpu", "cuda", "auto")),  # torch_device.DEVICES, without NumPy
    default="cpu",
    show_default=True,
    help="Place of the work: the processor, by compiled kernels; or a GPU, by PyTorch.",
)
verify_key_option = click.option(
    "--verify-key",
    metavar="KEY",
    expose_value=False,
    type=_KeyFile("verified_with"),
    help="Public Ed25519 key, a PEM file: models that its owner did not sign are refused.",
)
sign_key_option = click.option(
    "--sign-key",
    metavar="KEY",
    expose_value=False,
    type=_KeyFile("signed_with"),
    help="Private Ed25519 key, a PEM file, that signs the model.",
)


def sample_options(
    what: str, cut: str, max_length: int = 1000, least: int = 1
) -> Callable[[Function], Function]:
    """The options that all `sample` commands of structures of any length have: parameters of the command.

    Parameters
    ----------
    what : str
        What is drawn, such as "strings"; its number is the parameter `n_samples`.
    cut : str
        Help text of the largest length.
    max_length : int
        Its default.
    least : int
        The smallest that can be asked for.
    """
    number, length = click.IntRange(0), click.IntRange(least)
    options = [
        model_argument,
        click.option(
            "-n", "n_samples", type=number, default=10, show_default=True, help=f"Number of {what}."
        ),
        click.option("--max-length", type=length, default=max_length, show_default=True, help=cut),
        seed_option,
        output_option,
        quiet_option,
    ]
    return lambda command: reduce(lambda wrapped, option: option(wrapped), reversed(options), command)


unknown_option = click.option(
    "--unknown",
    type=click.Choice(["error", "zero"]),
    default="error",
    show_default=True,
    help="Treatment of symbols that the model does not know: an error, or probability zero.",
)
