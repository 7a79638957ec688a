"""Sphinx configuration."""

from __future__ import annotations

import os
import sys
from pathlib import Path

# Without compilation kernels are plain functions, which autodoc can show.
os.environ["NUMBA_DISABLE_JIT"] = "1"
sys.path.insert(0, str(Path(__file__).parent))

import docstrings
import figures
import gallery
import measured
import pages
import reference

import sigmastar

project = "Sigmastar"
author = "The Sigmastar developers"
project_copyright = "2026, The Sigmastar developers"
version = release = sigmastar.__version__

extensions = ["sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.viewcode", "myst_nb"]
exclude_patterns = ["_build"]

html_theme = "pydata_sphinx_theme"
html_title = "Sigmastar"
html_static_path = ["_static"]
html_css_files = ["pages.css"]
html_theme_options = {"show_prev_next": False, "navigation_with_keys": False, "navbar_center": []}
html_context = {"default_mode": "auto"}  # light or dark, as the system has it; without it pages complain
html_sidebars = {"**": ["globaltoc.html"]}

myst_enable_extensions = ["dollarmath", "deflist", "colon_fence"]
myst_heading_anchors = 3
nb_execution_mode = "off"
html_math_renderer = "mathml"  # shown by browsers themselves: nothing is fetched

napoleon_google_docstring = False
suppress_warnings = ["ref.python"]  # attributes of one name in several classes
napoleon_use_rtype = False
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_default_options = {"members": True, "undoc-members": True}


def setup(app):
    pages.setup(app)
    app.connect("builder-inited", reference.write)
    app.connect("builder-inited", figures.write)
    app.connect("builder-inited", measured.write)
    app.connect("builder-inited", gallery.write)
    app.connect("autodoc-process-docstring", docstrings.process, priority=400)  # before napoleon's 500
