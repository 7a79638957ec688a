"""What objects show of themselves in notebooks, in the look of the explorer, and `draw`, which shows answers.

    model                       facts, and what can be seen of it: the exhibit that its family's record names
    estimator                   its parameters, then its model
    tree, arcs, alignments ..   the drawing that the record of some family names for the class
    draw(model, "the dog")      what the model makes of it: posteriors, parses, lattices, next symbols

All of it stands here once; classes take part by `Shown`. Models know nothing of drawing, which comes after
them: what is needed is found through the records when a notebook asks.
"""

from __future__ import annotations

import json
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from sigmastar.core.errors import InputError
from sigmastar.core.family import families, load

if TYPE_CHECKING:
    from sigmastar.core.exhibit import Exhibit, View

Class = TypeVar("Class")
_ROWS, _VIEWS = 8, 6  # of tables, and of the model itself: a notebook is no page of its own
_CANNOT = (ValueError, ArithmeticError, ImportError)  # a notebook shows what else there is


class Shown:
    """An object that notebooks show: as HTML, and as SVG where it is one drawing."""

    __slots__ = ()

    def _repr_svg_(self) -> str | None:
        return picture_of(self)

    def _repr_html_(self) -> str | None:
        return _card(_body(self))

    def _repr_mimebundle_(
        self, include: Container[str] | None = None, exclude: Container[str] | None = None
    ) -> dict[str, str]:
        """All that can be shown; programs that know no HTML find the text, or the drawing."""
        ways = {
            "text/plain": lambda: repr(self),
            "text/html": self._repr_html_,
            "image/svg+xml": self._repr_svg_,
        }
        wanted = [
            name
            for name in ways
            if (include is None or name in include) and (exclude is None or name not in exclude)
        ]
        return {name: shown for name in wanted if (shown := ways[name]()) is not None}


def shown(cls: type[Class]) -> type[Class]:
    """A class that notebooks show, and that cannot have `Shown` for a base."""
    for name in ("_repr_svg_", "_repr_html_", "_repr_mimebundle_"):
        setattr(cls, name, getattr(Shown, name))
    return cls


def picture_of(value: object) -> str | None:
    """An SVG element of an object; None where no family draws its class, or this one cannot be drawn.

    Parameters
    ----------
    value : object
        A model, a tree, a treebank, or what a choice of states rests on.

    Returns
    -------
    str or None
        What `_repr_svg_` of its class gives.

    Examples
    --------
    >>> picture_of(3) is None
    True
    """
    wanted = _place_of(value)
    for family in families().values():
        if wanted in family.pictures:
            try:
                drawn = load(family.pictures[wanted])(value)
            except _CANNOT:
                return None
            return drawn if isinstance(drawn, str) else None
    return None


def exhibit_of(model: object, learned: Mapping[str, Any]) -> Exhibit | None:
    """What the family of a model shows of it; None of what is no model, or has no page."""
    wanted = _place_of(model)
    for family in families().values():
        if family.explore is not None and any(kind.model == wanted for kind in family.kinds.values()):
            found: Exhibit = load(family.explore)(model, learned)
            return found
    return None


def _place_of(value: object) -> str:
    return f"{type(value).__module__}:{type(value).__qualname__}"


@dataclass(frozen=True, eq=False)
class Drawn(Shown):
    """What `draw` found: views, each a picture or a table.

    Parameters
    ----------
    title : str
        What was drawn.
    views : sequence of View
        In the order of the explorer's page.
    facts : mapping
        What stands above them.
    """

    title: str
    views: Sequence[View]
    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def svg(self) -> str:
        """The first view that is a picture, as SVG."""
        from sigmastar.core.view_drawings import pictures  # notebooks ask for it, learners never

        found = next((svg for view in self.views for _, svg in pictures(view)), None)
        if found is None:
            raise InputError(f"{self.title} has tables and no picture; save it as .html or .json")
        return found

    def save(self, path: str) -> None:
        """Write it to a file: .svg the first picture, .html a page, .json the numbers.

        Parameters
        ----------
        path : str
            Whose end says what is written.
        """
        from sigmastar.core.atomic import atomic_write  # most notebooks save nothing

        end = Path(path).suffix
        if end == ".svg":
            content = self.svg
        elif end == ".html":
            from sigmastar.core.page import Section, render

            content = render(self.title, [Section("Views", list(_parts(self.views, 40)))], {})
        elif end == ".json":
            content = json.dumps([view.to_json() for view in self.views], ensure_ascii=False, indent=1) + "\n"
        else:
            raise InputError(f"{path!r} must end in .svg, .html or .json")
        with atomic_write(path) as stream:
            stream.write(content)

    def _repr_svg_(self) -> str | None:
        try:
            return self.svg
        except InputError:
            return None

    def _repr_html_(self) -> str | None:
        return _card(_facts(self.title, self.facts) + _drawn(self.views))

    def __repr__(self) -> str:
        return f"Drawn({self.title}: {', '.join(view.title for view in self.views)})"


def draw(value: Any, text: str | None = None, **inputs: str) -> Drawn | str:
    """Show a model, or what it makes of what is typed, as the explorer's page does.

    Parameters
    ----------
    value : object
        A model, a fitted estimator, or an object that has a drawing: a tree, a treebank, alignments.
    text : str or None
        What would be typed into the first field of the page: a beginning of a string, a sentence, a word.
        None: the model itself is shown.
    **inputs : str
        Other fields of the page, by name.

    Returns
    -------
    Drawn or str
        Views, which notebooks show, and which `save` writes; of an object that is one drawing, its SVG.

    Examples
    --------
    >>> import sigmastar
    >>> learned = sigmastar.SpectralAutomaton().fit(["ab", "abab", "", "ab"] * 20)
    >>> [view.title for view in draw(learned, "aba").views][:2]
    ['What comes next', 'Surprise']
    """
    model, learned = model_of(value)
    exhibit = exhibit_of(model, learned)
    if exhibit is None:
        drawn = picture_of(value)
        if drawn is None:
            raise InputError(f"there is no drawing of {type(value).__name__}")
        return drawn
    title = type(model).__name__
    if text is None and not inputs:
        return Drawn(title, exhibit.overview(), exhibit.facts())
    known = {each.name: each.example for each in exhibit.fields if each.choices}
    first = next((each.name for each in exhibit.fields), "text")
    if strange := [name for name in inputs if name not in {each.name for each in exhibit.fields}]:
        names = ", ".join(each.name for each in exhibit.fields)
        raise InputError(f"{title} has no field {strange[0]!r}; it has {names}")
    asked = {**known, **({} if text is None else {first: text}), **inputs}
    return Drawn(f"{title}: {text or ', '.join(inputs.values())}", exhibit.answer(asked))


def model_of(value: Any) -> tuple[Any, dict[str, Any]]:
    """The model of an estimator, or the model itself, and how it was learned as far as that is known."""
    known = getattr(value, "get_params", None)
    if known is None:
        return value, {}
    value.check_fitted()
    settings = known()
    learned = {name: settings[name] for name in ("method",) if isinstance(settings.get(name), str)}
    evidence = vars(value).get("rank_evidence_")
    return value.model_, learned | ({} if evidence is None else {"rank": asdict(evidence)})


def estimator_card(estimator: Any) -> str:
    """The parameters of an estimator, whether `fit` was called, and what it found."""
    rows = "".join(
        f"<tr><td>{escape(name)}</td><td><code>{escape(repr(value))}</code></td></tr>"
        for name, value in estimator.get_params().items()
    )
    is_fitted = estimator.__sklearn_is_fitted__()
    state = "fitted" if is_fitted else "not fitted"
    summary = f"<summary><b>{escape(type(estimator).__name__)}</b>, {state}</summary>"
    found = _body(*model_of(estimator)) if is_fitted and "model_" in dir(estimator) else ""
    return _card(f"<details>{summary}<table>{rows}</table></details>{found}")


def _body(value: object, learned: Mapping[str, Any] | None = None) -> str:
    """Facts and views of a model; the drawing of other objects."""
    try:
        exhibit = exhibit_of(value, learned or {})
        facts = {} if exhibit is None else dict(exhibit.facts())
    except _CANNOT:
        exhibit, facts = None, {}
    drawn = picture_of(value) or ""
    views = [] if exhibit is None else _first_views(exhibit)
    views = [view for view in views if not drawn or view.kind != "graph"]  # which the drawing shows better
    title = type(value).__name__
    return (_facts(title, facts) if facts else "") + drawn + _drawn(views[:_VIEWS])


def _first_views(exhibit: Exhibit) -> list[View]:
    """What can be seen of a model; of one that nothing can be seen of, what it makes of an example."""
    try:
        return exhibit.overview() or exhibit.answer({each.name: each.example for each in exhibit.fields})
    except _CANNOT:
        return []


def _facts(title: str, facts: Mapping[str, Any]) -> str:
    written = " · ".join(f"{escape(name)} <b>{escape(_written(value))}</b>" for name, value in facts.items())
    return f"<p><b>{escape(title)}</b></p>" + (f"<p>{written}</p>" if written else "")


def _written(value: Any) -> str:
    from sigmastar.core.page import format_cell

    return format_cell(value) if isinstance(value, (int, float)) else str(value)


def _parts(views: Iterable[View], most_rows: int) -> Iterable[Any]:
    from sigmastar.core.view_drawings import parts_of

    return (part for view in views for part in parts_of(view, most_rows))


def _drawn(views: Iterable[View]) -> str:
    from sigmastar.core.page import part_html

    return "".join(map(part_html, _parts(views, _ROWS)))


def _card(body: str) -> str:
    """What stands in a cell, with a style that holds for it alone and follows the notebook's own look."""
    from sigmastar.core.page import COLOURS_DARK, COLOURS_LIGHT

    if not body:
        return ""
    dark = "".join(f"{where} .sigmastar {{ {COLOURS_DARK} }}\n" for where in _DARK_NOTEBOOKS)
    unknown = f"@media (prefers-color-scheme: dark) {{ {_UNKNOWN} .sigmastar {{ {COLOURS_DARK} }} }}\n"
    style = f".sigmastar {{ {COLOURS_LIGHT} }}\n{unknown}{dark}{_STYLE}"
    return f'<style>{style}</style><div class="sigmastar">{body}</div>'


_DARK_NOTEBOOKS = (
    'body[data-jp-theme-light="false"]',
    "body.vscode-dark",
    'html[data-theme="dark"]',
    'html[theme="dark"]',
)
_UNKNOWN = (
    'html:not([data-theme]):not([theme]) body:not([data-jp-theme-light="true"]):not(.vscode-light)'
    ":not(.vscode-high-contrast-light)"
)
_STYLE = """\
.sigmastar {
  background: var(--paper); color: var(--ink); border: 1px solid var(--grid); border-radius: 12px;
  padding: 0.8rem 1rem; max-width: 60rem; overflow-x: auto; font: 0.9rem/1.5 system-ui, sans-serif;
}
.sigmastar p { margin: 0 0 0.4rem; color: var(--muted); }
.sigmastar b, .sigmastar caption { color: var(--ink); }
.sigmastar figure { margin: 0.8rem 0; }
.sigmastar figure > div, .sigmastar .table { overflow-x: auto; margin: 0.6rem 0; }
.sigmastar svg { display: block; max-width: 100%; height: auto; }
.sigmastar figcaption, .sigmastar .note { font-size: 0.82rem; color: var(--muted); }
.sigmastar table { border-collapse: collapse; font-size: 0.85rem; margin: 0; background: none; }
.sigmastar caption { caption-side: top; text-align: left; font-weight: 600; padding: 0 0 0.3rem; }
.sigmastar tr, .sigmastar tbody tr:nth-child(odd) { background: none; }
.sigmastar th, .sigmastar td {
  padding: 0.2rem 0.9rem 0.2rem 0; text-align: left; font-weight: 400; border: 0; color: var(--ink);
}
.sigmastar thead th { color: var(--muted); border-bottom: 1px solid var(--line); }
.sigmastar .number { text-align: right; }
"""
