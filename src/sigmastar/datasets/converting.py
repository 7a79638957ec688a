"""Files that their publishers have in another form: made from what is downloaded, part by part.

    brown     brown/ca01 .. cr09, `word/tag word/tag` per line    ->  `word TAB tag` per line, sentences apart
    cmudict   `WORD number phones` per line                       ->  `word TAB phones` per line

Which sample or word belongs to which part follows from its place or its letters, so that no list is kept.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator
from zipfile import ZipFile

_SAMPLE = re.compile(r"brown/c[a-r]\d\d")
_WORD = re.compile(r"[a-z']+")


def converted(archive: ZipFile, how: str) -> bytes:
    """What an archive holds, in the form that is read here.

    Parameters
    ----------
    archive : zipfile.ZipFile
        As it was downloaded.
    how : str
        Name of a conversion and of a part, such as "brown dev".

    Returns
    -------
    bytes
        A file of lines.
    """
    name, part = how.split(" ")
    return "".join(f"{line}\n" for line in _CONVERSIONS[name](archive, part)).encode()


def _brown(archive: ZipFile, part: str) -> Iterator[str]:
    """Of ten samples in the order of their names the last but one is dev, the last is test."""
    samples = sorted(name for name in archive.namelist() if _SAMPLE.fullmatch(name))
    for number, name in enumerate(samples):
        if {8: "dev", 9: "test"}.get(number % 10, "train") != part:
            continue
        for line in archive.read(name).decode().splitlines():
            tokens = [token.rpartition("/") for token in line.split()]
            yield from (f"{word}\t{tag}" for word, _, tag in tokens)
            if tokens:
                yield ""


def _cmudict(archive: ZipFile, part: str) -> Iterator[str]:
    """Of twenty classes of words, by a hash of their letters, one is dev and one is test."""
    for line in archive.read("cmudict/cmudict").decode().splitlines():
        word, _, *phones = line.split() or ("", "")
        if not _WORD.fullmatch(word.lower()):
            continue
        number = int(hashlib.sha1(word.upper().encode()).hexdigest(), 16) % 20
        if {18: "dev", 19: "test"}.get(number, "train") == part:
            yield f"{word.lower()}\t{' '.join(phones)}"


_CONVERSIONS: dict[str, Callable[[ZipFile, str], Iterator[str]]] = {"brown": _brown, "cmudict": _cmudict}
