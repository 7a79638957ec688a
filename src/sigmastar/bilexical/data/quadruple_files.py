"""Attachment quadruples as Ratnaparkhi, Reynar and Roukos (1994) distribute them.

    sentence-id verb noun preposition noun V|N         separated by blanks, one a line

The id in front and the answer at the end may be left out: `verb noun preposition noun` is enough to
predict for.
"""

from __future__ import annotations

from sigmastar.bilexical.data.quadruples import NOUN, VERB, Quadruples
from sigmastar.core.errors import InputError
from sigmastar.core.text_files import TextPath, display_name, open_text


def read_quadruples(path: TextPath, need_labels: bool = True) -> Quadruples:
    """Read quadruples; without `need_labels` those without an answer are taken as V."""
    rows, labels = [], []
    for number, line in enumerate(open_text(path), 1):
        cells = line.split()
        if not cells:
            continue
        words, label = _parsed(cells)
        if words is None or (need_labels and label is None):
            raise InputError(
                f"expected 'id verb noun preposition noun V|N', found {len(cells)} words {line[:60]!r}",
                file=display_name(path),
                line=number,
            )
        rows.append(words)
        labels.append(label or VERB)
    if not rows:
        raise InputError("the file holds no quadruples", file=display_name(path))
    return Quadruples.of(rows, labels)


def _parsed(cells: list[str]) -> tuple[list[str] | None, str | None]:
    label = cells[-1] if len(cells) > 4 and cells[-1] in (VERB, NOUN) else None
    words = cells[:-1] if label else cells
    words = words[1:] if len(words) == 5 else words
    return (words, label) if len(words) == 4 else (None, None)
