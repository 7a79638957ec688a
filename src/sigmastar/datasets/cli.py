"""`sigmastar data`: what data sets there are, and how to get them."""

from __future__ import annotations

import sys

import click

from sigmastar.core.cli.options import json_option, quiet_option
from sigmastar.core.cli.printing import to_json
from sigmastar.core.errors import InputError
from sigmastar.core.progress import tell, watching
from sigmastar.datasets.catalogue import HOST, DataSet, data_sets
from sigmastar.datasets.fetching import cache_folder, check, data_set, fetch, find, how_to_bring


@click.group()
def data() -> None:
    """Public data sets: what there is, and how to get it.

    A folder that the variable SIGMASTAR_DATA names is looked into first, then the cache, which
    SIGMASTAR_CACHE can put elsewhere.
    """


@data.command("list")
@json_option
def list_sets(as_json: bool) -> None:
    """All data sets, and which of them are at hand."""
    sets = data_sets().values()
    if as_json:
        click.echo(to_json([{"name": s.name, "title": s.title, "state": _state(s)} for s in sets]))
        return
    width = max(len(entry.name) for entry in sets)
    for entry in sets:
        click.echo(f"{entry.name:<{width}}  {_state(entry):<14}  {entry.title}")


@data.command("show")
@click.argument("name")
@json_option
def show(name: str, as_json: bool) -> None:
    """Licence, source and files of the data set NAME, and where each file lies or belongs."""
    entry = data_set(name)
    places = {file.path: str(find(file.path) or "") for file in entry.files}
    names = ("name", "title", "licence", "page", "cite", "form")
    told = {**{key: getattr(entry, key) for key in names}, "state": _state(entry)}
    if as_json:
        click.echo(to_json({**told, "files": places, "cache": str(cache_folder())}))
        return
    for key, value in told.items():
        click.echo(f"{key:<8} {value}")
    click.echo(f"{'folder':<8} {cache_folder()}, or the one that SIGMASTAR_DATA names; below it:")
    for path, place in places.items():
        click.echo(f"  {path}  {place and 'at hand: ' + place}".rstrip())


@data.command("get")
@click.argument("name")
@click.option("--yes", is_flag=True, help="Agreement to the licence, without a question.")
@click.option(
    "--mirror", metavar="URL", default=HOST, show_default=True, help="Host of the sources, or a copy of it."
)
@quiet_option
def get(name: str, yes: bool, mirror: str, quiet: bool) -> None:
    """Download the data set NAME, if it is not at hand, and check it; its folder is printed.

    A download that was cut goes on where it was. Files that are at hand are checked too.
    """
    entry = data_set(name)
    missing = [file for file in entry.files if find(file.path) is None]
    if missing and all(file.source for file in missing):
        tell(f"{entry.name}: {entry.title}\nlicence: {entry.licence}", quiet)
        tell(f"from {entry.page}; cite {entry.cite}", quiet)
        _agree(entry, len(missing), yes)
    elif missing:
        raise InputError(how_to_bring(entry, missing))
    with watching(f"downloading {name}", quiet) as say:
        places = fetch(name, mirror=mirror, progress=say)
    damaged = check(entry)
    if damaged:
        raise InputError("does not say what it must; remove it and run this again", file=damaged[0])
    click.echo(str(places[0].parent))


def _agree(entry: DataSet, number: int, yes: bool) -> None:
    if yes:
        return
    if not sys.stdin.isatty():
        raise click.UsageError(f"--yes is needed to download {entry.name}; its licence: {entry.licence}")
    click.confirm(f"download {number} files to {cache_folder()}?", abort=True, err=True)


def _state(entry: DataSet) -> str:
    number = sum(find(file.path) is not None for file in entry.files)
    if number == len(entry.files):
        return "at hand"
    if number:
        return f"{number} of {len(entry.files)} files"
    return "to download" if entry.is_downloadable else "bring your own"
