"""Pages: HTML for browsers and Jupyter, tables and figures as files, and report.json of a run."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from pegasos.program.files import write_bytes, write_text
from pegasos.program.pages.blocks import KINDS, Block, Section, Table
from pegasos.program.pages.rendering import HtmlPage, render
from pegasos.program.records import codec
from pegasos.program.tables.dataset import BadData
from pegasos.program.tables.messages import plain

#: Page of a run of tune, without its rendering.
NAME = "report.json"
#: Files of a run folder that are read for its page.
RECORDS = (NAME, "results.json", "summary.json")
#: Config of charts in files: black on white, whatever the reader of the page prefers.
_ON_PAPER = {
    "background": "white",
    "font": "sans-serif",
    "view": {"stroke": None},
    "axis": {"gridOpacity": 0.4},
}


class Page(HtmlPage):
    """Page of sections.

    `html` is its text, `save(path)` writes the page alone, and `write(folder)` also figures and
    tables.
    """

    def __init__(self, title: str, subtitle: str, sections: list[Section]) -> None:
        self.subtitle, self.sections = subtitle, [each for each in sections if each.blocks]
        super().__init__(title, render(title, subtitle, self.sections))

    def write(self, folder: str | Path, figures: bool = False, name: str = "report.html") -> Path:
        """Write the page, and with `figures` its charts and tables as files."""
        path = self.save(Path(folder) / name)
        if figures:
            self.write_figures(path.parent / "figures")
        return path

    def write_figures(self, folder: Path) -> None:
        """Write charts as PNG, SVG and PDF, and tables as CSV, Markdown and LaTeX.

        A chart takes about a second.
        """
        for table in self.tables():
            path = folder / _slug(table.name)
            write_text(path.with_name(f"{path.name}.csv"), table.as_csv())
            write_text(path.with_name(f"{path.name}.md"), table.as_markdown())
            write_text(path.with_name(f"{path.name}.tex"), table.as_latex())
        for name, spec in self.charts().items():
            _write_chart(folder / _slug(name), spec)

    def charts(self) -> dict[str, dict[str, Any]]:
        """Return all charts of the page by name."""
        return {name: spec for block in self._blocks() for name, spec in block.charts().items()}

    def tables(self) -> list[Table]:
        """Return all tables of the page, including those behind charts."""
        return [table for block in self._blocks() for table in block.tables() if table.rows]

    def section(self, name: str) -> Section:
        """Return a section by its name."""
        return next(each for each in self.sections if each.name == name)

    def _blocks(self) -> list[Block]:
        return [block for section in self.sections for block in section.blocks]

    def save_json(self, folder: str | Path) -> Path:
        """Write report.json, from which `read_page` makes the page again."""
        sections = [
            {
                "name": section.name,
                "title": section.title,
                "blocks": [{"kind": each.kind, **codec.to_json(each)} for each in section.blocks],
            }
            for section in self.sections
        ]
        found = {"title": self.title, "subtitle": self.subtitle, "sections": sections}
        return codec.save(Path(folder) / NAME, found)


def read_page(folder: Path) -> Page:
    """Return the page of a run folder, whose files may be damaged or inconsistent."""
    try:
        return _read_page(folder)
    except (BadData, OSError, MemoryError):
        raise
    except Exception as error:
        what = f"{type(error).__name__}: {plain(error)}"
        raise BadData(
            f"{folder}: its files do not fit together ({what}). "
            "Run the command that wrote them again."
        ) from error


def _read_page(folder: Path) -> Page:
    if (folder / "results.json").is_file():
        from pegasos.program.pages.study_page import study_page
        from pegasos.studies.results import StudyResult

        return study_page(codec.load(StudyResult, folder / "results.json"))
    if (folder / NAME).is_file():
        where = str(folder / NAME)
        found = codec.load(dict[str, Any], folder / NAME)
        kinds = {"title": str, "subtitle": str, "sections": list[dict[str, Any]]}
        title, subtitle, listed = (
            codec.from_json(kind, found.get(name), where) for name, kind in kinds.items()
        )
        sections = [
            Section(
                each["name"], each["title"], [_read_block(one, where) for one in each["blocks"]]
            )
            for each in listed
        ]
        return Page(title, subtitle, sections)
    if (folder / "summary.json").is_file():
        from pegasos.program.pages.sweep_page import search_page
        from pegasos.program.records.runs import TuneRecord

        return search_page(codec.load(TuneRecord, folder / "summary.json"))
    raise BadData(
        f"{folder} holds no results: a run of tune or study leaves results.json or summary.json "
        "in its folder."
    )


def _read_block(found: Any, where: str) -> Block:
    kind = KINDS.get(str(found.get("kind"))) if isinstance(found, dict) else None
    if kind is None:
        raise codec.OtherVersion(where, "a block of an unknown kind")
    return codec.from_json(kind, found, where)


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
        from pegasos.program.pages.labeled_rows import as_dataset
        from pegasos.program.pages.model_page import report_model
        from pegasos.program.pages.model_sections import check_shown
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


def _slug(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9.=-]+", "-", name).strip("-.")[:80] or "figure"


def _write_chart(path: Path, spec: dict[str, Any]) -> None:
    import vl_convert

    drawn = {**spec, "width": 480} if spec.get("width") == "container" else spec
    # Drawn once: the other two are made of it.
    picture = vl_convert.vegalite_to_svg(drawn, config=_ON_PAPER)
    write_text(path.with_name(f"{path.name}.svg"), picture)
    write_bytes(path.with_name(f"{path.name}.png"), vl_convert.svg_to_png(picture, scale=2))
    write_bytes(path.with_name(f"{path.name}.pdf"), vl_convert.svg_to_pdf(picture))
