"""`sigmastar reproduce PAPER`: one module a paper, with a function `run(out, quick)`."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import click

from sigmastar.cli.options import quiet_option, seed_option
from sigmastar.cli.watching import tell, watching

PAPERS = {"balle2014": "sigmastar.reproduce.balle2014"}


@click.command()
@click.argument("paper", type=click.Choice(list(PAPERS)), metavar="PAPER")
@click.option("--quick", is_flag=True, help="Less data and fewer settings: minutes, not hours.")
@click.option("--out", metavar="DIR", help="For tables and figures; reproduce-PAPER if left out.")
@seed_option
@quiet_option
def command(paper: str, quick: bool, out: str | None, seed: int, quiet: bool) -> None:
    """Make the tables and figures of PAPER again, and set them beside the paper's."""
    folder = Path(out or f"reproduce-{paper}")
    module = import_module(PAPERS[paper])
    with watching(f"reproducing {paper}", quiet) as say:
        result = module.run(folder, quick=quick, seed=seed, progress=say)
    if result is not None:
        click.echo(str(result))
    tell(f"written to {folder}", quiet)
