"""Build pages: HTML for browsers and Jupyter, and tables and figures as files."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from pegasos.program.files import write_bytes, write_text
from pegasos.program.pages import model_page, rendering, study_page, sweep_page
from pegasos.program.pages.blocks import Block, Section, Table
from pegasos.program.pages.html_page import HtmlPage
from pegasos.program.pages.run_folders import read_run
from pegasos.program.records.pages import PageRecord
from pegasos.program.tables.dataset import BadData
from pegasos.program.tables.messages import plain
from pegasos.studies.results import StudyResult

#: The look of charts in files: black on white, whatever the page's reader prefers.
_ON_PAPER = {
    "background": "white",
    "font": "sans-serif",
    "view": {"stroke": None},
    "axis": {"gridOpacity": 0.4},
}


class Page(HtmlPage):
    """Page of sections: `html`, `save(path)` for the page alone, `write(folder)` with figures and tables."""

    def __init__(self, title: str, subtitle: str, sections: list[Section]) -> None:
        super().__init__(title, rendering.render(title, subtitle, sections))
        self.sections = sections

    def write(self, folder: str | Path, figures: bool = False, name: str = "report.html") -> Path:
        """Write the page, and with `figures` its charts as PNG, SVG and PDF and its tables as CSV, Markdown and LaTeX."""
        path = self.save(Path(folder) / name)
        if figures:
            self.write_figures(path.parent / "figures")
        return path

    def write_figures(self, folder: Path) -> list[Path]:
        """Write all charts and tables as files; a chart takes about a second."""
        written = []
        for table in self.tables():
            for ending, text in (
                ("csv", table.as_csv()),
                ("md", table.as_markdown()),
                ("tex", table.as_latex()),
            ):
                written.append(folder / f"{_slug(table.name)}.{ending}")
                write_text(written[-1], text)
        for name, spec in self.charts().items():
            written += _write_chart(folder / _slug(name), spec)
        return written

    def charts(self) -> dict[str, dict[str, Any]]:
        """Return every chart of the page by its name."""
        return {name: spec for block in self._blocks() for name, spec in block.charts().items()}

    def tables(self) -> list[Table]:
        """Return all tables, including those behind charts."""
        return [table for block in self._blocks() for table in block.tables() if table.rows]

    def _blocks(self) -> list[Block]:
        return [block for section in self.sections for block in section.blocks]


def make_page(record: PageRecord | StudyResult) -> Page:
    """Return the page of a record."""
    if isinstance(record, StudyResult):
        return Page(*study_page.build(record))
    return Page(*(sweep_page if record.kind == "tune" else model_page).build(record))


def report(thing: Any, X: Any = None, y: Any = None, **facts: Any) -> Page:
    """Return a page about a fitted SweepCV, learner or pipeline, the folder of a run, or a model file.

    Parameters
    ----------
    thing : SweepCV, learner, pipeline, str or Path
        What the page is about.
    X, y : arrays or frames, default=None
        Rows that a sweep was fitted to, or rows on which a model is evaluated; with them the page has confusion matrices,
        mistakes, a map and statistics of features.
    **facts
        Facts for the text of the page: name (of the data), source (a file or a named set, for command lines), columns (names
        of features), image (height, width), seconds, command.

    Returns
    -------
    Page
        Jupyter displays it; `save(path)` writes it, `write(folder, figures=True)` also writes its figures and tables.
    """
    if not isinstance(thing, str | Path):
        return make_page(_record_fitted(thing, X, y, facts))
    path = Path(thing)
    if not path.exists():
        raise BadData(
            f"{path} does not exist: give the folder of a run of tune or study, or a model file."
        )
    if path.is_dir():
        return _read_page(path)
    from pegasos.program.pages.model_files import read_model_file

    return make_page(read_model_file(path, X, y, facts))


def _record_fitted(thing: Any, X: Any, y: Any, facts: dict[str, Any]) -> PageRecord:
    """Return the record of a fitted search, learner or pipeline; imports are local because pages of records do not need them."""
    from pegasos.program.pages.fitted_facts import check_shown
    from pegasos.program.pages.recording import record_model, record_sweep
    from pegasos.program.pages.row_samples import as_dataset
    from pegasos.search.sweep import SweepCV

    check_shown(
        thing, "report shows a SweepCV, a learner of pegasos, a folder of a run or a model file"
    )
    record = record_sweep if isinstance(thing, SweepCV) else record_model
    return record(thing, as_dataset(X, y, facts), **facts)


def _read_page(folder: Path) -> Page:
    """Return the page of a run folder, whose records may be damaged or inconsistent."""
    try:
        return make_page(read_run(folder))
    except (BadData, OSError, MemoryError):
        raise
    except Exception as error:
        what = f"{type(error).__name__}: {plain(error)}"
        raise BadData(
            f"{folder}: its records do not fit together ({what}). Run the command that wrote them again."
        ) from error


def write_report(folder: str | Path, figures: bool = False) -> Path:
    """Write report.html into the folder of a run of tune or study; return its path."""
    return make_page(read_run(Path(folder))).write(folder, figures=figures)


def _slug(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9.=-]+", "-", name).strip("-.")[:80] or "figure"


def _write_chart(path: Path, spec: dict[str, Any]) -> list[Path]:
    import vl_convert

    drawn = {**spec, "width": 480} if spec.get("width") == "container" else spec
    svg, png, pdf = (path.with_name(f"{path.name}.{ending}") for ending in ("svg", "png", "pdf"))
    picture = vl_convert.vegalite_to_svg(
        drawn, config=_ON_PAPER
    )  # drawn once: the other two are made of it
    write_text(svg, picture)
    write_bytes(png, vl_convert.svg_to_png(picture, scale=2))
    write_bytes(pdf, vl_convert.svg_to_pdf(picture))
    return [svg, png, pdf]
