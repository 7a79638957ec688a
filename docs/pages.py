"""What every page is held to: formulas without scripts, links that lead somewhere, words that are words.

Formulas become MathML when the pages are built, which browsers show by themselves, so that nothing is fetched
from elsewhere. Links and words are checked when all pages are written; what is wrong is a warning, and so an
error of `make docs`. Words that no dictionary has stand in `docs/words.txt`, in order.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from html import unescape
from pathlib import Path
from urllib.parse import unquote, urlsplit

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.util import logging

HERE = Path(__file__).parent
LISTED = HERE / "words.txt"
_LOG = logging.getLogger(__name__)
_ID = re.compile(r"""\s(?:id|name)=["']([^"']+)["']""")
_TAG = re.compile(r"<(a|link|script|img|iframe|source)\s([^>]*)>")
_LINK = re.compile(r"""\b(?:href|src)=["']([^"']+)""")
_NOT_PROSE = (
    re.compile(r"^`{3,}.*?^`{3,}", re.MULTILINE | re.DOTALL),
    re.compile(r"^:{3,}.*$|^:\w+:", re.MULTILINE),
    re.compile(r"^\$\$.*?^\$\$", re.MULTILINE | re.DOTALL),
    re.compile(r"^( {4,}|\t).*$", re.MULTILINE),
    re.compile(r"`[^`\n]*`"),
    re.compile(r"\$[^$\n]+\$"),
    re.compile(r"\]\([^)]*\)"),
    re.compile(r"<[^>\n]*>|https?://\S+|\{[^}\n]*\}"),
    re.compile(r"\S*[\w.-]+/[\w.-]+\S*|\w+[._]\w+\S*|\w*\d\w*"),
)
_WORD = re.compile(r"(?<![\w-])[A-Za-z]{3,}(?:'[a-z]+)?(?![\w])")


def setup(app: object) -> None:
    app.add_html_math_renderer("mathml", (_inline, None), (_display, None))  # type: ignore[attr-defined]
    app.connect("build-finished", check)  # type: ignore[attr-defined]


def _inline(translator: object, node: nodes.math) -> None:
    _write(translator, node, as_block=False)


def _display(translator: object, node: nodes.math_block) -> None:
    _write(translator, node, as_block=True)


def _write(translator: object, node: nodes.Element, as_block: bool) -> None:
    translator.body.append(tex2mathml(node.astext(), as_block=as_block))  # type: ignore[attr-defined]
    raise nodes.SkipNode


def check(app: object, problem: Exception | None) -> None:
    """Warn of links that lead nowhere and of words that no dictionary has."""
    if problem is not None or app.builder.format != "html":  # type: ignore[attr-defined]
        return
    for page, link in broken_links(Path(app.outdir)):  # type: ignore[attr-defined]
        _LOG.warning("%s links to %s, which is not there", page, link)
    for page, word in unknown_words(sources()):
        _LOG.warning("%s: %r is in no dictionary; mend it, or add it to docs/words.txt", page, word)


def broken_links(folder: Path) -> Iterator[tuple[str, str]]:
    """Pages and their links that lead nowhere, or that fetch something from outside to be shown."""
    root = os.path.realpath(folder)
    pages = [path for path in sorted(Path(root).rglob("*.html")) if path.relative_to(root).parts[0][0] != "_"]
    texts = {str(path): path.read_text(encoding="utf-8") for path in pages}
    anchors: dict[str, set[str]] = {}
    for page, text in texts.items():
        name = os.path.relpath(page, root)
        for kind, link in sorted(
            {(kind, link) for kind, rest in _TAG.findall(text) for link in _LINK.findall(rest)}
        ):
            parts = urlsplit(unescape(link))
            if parts.scheme or parts.netloc:
                if kind != "a" and parts.scheme != "data":
                    yield name, link
                continue
            target = (
                os.path.normpath(os.path.join(os.path.dirname(page), unquote(parts.path)))
                if parts.path
                else page
            )
            if target not in texts and not os.path.exists(target):
                yield name, link
            elif parts.fragment and kind == "a" and target in texts:
                if target not in anchors:
                    anchors[target] = set(map(unescape, _ID.findall(texts[target])))
                if unquote(parts.fragment) not in anchors[target]:
                    yield name, link


def sources() -> dict[str, str]:
    """Pages by hand, as they are written."""
    places = [path for path in sorted(HERE.rglob("*.md")) if not {"_build", "generated"} & {*path.parts}]
    return {str(path.relative_to(HERE)): path.read_text(encoding="utf-8") for path in places}


def unknown_words(pages: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Pages and their words that neither the dictionary nor the list has, each word once."""
    from spellchecker import SpellChecker

    dictionary = SpellChecker(language="en")
    listed = set(LISTED.read_text(encoding="utf-8").split())
    told: set[str] = set()
    for page, text in pages.items():
        for word in words_of(text):
            plain = word.lower()
            stem = plain.removesuffix("'s")
            if not {word, plain, stem} & (listed | told) and stem not in dictionary:
                told.add(plain)
                yield page, word


def words_of(text: str) -> Iterator[str]:
    """The words of a page: no code, formulas and addresses, no names in capitals.

    Examples
    --------
    >>> list(words_of("A `code` of $x$ words, see [the page](a/b.md) of EM and PyTorch"))
    ['words', 'see', 'the', 'page', 'and']
    """
    for pattern in _NOT_PROSE:
        text = pattern.sub(" ", text)
    for word in _WORD.findall(text):
        if word[1:].islower() or "'" in word:
            yield word


if __name__ == "__main__":  # python docs/pages.py: the words alone, without a build
    for page, word in unknown_words(sources()):
        print(f"{page}: {word}")
