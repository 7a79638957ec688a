"""What unknown words look like: signatures, from the finest to the coarsest.

The class of a word is how it is written (case, digits, dashes, whether it has letters at all), by the
categories of Unicode and not by the letters of a language; finer signatures add its last one, two, three
characters in lower case.
"""

from __future__ import annotations

import unicodedata
from functools import lru_cache


@lru_cache(maxsize=100_000)
def signatures(word: str) -> tuple[str, str, str, str]:
    """Class with the last 3, 2, 1 characters, and the class alone.

    >>> signatures("Walked")
    ('Ul:ked', 'Ul:ed', 'Ul:d', 'Ul')
    >>> signatures("1990s")[3], signatures("--")[3], signatures("Coca-Cola")[3]
    ('dl', 'p', 'Ul-')
    """
    shape, end = word_class(word), word.lower()
    return f"{shape}:{end[-3:]}", f"{shape}:{end[-2:]}", f"{shape}:{end[-1:]}", shape


def word_class(word: str) -> str:
    """U or l for the case of the first and l for that of later letters, o for letters without case, d - p."""
    kinds = [unicodedata.category(character) for character in word]
    letters = [kind for kind in kinds if kind[0] == "L"]
    written = "U" if letters and letters[0] in ("Lu", "Lt") else ""
    written += "".join(
        mark
        for mark, wanted in (("d", ("Nd", "No", "Nl")), ("l", ("Ll",)), ("o", ("Lo", "Lm")))
        if any(kind in wanted for kind in kinds)
    )
    if "Pd" in kinds:
        written += "-"
    return written.replace("--", "-") if letters or "d" in written else "p"
