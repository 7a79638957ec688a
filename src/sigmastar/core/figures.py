"""One look for all pictures: quiet axes, colours that colour-blind readers can tell apart.

Figures are built with matplotlib's object interface, so nothing global changes and no window opens.
As SVG they take part in the page around them: every colour of the palette becomes a CSS variable
with itself as fallback, and so follows a light or dark page.
"""

from __future__ import annotations

import hashlib
import io
import re
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
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
    """The figure as an SVG element, the same bytes each time; `label` is what a screen reader says."""
    import matplotlib

    buffer = io.StringIO()
    settings: Any = {"svg.fonttype": "none", "svg.hashsalt": "sigmastar", "path.simplify": False}
    with matplotlib.rc_context(settings):
        figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None}, transparent=True)
    text = buffer.getvalue()
    return _embeddable(text[text.index("<svg") :], label)


def to_png(figure: Figure, dots_per_inch: float = 144) -> bytes:
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=dots_per_inch, metadata={"Software": None})
    return buffer.getvalue()


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
