"""`sigmastar check MODEL` and `sigmastar sign MODEL`: whether a model file is sound, and who wrote it."""

from __future__ import annotations

import os

import click

from sigmastar.core.atomic import atomic_write_pieces
from sigmastar.core.cli.options import json_option, model_argument, quiet_option, verify_key_option
from sigmastar.core.cli.printing import print_figures
from sigmastar.core.model_reading import (
    SIGNATURE,
    SUM,
    VERIFYING_KEY,
    VERSION,
    load_model,
    read_arrays,
    read_header,
    sealed,
)
from sigmastar.core.progress import tell


@click.command()
@model_argument
@verify_key_option
@json_option
@quiet_option
def check(model: str, as_json: bool, quiet: bool) -> None:
    """Read all of MODEL and hold every array against what its kind declares; exit 1 where it is not sound."""
    load_model(model)
    header, key = read_header(model), VERIFYING_KEY.get()
    signature = "none" if SIGNATURE not in header else "not looked at: --verify-key tells whose it is"
    figures = {
        "kind": header["family"],
        "version": header["version"],
        "sigmastar": header["sigmastar"],
        "arrays": len(header["arrays"]),
        "sha256": header[SUM],
        "signature": signature if key is None else f"by the owner of {os.fspath(key)}",
    }
    print_figures(figures, as_json)
    tell(f"{model}: sound", quiet)


@click.command()
@model_argument
@click.option("--key", required=True, metavar="KEY", help="Private Ed25519 key, a PEM file.")
@click.option("--output", "-o", metavar="FILE", help="File to write; MODEL itself if left out.")
@quiet_option
def sign(model: str, key: str, output: str | None, quiet: bool) -> None:
    """Sign MODEL: the owner of the public key can then be told from others who might have made the file."""
    load_model(model)
    opened, arrays = read_arrays(model)
    header = {name: value for name, value in opened.header.items() if name not in (SUM, SIGNATURE)}
    pieces = sealed({**header, "version": VERSION}, arrays, key)
    atomic_write_pieces(output or model, pieces)
    tell(f"{output or model}: signed", quiet)
