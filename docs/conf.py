"""Sphinx configuration."""

from __future__ import annotations

import os
import sys
from pathlib import Path

# Without compilation kernels are plain functions, which autodoc can show.
os.environ["NUMBA_DISABLE_JIT"] = "1"
sys.path.insert(0, str(Path(__file__).parent))

import docstrings

import sigmastar

project = "Sigmastar"
author = "The Sigmastar developers"
project_copyright = "2026, The Sigmastar developers"
version = release = sigmastar.__version__

extensions = ["sphinx.ext.autodoc", "sphinx.ext.autosummary", "sphinx.ext.viewcode", "myst_nb"]
exclude_patterns = ["_build"]
templates_path = ["_templates"]

html_theme = "pydata_sphinx_theme"
html_title = "Sigmastar"
html_theme_options = {"show_prev_next": False, "navigation_with_keys": False}

myst_enable_extensions = ["dollarmath", "deflist"]
myst_heading_anchors = 3
nb_execution_mode = "off"

autosummary_generate = True
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_default_options = {"members": True, "undoc-members": True}
# Shown under their own names instead of spelled out as arrays.
_ALIASES = (
    "Array",
    "Codes",
    "Integers",
    "Keys",
    "Matrix",
    "Nodes",
    "Offsets",
    "Slices",
    "Sort",
    "Symbol",
    "Vector",
)
autodoc_type_aliases = {name: name for name in _ALIASES}


def setup(app):
    app.connect("autodoc-process-docstring", docstrings.process)
