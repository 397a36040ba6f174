"""Configuration of the documentation site: Markdown pages, reference and executed examples."""

from __future__ import annotations

import logging
import re
from importlib.metadata import version as installed
from typing import Any

project = "pegasos"
author = "the pegasos developers"
release = version = installed("pegasos")

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "numpydoc",
    "sphinx_gallery.gen_gallery",
]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["examples", "sg_execution_times.rst"]
html_theme = "furo"
html_title = "pegasos"
html_extra_path = ["play.html"]
myst_heading_anchors = 4
myst_enable_extensions = ["dollarmath"]
autosummary_generate = True
autodoc_typehints = "none"
numpydoc_show_class_members = False
sphinx_gallery_conf = {
    "examples_dirs": "examples",
    "gallery_dirs": "gallery",
    "filename_pattern": "plot_",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "show_memory": False,
    "min_reported_time": 1e9,
}
templates_path = ["_templates"]
logging.getLogger("pegasos").setLevel(
    logging.WARNING
)  # the gallery enables all loggers: a line for every fit


def as_plain_text(
    app: Any, what: str, name: str, thing: Any, options: Any, lines: list[str]
) -> None:
    """Escape docstrings for Sphinx: `code` in single backquotes, plan_ and |z| are literal."""
    for number, line in enumerate(lines):
        if (
            line.lstrip().startswith((">>>", "...")) or "``" in line
        ):  # examples, and what is written for Sphinx already
            continue
        pieces = line.split("`")
        if len(pieces) % 2:  # every second piece is code
            pieces[0::2] = [
                re.sub(r"(?<=\w)_(?!\w)", r"\_", piece).replace("|", r"\|")
                for piece in pieces[0::2]
            ]
            line = "``".join(pieces)
        lines[number] = line


#: Methods that only the search and the program call.
INSIDE = {"labels_of", "probabilities_of"}


def leave_out(app: Any, what: str, name: str, thing: Any, skip: bool, options: Any) -> bool | None:
    """Leave out internal methods and members inherited from scikit-learn."""
    ours = (getattr(thing, "__module__", None) or "pegasos").startswith("pegasos")
    return True if name in INSIDE or (what == "class" and not ours) else None


def setup(app: Any) -> None:
    """Connect the hooks of this file."""
    app.connect("autodoc-skip-member", leave_out)
    app.connect("autodoc-process-docstring", as_plain_text, priority=400)  # before numpydoc
