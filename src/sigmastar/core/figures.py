"""Learning curves, matrices and maps of probabilities, in one look for all pictures.

Quiet axes, colours that colour-blind readers can tell apart.
Figures are built with matplotlib's object interface, so nothing global changes and no window opens.
As SVG they take part in the page around them: every colour of the palette becomes a CSS variable
with itself as fallback, and so follows a light or dark page.
"""

from __future__ import annotations

import hashlib
import io
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from sigmastar.core.arrays import Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.colors import Colormap
    from matplotlib.figure import Figure

PAPER, INK, MUTED, GRID = "#fefefe", "#1f2430", "#6b7280", "#e3e6ea"

SERIES = ("#0b69a8", "#c8500a", "#0f8a66", "#a3548c", "#b07d00", "#4d5a6b")
"""Blue, vermilion, green, purple, ochre, slate: after Okabe and Ito, darkened for thin lines."""

MARKERS = ("o", "s", "^", "D", "v", "P")

VARIABLES = {
    PAPER: "--paper",
    INK: "--ink",
    MUTED: "--muted",
    GRID: "--grid",
    **{colour: f"--series-{number}" for number, colour in enumerate(SERIES, 1)},
}
"""The CSS variable of each colour; a page may set them, as `core.page` does."""

FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, 'DejaVu Sans', sans-serif"


class MissingMatplotlibError(ImportError):
    """Pictures were asked for and matplotlib is not installed."""

    def __init__(self) -> None:
        super().__init__('pictures need matplotlib: pip install "sigmastar[plot]"', name="matplotlib")


def new_figure(width: float = 6.4, height: float = 3.6) -> Figure:
    """An empty figure in inches, with margins that fit what is drawn."""
    try:
        from matplotlib.figure import Figure
    except ImportError as problem:
        raise MissingMatplotlibError from problem
    return Figure(figsize=(width, height), layout="constrained", facecolor=PAPER)


def tidy(axes: Axes, title: str = "", x: str = "", y: str = "", grid: str = "y") -> None:
    """Give axes the common look: two thin spines, a faint grid behind, muted tick labels."""
    axes.set_facecolor("none")
    for side, spine in axes.spines.items():
        spine.set_visible(side in ("left", "bottom"))
        spine.set_color(MUTED)
        spine.set_linewidth(0.8)
    axes.tick_params(which="both", colors=MUTED, labelcolor=MUTED, labelsize=8.5, width=0.8, length=3)
    axes.tick_params(which="minor", length=1.5)
    axes.set_axisbelow(True)
    if grid:
        axes.grid(axis=grid, color=GRID, linewidth=0.8)  # type: ignore[arg-type]
    axes.set_title(title, loc="left", fontsize=10.5, color=INK, pad=9, fontweight="bold")
    axes.set_xlabel(x, fontsize=9.5, color=INK, labelpad=5)
    axes.set_ylabel(y, fontsize=9.5, color=INK, labelpad=5)


def label_series(axes: Axes, **options: Any) -> None:
    """A legend without a box, in ink."""
    axes.legend(frameon=False, fontsize=9, labelcolor=INK, handlelength=1.6, **options)


def plain_log_ticks(axis: Axis, low: float, high: float) -> None:
    """Ticks in plain figures on a log axis, also between the powers of ten where there are few."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    decades = np.log10(high / low) if 0 < low < high else 0.0
    steps = (1.0, 2.0, 5.0) if decades < 2.5 else (1.0, 3.0) if decades < 4 else (1.0,)
    axis.set_major_locator(LogLocator(subs=steps, numticks=12))
    axis.set_major_formatter(
        FuncFormatter(lambda level, _: f"{level:,.10g}" if level >= 1e-5 else f"{level:g}")
    )
    axis.set_minor_formatter(NullFormatter())


def series_colour(index: int) -> str:
    return SERIES[index % len(SERIES)]


def to_svg(figure: Figure, label: str = "") -> str:
    """The figure as an SVG element, the same bytes each time; `label` is for screen readers."""
    import matplotlib

    buffer = io.StringIO()
    settings: Any = {"svg.fonttype": "none", "svg.hashsalt": "sigmastar", "path.simplify": False}
    with matplotlib.rc_context(settings):
        figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None}, transparent=True)
    text = buffer.getvalue()
    return _embeddable(text[text.index("<svg") :], label)


def css_colour(colour: str) -> str:
    """A palette colour as a CSS variable that falls back to it."""
    return f"var({VARIABLES[colour]}, {colour})"


def _embeddable(svg: str, label: str) -> str:
    """Distinct ids, so that several figures share a page; colours and fonts of the page; a name."""
    prefix = "f" + hashlib.sha256(svg.encode()).hexdigest()[:8]
    svg = re.sub(r'\bid="', f'id="{prefix}-', svg)
    svg = re.sub(r"url\(#", f"url(#{prefix}-", svg)
    svg = re.sub(r'href="#', f'href="#{prefix}-', svg)
    # matplotlib's rule for every element would hold for the whole page
    svg = re.sub(r"<defs>\s*<style[^>]*>.*?</style>\s*</defs>\s*", "", svg, flags=re.DOTALL)
    svg = re.sub(r"<metadata>.*?</metadata>\s*", "", svg, flags=re.DOTALL)
    svg = re.sub(r"(font(?:-family)?:[^;\"]*?)'DejaVu Sans'[^;\"]*", lambda m: m[1] + FONT, svg)
    pattern = re.compile("|".join(VARIABLES), re.IGNORECASE)
    svg = pattern.sub(lambda match: css_colour(match[0].lower()), svg)
    name = f' role="img" aria-label="{_attribute(label)}"' if label else ' aria-hidden="true"'
    return svg.replace("<svg", f'<svg{name} style="stroke-linejoin: round"', 1)


def _attribute(text: str) -> str:
    return text.replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;").replace(">", "&gt;")


Curve = Sequence[ArrayLike] | Floats


def plot_learning_curves(
    curves: Mapping[str, Curve],
    x: str = "strings",
    y: str = "KL to the truth, nats per string",
    title: str = "Learning curves",
    log_x: bool = True,
    log_y: bool = True,
) -> Figure:
    """One line per label from `(x, y)`, with a band from `(x, y, low, high)`; skips points not finite."""
    if not curves:
        raise ValueError("there are no curves to draw")
    figure = new_figure(6.4, 3.8)
    axes = figure.subplots()
    tidy(axes, title, x, y)
    if log_x:
        axes.set_xscale("log")
    if log_y:
        axes.set_yscale("log")
    for index, (label, curve) in enumerate(curves.items()):
        _draw_curve(axes, index, label, [np.asarray(part, dtype=np.float64) for part in curve], log_y)
    if log_x:
        _name_sizes(axes, curves)
    if log_y:
        plain_log_ticks(axes.yaxis, *axes.get_ylim())
    label_series(axes)
    return figure


def _draw_curve(axes: Axes, index: int, label: str, parts: list[Floats], log_y: bool) -> None:
    if len(parts) not in (2, 4) or len({part.shape for part in parts}) > 1:
        raise ValueError(f"curve {label!r} must be (x, y) or (x, y, low, high) of equal lengths")
    colour = series_colour(index)
    shown = np.isfinite(parts[1]) & ((parts[1] > 0) | (not log_y))
    at, height = parts[0][shown], parts[1][shown]
    axes.plot(
        at,
        height,
        color=colour,
        linewidth=1.6,
        marker=MARKERS[index % len(MARKERS)],
        markersize=4.5,
        label=label,
    )
    if len(parts) == 4:
        floor = height.min(initial=np.inf) / 10 if log_y and len(height) else -np.inf
        low, high = np.maximum(parts[2][shown], floor), parts[3][shown]
        axes.fill_between(at, low, high, color=colour, alpha=0.15, linewidth=0)


def _name_sizes(axes: Axes, curves: Mapping[str, Curve]) -> None:
    """Name the sizes that were tried, with thousands separated, where they are few."""
    from matplotlib.ticker import FuncFormatter, NullFormatter, NullLocator

    sizes = np.unique(np.concatenate([np.asarray(curve[0], dtype=np.float64) for curve in curves.values()]))
    if 1 < len(sizes) <= 8:
        axes.set_xticks(sizes)
        axes.xaxis.set_minor_locator(NullLocator())
        axes.xaxis.set_major_formatter(FuncFormatter(lambda size, _: f"{size:,.10g}"))
        axes.xaxis.set_minor_formatter(NullFormatter())


def plot_matrices(
    matrices: Mapping[str, Floats], x: str = "insides", y: str = "outsides", bend: float = 0.5
) -> Figure:
    """One picture per label; NaN is an entry that was not observed, and stays grey.

    Colours show sign(v) |v|^bend, so that small entries can be seen beside large ones.
    """
    if not matrices:
        raise ValueError("there are no matrices to draw")
    shown = {label: np.sign(matrix) * np.abs(matrix) ** bend for label, matrix in matrices.items()}
    top = max(float(np.nanmax(np.abs(matrix), initial=0.0)) for matrix in shown.values()) or 1.0
    figure = new_figure(0.8 + 2.6 * len(shown), 3.1)
    every = figure.subplots(1, len(shown), squeeze=False)[0]
    for number, (axes, (label, matrix)) in enumerate(zip(every, shown.items(), strict=True)):
        tidy(axes, label, x, y if number == 0 else "", grid="")
        axes.set_facecolor(GRID)
        mesh = axes.pcolormesh(matrix, cmap="RdBu_r", vmin=-top, vmax=top, rasterized=True)
        axes.invert_yaxis()
        axes.set_xticks([])
        axes.set_yticks([])
    bar = figure.colorbar(mesh, ax=list(every), pad=0.02, fraction=0.03)
    ticks = np.linspace(-top, top, 5)
    bar.set_ticks(ticks.tolist(), labels=[f"{np.sign(t) * abs(t) ** (1 / bend):.2g}" for t in ticks])
    bar.ax.tick_params(colors=MUTED, labelcolor=INK, labelsize=8, length=0)
    bar.outline.set_visible(False)
    return figure


def draw_probabilities(
    axes: Axes,
    table: Floats,
    names: Sequence[str],
    rings: Iterable[tuple[int, int]] = (),
    largest: float = 1.0,
) -> None:
    """A map of probabilities, with the bar of its shades beside it.

    Parameters
    ----------
    axes
        Where to draw; its frame is taken off.
    table
        Rows x columns, from 0 to `largest`.
    names
        Of the rows, from the top.
    rings
        Column and row of the cells that are marked.
    largest
        What the darkest shade stands for.
    """
    mesh = axes.pcolormesh(table, cmap=_shades(), vmin=0, vmax=largest, edgecolors=GRID, linewidth=0.7)
    across, down = np.array([*rings], dtype=float).reshape(-1, 2).T + 0.5
    axes.scatter(across, down, s=34, facecolor=PAPER, edgecolor=INK, linewidth=1.2, zorder=3)
    axes.set_yticks(np.arange(len(names)) + 0.5, list(names))
    axes.invert_yaxis()
    for spine in axes.spines.values():
        spine.set_visible(False)
    axes.tick_params(length=0)
    bar = mesh.figure.colorbar(mesh, ax=axes, pad=0.015, fraction=0.04, aspect=18)
    bar.outline.set_visible(False)
    bar.ax.tick_params(colors=MUTED, labelcolor=MUTED, labelsize=8.5, length=0)
    bar.set_label("probability", color=INK, fontsize=9.5)


def _shades(n_shades: int = 40) -> Colormap:
    """One hue from clear to full, so that the page's own background is the zero."""
    from matplotlib.colors import ListedColormap, to_rgb

    colours = np.ones((n_shades, 4)) * (*to_rgb(SERIES[0]), 1.0)
    colours[:, 3] = np.linspace(0.0, 1.0, n_shades)
    return ListedColormap(colours)
