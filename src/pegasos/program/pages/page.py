"""Pages of runs and models: made from fitted objects, and read from files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pegasos.program.pages.blocks import Section
from pegasos.program.pages.rendering import NAME, Page
from pegasos.program.records import codec
from pegasos.program.tables.dataset import BadData
from pegasos.program.tables.messages import plain

#: Files of a run folder that are read for its page.
RECORDS = (NAME, "results.json", "summary.json")


@dataclass
class _SavedPage:
    """Contents of report.json."""

    title: str
    subtitle: str
    sections: list[Section]


def read_page(folder: Path) -> Page:
    """Return the page of a run folder, whose files may be damaged or inconsistent."""
    study, saved, summary = (folder / name for name in ("results.json", NAME, "summary.json"))
    try:
        if study.is_file():
            from pegasos.program.pages.study_page import study_page
            from pegasos.studies.results import StudyResult

            return study_page(codec.load(StudyResult, study))
        if saved.is_file():
            found = codec.load(_SavedPage, saved)
            return Page(found.title, found.subtitle, found.sections)
        if summary.is_file():
            from pegasos.program.pages.sweep_page import search_page
            from pegasos.program.records.runs import TuneRecord

            return search_page(codec.load(TuneRecord, summary))
    except (BadData, OSError, MemoryError):
        raise
    except Exception as error:
        what = f"{type(error).__name__}: {plain(error)}"
        raise BadData(
            f"{folder}: its files do not fit together ({what}). "
            "Run the command that wrote them again."
        ) from error
    raise BadData(
        f"{folder} holds no results: a run of tune or study leaves results.json or summary.json "
        "in its folder."
    )


def report(thing: Any, X: Any = None, y: Any = None, **facts: Any) -> Page:
    """Return a page about a fitted search or model, the folder of a run, or a model file.

    Parameters
    ----------
    thing : SweepCV, learner, pipeline, str or Path
        Subject of the page.
    X, y : arrays or frames, default=None
        Rows that a sweep was fitted to, or rows on which a model is evaluated; with them the page
        has confusion matrices, mistakes, a map and statistics of features.
    **facts
        Facts for the text of the page: name (of the data), source (a file or a named set, for
        command lines), columns (names of features), image (height, width), seconds, command.

    Returns
    -------
    Page
        Jupyter displays it; `save(path)` writes it, `write(folder, figures=True)` also writes its
        figures and tables.

    See Also
    --------
    pegasos.explain : Importance, effects and support vectors as numbers.
    pegasos.plot : Single charts for notebooks.

    Examples
    --------
    >>> from pegasos import SDCA, load_set
    >>> X, y = load_set("moons", return_X_y=True)
    >>> page = report(SDCA(random_state=0).fit(X, y), X, y, name="moons")
    >>> "<!doctype html>" in page.html.lower()
    True
    """
    if not isinstance(thing, str | Path):
        from pegasos.program.pages.labeled_rows import as_dataset, check_shown
        from pegasos.program.pages.model_page import report_model
        from pegasos.program.pages.sweep_page import report_search
        from pegasos.search.sweep import SweepCV

        what = "report shows a SweepCV, a learner of pegasos, a folder of a run or a model file"
        check_shown(thing, what)
        dataset = as_dataset(X, y, facts)
        show = report_search if isinstance(thing, SweepCV) else report_model
        return show(thing, dataset, **facts)
    path = Path(thing)
    if not path.exists():
        raise BadData(
            f"{path} does not exist: give the folder of a run of tune or study, or a model file."
        )
    if path.is_dir():
        return read_page(path)
    from pegasos.program.pages.model_page import report_file

    return report_file(path, X, y, facts)


def write_report(folder: str | Path, figures: bool = False) -> Path:
    """Write report.html into the folder of a run of tune or study; return its path."""
    return read_page(Path(folder)).write(folder, figures=figures)
