"""From a thing to its page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pegasos.program.pages.page import Page, make_page
from pegasos.program.pages.recording import record_model, record_sweep
from pegasos.program.pages.row_samples import as_dataset
from pegasos.program.pages.run_folders import read_model_file, read_run
from pegasos.program.tables.dataset import BadData
from pegasos.search.sweep import SweepCV


def report(thing: Any, X: Any = None, y: Any = None, **facts: Any) -> Page:
    """A page about a fitted SweepCV, a fitted learner or pipeline, a folder of a run, or a model file.

    X, y: the rows that a sweep was fitted to, or rows on which a model is looked at: with them the page has confusions,
    mistakes, a map and statistics of features. `facts` are put into the page's text: name (of the data), source (a file or a
    named set, for command lines), columns (names of features), image (height, width), seconds, command.
    """
    if not isinstance(thing, str | Path):
        record = record_sweep if isinstance(thing, SweepCV) else record_model
        return make_page(record(thing, as_dataset(X, y, facts), **facts))
    path = Path(thing)
    if not path.exists():
        raise BadData(f"{path} does not exist: give the folder of a run of tune or study, or a model file.")
    if path.is_dir():
        return make_page(*read_run(path))
    return make_page(read_model_file(path, X, y, facts))


def write_report(folder: str | Path, figures: bool = False) -> Path:
    """Write report.html into a run folder that tune or study has filled; answers its path."""
    return report(folder).write(folder, figures=figures)
