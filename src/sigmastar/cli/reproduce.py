"""`sigmastar reproduce PAPER`: tables and figures of a paper beside our own."""

from __future__ import annotations

from pathlib import Path

import click

from sigmastar.core.atomic import atomic_write
from sigmastar.core.cli.options import quiet_option, seed_option
from sigmastar.core.progress import tell, watching
from sigmastar.reproduce import PAPERS, paper
from sigmastar.reproduce.result import PAGE


@click.command()
@click.argument("name", type=click.Choice(list(PAPERS)), metavar="PAPER")
@click.option("--quick", is_flag=True, help="Fewer settings: seconds in place of minutes.")
@click.option(
    "--data",
    metavar="DIR",
    envvar="SIGMASTAR_DATA",
    help="Folder of the data; SIGMASTAR_DATA if left out.",
)
@click.option(
    "--out", metavar="DIR", help="Folder for the page, figures and pictures; reproduce-PAPER if left out."
)
@seed_option
@quiet_option
def command(name: str, quick: bool, data: str | None, out: str | None, seed: int, quiet: bool) -> None:
    """Make the tables and figures of PAPER again, and set them beside the paper's.

    PAPER: bailly2013, grammars by matrix completion; balle2014, next part-of-speech tags by spectral
    automata, n-grams and EM; cohen2012, latent-variable PCFGs; cohensmith2012, empirical risk minimization
    for grammars; luque2012, dependency parsing; madhyastha2014, bilexical operators; taysir, networks into
    automata.
    """
    if not data:
        raise click.UsageError(
            f"{name} needs data: let SIGMASTAR_DATA or --data name the folder that holds it; "
            "sigmastar data list tells which sets there are, and sigmastar data get fetches one"
        )
    folder = Path(out or f"reproduce-{name}")
    with watching(f"reproducing {name}", quiet) as say:
        result = paper(name).run(Path(data), folder, quick=quick, seed=seed, progress=say)
    with atomic_write("-") as stream:
        stream.write(f"{result}\n")
    tell(f"report: {folder / PAGE}", quiet)
