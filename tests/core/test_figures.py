"""Pictures are read back: the SVG must hold what was drawn."""

from __future__ import annotations

import builtins
import subprocess
import sys
import xml.etree.ElementTree as ET
from dataclasses import dataclass

import numpy as np
import pytest

from sigmastar.automata.data.strings import Strings
from sigmastar.automata.draw.plots import plot_next_symbols, plot_spectrum
from sigmastar.automata.model.generators import make_automaton
from sigmastar.core.figures import (
    SERIES,
    VARIABLES,
    MissingMatplotlibError,
    new_figure,
    plot_learning_curves,
    to_svg,
)

SVG = "{http://www.w3.org/2000/svg}"


@dataclass(frozen=True)
class Evidence:
    singular_values: np.ndarray
    noise_level: float | None
    candidates: tuple[int, ...]
    scores: tuple[float, ...]
    chosen: int


EVIDENCE = Evidence(
    np.array([1.0, 0.5, 0.25, 0.02, 0.01, 0.0]), 0.03, (1, 2, 3, 4), (-9.0, -8.0, -7.0, -7.5), 3
)


def words(svg: str) -> list[str]:
    return ["".join(element.itertext()).strip() for element in ET.fromstring(svg).iter(f"{SVG}text")]


def test_spectrum_shows_values_noise_and_choice():
    figure = plot_spectrum(EVIDENCE)
    left, right = figure.axes
    kept, dropped = (collection.get_offsets() for collection in left.collections)
    assert kept[:, 1].tolist() == [1.0, 0.5, 0.25]
    assert dropped[:, 1].tolist() == [0.02, 0.01]  # zero has no place on a log scale
    assert left.get_yscale() == "log"
    assert right.lines[0].get_ydata().tolist() == [-9.0, -8.0, -7.0, -7.5]
    assert right.collections[0].get_offsets().tolist() == [[3.0, -7.0]]
    assert {"chosen: 3", "noise level", "rank", "singular value"} <= set(words(to_svg(figure)))


def test_spectrum_takes_plain_values():
    figure = plot_spectrum([3.0, 2.0, 1.0], noise_level=0.5, chosen=2)
    assert len(figure.axes) == 1
    assert plot_spectrum([1.0]).axes[0].collections[0].get_offsets().tolist() == [[1.0, 1.0]]
    to_svg(plot_spectrum([0.0, 0.0]))
    with pytest.raises(ValueError, match="vector of singular values"):
        plot_spectrum([])
    with pytest.raises(ValueError, match="3 candidates need as many scores"):
        plot_spectrum([1.0], candidates=[1, 2, 3], scores=[0.0])


def test_spectrum_leaves_out_scores_that_are_not_finite_and_sorts():
    figure = plot_spectrum([3.0, 2.0, 1.0], candidates=[3, 1, 2], scores=[-1.0, -3.0, -np.inf])
    assert figure.axes[1].lines[0].get_xdata().tolist() == [1.0, 3.0]


def test_curves_have_their_points_bands_and_names():
    curves = {
        "fast": ([100, 200, 400], [0.4, 0.2, 0.1], [0.3, 0.1, -0.1], [0.5, 0.3, 0.2]),
        "EM": ([100, 400], [np.inf, 0.3]),
    }
    figure = plot_learning_curves(curves)
    axes = figure.axes[0]
    assert [line.get_xdata().tolist() for line in axes.lines] == [[100, 200, 400], [400]]
    assert len(axes.collections) == 1
    assert {"fast", "EM", "100", "200", "400", "strings"} <= set(words(to_svg(figure)))
    assert np.isfinite(axes.get_ylim()).all()


def test_curves_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="no curves"):
        plot_learning_curves({})
    with pytest.raises(ValueError, match="curve 'x' must be"):
        plot_learning_curves({"x": ([1, 2], [1.0])})
    with pytest.raises(ValueError, match="curve 'x' must be"):
        plot_learning_curves({"x": ([1], [1.0], [1.0])})


def test_heat_map_holds_the_distributions_and_marks_what_came(rng):
    model = make_automaton(3, 4, rng)
    string = (0, 3, 1)
    axes = plot_next_symbols(model, string).axes[0]
    mesh, marks = axes.collections
    expected = model.gap_distributions(Strings.of([string], alphabet=model.alphabet))
    assert np.asarray(mesh.get_array()).reshape(5, 4) == pytest.approx(expected.T)
    assert marks.get_offsets().tolist() == [[0.5, 0.5], [1.5, 3.5], [2.5, 1.5], [3.5, 4.5]]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["0", "1", "2", "3", "end"]
    assert [label.get_text() for label in axes.get_xticklabels()] == ["0", "3", "1", "end"]


def test_heat_map_of_a_large_alphabet_shows_what_matters(rng):
    model = make_automaton(2, 60, rng)
    axes = plot_next_symbols(model, (7, 51), max_symbols=10).axes[0]
    names = [label.get_text() for label in axes.get_yticklabels()]
    assert len(names) == 10
    assert {"7", "51", "end"} <= set(names)
    assert names[:-1] == sorted(names[:-1], key=int)


def test_heat_map_shows_one_string_also_the_empty_one(rng):
    model = make_automaton(2, 2, rng)
    to_svg(plot_next_symbols(model, ()))
    with pytest.raises(ValueError, match="one string, got 2"):
        plot_next_symbols(model, model.sample(2, rng))


def test_svg_is_deterministic_and_at_home_in_a_page():
    first, second = (to_svg(plot_spectrum(EVIDENCE), 'a "b" <c>') for _ in range(2))
    assert first == second
    root = ET.fromstring(first)
    assert (root.get("role"), root.get("aria-label")) == ("img", 'a "b" <c>')
    assert "<style" not in first  # a rule in it would hold for the whole page
    assert f"var({VARIABLES[SERIES[0]]}, {SERIES[0]})" in first
    other = to_svg(plot_learning_curves({"a": ([1, 2], [1.0, 2.0])}))
    ids = [{e.get("id") for e in ET.fromstring(svg).iter() if e.get("id")} for svg in (first, other)]
    assert ids[0].isdisjoint(ids[1])


def test_svg_references_resolve():
    svg = to_svg(plot_spectrum(EVIDENCE))
    elements = list(ET.fromstring(svg).iter())
    ids = {e.get("id") for e in elements}
    hrefs = [e.get("{http://www.w3.org/1999/xlink}href") for e in elements]
    clips = [e.get("clip-path") for e in elements]
    assert all(h[1:] in ids for h in hrefs if h)
    assert all(c[5:-1] in ids for c in clips if c)
    assert any(hrefs)
    assert any(clips)


def test_without_matplotlib_the_remedy_is_named(monkeypatch):
    real = builtins.__import__

    def without(name, *rest):
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(MissingMatplotlibError, match=r'pip install "sigmastar\[plot\]"'):
        new_figure()


def test_plots_import_without_matplotlib_and_never_touch_pyplot():
    code = (
        "import sys\n"
        "import sigmastar.automata.draw.graph, sigmastar.automata.draw.plots\n"
        "import sigmastar.automata.draw.plots\n"
        "assert 'matplotlib' not in sys.modules\n"
        "sigmastar.automata.draw.plots.plot_spectrum([2.0, 1.0])\n"
        "assert 'matplotlib.pyplot' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
