"""From the name of a data set to its files: those at hand, or downloaded ones that say what they must.

    SIGMASTAR_DATA/FILE          a folder of one's own comes first
    cache/FILE                   what was downloaded before; SIGMASTAR_CACHE, or the system's cache
    a download                   goes on where it was cut, is checked, and appears whole or not at all

What is downloaded is kept under the names that SIGMASTAR_DATA has, so that either folder can be the other.
"""

from __future__ import annotations

import gzip
import os
import shutil
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from sigmastar.core.atomic import atomic_write_bytes
from sigmastar.core.errors import InputError
from sigmastar.core.progress import Progress, silent, stage
from sigmastar.datasets.catalogue import HOST, DataFile, DataSet, data_sets, fingerprint
from sigmastar.datasets.converting import converted

DATA, CACHE = "SIGMASTAR_DATA", "SIGMASTAR_CACHE"
_TRIES, _SECONDS = 4, 30.0  # of a download that is cut; of silence
_PIECE = 1 << 12  # bytes; of what is cut, less than that is lost


def data_set(name: str) -> DataSet:
    """The data set of a name; other names are an error that lists them."""
    known = data_sets()
    if name not in known:
        raise InputError(f"there is no data set {name!r}; there are {', '.join(known)}")
    return known[name]


def cache_folder() -> Path:
    """The folder that downloads are kept in."""
    named = os.environ.get(CACHE)
    return Path(named) if named else Path(_pooch().os_cache("sigmastar")) / "data"


def find(path: str) -> Path | None:
    """A file that is at hand, or None.

    Parameters
    ----------
    path : str
        As the catalogue has it, such as "conll2000/train.txt.gz".

    Returns
    -------
    pathlib.Path or None
        In the folder of SIGMASTAR_DATA, or in the cache; with or without the ending .gz.
    """
    folders = [Path(folder) for folder in (os.environ.get(DATA), _cache_or_none()) if folder]
    names = (path, path.removesuffix(".gz"), f"{path}.gz")
    places = (folder / name for folder in folders for name in names)
    return next((place for place in places if place.is_file()), None)


def fetch(
    name: str,
    only: Iterable[str] | None = None,
    *,
    mirror: str = HOST,
    progress: Progress = silent,
) -> list[Path]:
    """The files of a data set; those that are not at hand are downloaded.

    Whoever calls it agrees to the licence of the set (`data_sets()[name].licence`).

    Parameters
    ----------
    name : str
        The set.
    only : iterable of str or None
        Files of it; None: all.
    mirror : str
        Where the sources lie, in place of their first host.
    progress : callable
        Told of each file.

    Returns
    -------
    list of pathlib.Path
        In the order of the catalogue. A file that does not say what it must is an error.
    """
    entry = data_set(name)
    wanted = [file for file in entry.files if only is None or file.path in set(only)]
    missing = [file for file in wanted if find(file.path) is None]
    if missing and not all(file.source for file in missing):
        raise InputError(how_to_bring(entry, missing))
    if missing:
        _download(entry, missing, mirror, progress)
    return [at_hand(file.path) for file in wanted]


def check(entry: DataSet) -> list[str]:
    """The files of a set that are at hand but do not say what they must."""
    found = ((file, find(file.path)) for file in entry.files)
    return [str(place) for file, place in found if place is not None and not _says(file, _content(place))]


def how_to_bring(entry: DataSet, missing: Iterable[DataFile]) -> str:
    """What to put where, in a line."""
    paths = [file.path for file in missing]
    some = ", ".join(paths[:4]) + (f" and {len(paths) - 4} more" if len(paths) > 4 else "")
    folder = os.environ.get(DATA) or _cache_or_none() or f"a folder that {DATA} names"
    return (
        f"{entry.name} is not at hand and is not downloaded: get it from {entry.page} and put {some} into "
        f"{folder}{entry.bring and ': ' + entry.bring}; sigmastar data show {entry.name} lists them all, and "
        f"sigmastar data get {entry.name} then checks them"
    )


def at_hand(path: str) -> Path:
    """A file that is there by now."""
    found = find(path)
    assert found is not None
    return found


def _cache_or_none() -> Path | None:
    """Without the extra `data` there may still be a cache, where it is named."""
    try:
        return cache_folder()
    except ImportError:
        return None


def _pooch() -> Any:
    try:
        import pooch
    except ImportError as problem:
        raise ImportError(
            'downloads need pooch; install it: pip install "sigmastar[data]", or set SIGMASTAR_DATA'
        ) from problem
    return pooch


def _content(place: Path) -> bytes:
    try:
        content = place.read_bytes()
        return gzip.decompress(content) if place.suffix == ".gz" else content
    except (EOFError, gzip.BadGzipFile, OSError):  # cut or damaged: it says nothing that is known
        return b""


def _says(file: DataFile, content: bytes) -> bool:
    return fingerprint(content, file.path) == file.fingerprint


def _download(entry: DataSet, files: list[DataFile], mirror: str, progress: Progress) -> None:
    """File by file; archives are kept until the last of their members is out."""
    folder = cache_folder()
    addresses = [mirror.rstrip("/") + "/" + file.source.partition("#")[0] for file in files]
    for number, (file, address) in enumerate(zip(files, addresses, strict=True)):
        part = stage(progress, number / len(files), (number + 1) / len(files))
        content, archive = _checked(entry, file, address, part)
        place = folder / file.path
        place.parent.mkdir(parents=True, exist_ok=True)
        atomic_write_bytes(place, gzip.compress(content, mtime=0) if place.suffix == ".gz" else content)
        if address not in addresses[number + 1 :]:
            archive.unlink()


def _checked(entry: DataSet, file: DataFile, address: str, progress: Progress) -> tuple[bytes, Path]:
    """A file that says what it must, and the download that it is from."""
    for _ in range(2):  # what was resumed may be of two versions: then once more from the start
        archive = _retrieved(entry, address, cache_folder(), progress)
        content = _unpacked(archive, file.source.partition("#")[2])
        if content is not None and _says(file, content):
            return content, archive
        archive.unlink()
    raise InputError(
        f"is damaged, or not the version that is known; try again later, or see {entry.page}", file=address
    )


def _unpacked(archive: Path, members: str) -> bytes | None:
    """A file itself, or members of an archive one after the other; None where it is damaged."""
    if not members:
        return archive.read_bytes()
    try:
        with zipfile.ZipFile(archive) as opened:
            if members.startswith("="):
                return converted(opened, members.removeprefix("="))
            return b"\n\n".join(opened.read(name).strip(b"\r\n") for name in _names(members)) + b"\n"
    except (zipfile.BadZipFile, KeyError, EOFError, OSError, NotImplementedError, ValueError):
        return None


def _names(members: str) -> Iterator[str]:
    pattern, *ends = members.split(" ")
    if not ends:
        return iter([pattern])
    first, last = map(int, ends)
    return (pattern % number for number in range(first, last + 1))


def _retrieved(entry: DataSet, address: str, folder: Path, progress: Progress) -> Path:
    """What lies at an address, in the folder of downloads."""
    pooch = _pooch()
    pooch.get_logger().setLevel("WARNING")
    downloads = folder / "downloads"
    name = pooch.utils.unique_file_name(address)

    def resumed(url: str, output: Any, *_: Any, **__: Any) -> None:
        part = downloads / f"{name}.part"
        try:
            _resume(url, part, progress)
        except OSError as problem:  # of requests too
            raise InputError(_unreachable(entry, url, folder, problem)) from problem
        shutil.move(part, output)

    downloads.mkdir(parents=True, exist_ok=True)
    return Path(pooch.retrieve(address, known_hash=None, fname=name, path=downloads, downloader=resumed))


def _resume(address: str, part: Path, progress: Progress) -> None:
    """Bytes after those that are there; a download that is cut goes on at once, a few times."""
    import requests

    short = address.rpartition("/")[2]
    for attempt in range(_TRIES):
        begun = part.stat().st_size if part.exists() else 0
        asked = {"Accept-Encoding": "identity", **({"Range": f"bytes={begun}-"} if begun else {})}
        try:
            with requests.get(address, headers=asked, stream=True, timeout=_SECONDS) as answer:
                if answer.status_code == 416:  # nothing is left: it was whole
                    return
                answer.raise_for_status()
                total = begun + int(answer.headers.get("Content-Length") or 0)
                with part.open("ab" if answer.status_code == 206 else "wb") as stream:
                    for piece in answer.iter_content(_PIECE):
                        stream.write(piece)
                        progress(f"downloading {short}", min(1.0, stream.tell() / max(total, 1)))
                return
        except requests.RequestException as problem:
            refused = getattr(problem.response, "status_code", None)
            if refused or attempt == _TRIES - 1 or not part.exists():
                raise


def _unreachable(entry: DataSet, address: str, folder: Path, problem: OSError) -> str:
    answer = getattr(problem, "response", None)
    host = urlsplit(address).hostname
    why = f"{host} answers {answer.status_code}" if answer is not None else f"{host} cannot be reached"
    return (
        f"{why}; run it again, which goes on where it was, or get {entry.name} from {entry.page} and put its "
        f"files into {folder}, or into a folder that {DATA} names (sigmastar data show {entry.name})"
    )
