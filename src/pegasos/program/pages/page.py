"""Pages as HTML with styles, scripts and data; made from fitted objects or read from files."""

from __future__ import annotations

import contextlib
import functools
import html as escaping
import itertools
import json
import re
from dataclasses import dataclass
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Any

from pegasos.engine.runtime.compiling import cache_folder
from pegasos.program.files import write_bytes, write_text
from pegasos.program.pages.blocks import Block, Chart, Panel, Section, Table, Thresholds
from pegasos.program.pages.vega import Spec
from pegasos.program.pages.wording import unbroken
from pegasos.program.records import codec
from pegasos.program.tables.dataset import BadData
from pegasos.program.tables.messages import plain

#: Page of a run of tune, without its rendering.
NAME = "report.json"
#: Files of a run folder that are read for its page.
RECORDS = (NAME, "results.json", "summary.json")
#: Numbers that browsers would break at their hyphen.
_POWER = re.compile(r"[-.\d]*\de-\d+")
#: Config of charts in files: black on white, whatever the reader of the page prefers.
_ON_PAPER = {
    "background": "white",
    "font": "sans-serif",
    "view": {"stroke": None},
    "axis": {"gridOpacity": 0.4},
}


class HtmlPage:
    """Self-contained page; `save(path)` writes it, and Jupyter displays it."""

    def __init__(self, title: str, html: str) -> None:
        self.title, self.html = title, html

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.title!r}, {len(self.html) / 1e6:.1f} MB)"

    def _repr_html_(self) -> str:
        """Return the page in a frame, which isolates its styles and scripts."""
        look = 'style="width:100%;height:820px;border:0" sandbox="allow-scripts"'
        page, title = escaping.escape(self.html), escaping.escape(self.title)
        frame = f'<iframe srcdoc="{page}" {look} title="{title}"></iframe>'
        return f"{frame}<script>{_asset('notebook.js')}</script>"

    def save(self, path: str | Path) -> Path:
        """Write the page atomically."""
        write_text(path, self.html)
        return Path(path)


class Page(HtmlPage):
    """Page of sections; those without blocks are left out.

    `html` is its text, `save(path)` writes the page alone, and `write(folder)` also figures and
    tables.
    """

    def __init__(self, title: str, subtitle: str, sections: list[Section]) -> None:
        from markupsafe import Markup

        self.subtitle, self.sections = subtitle, [each for each in sections if each.blocks]
        self.blocks = [block for section in self.sections for block in section.blocks]
        data: dict[str, Any] = {"charts": {}}
        for block in self.blocks:
            if isinstance(block, Chart):
                data["charts"][block.name] = block.spec
            elif isinstance(block, Panel):
                data["panel"] = block.data
            elif isinstance(block, Thresholds):
                data["thresholds"] = {**block.data, "charts": block.figures}
        # Each script has its own scope, so that libraries and page share only names on window.
        both = _bundle(), _asset("page.js")
        given: dict[str, Any] = {"title": title, "subtitle": subtitle, "sections": self.sections}
        given["scripts"] = [Markup(f"(function () {{\n{each}\n}})();") for each in both]
        super().__init__(title, fill("page.html", data, evaluates=True, **given))

    def section(self, name: str) -> Section:
        """Return a section by its name."""
        return next(each for each in self.sections if each.name == name)

    def charts(self) -> dict[str, Spec]:
        """Return all charts by name, with their titles, which the page shows in captions."""
        found: dict[str, Spec] = {}
        for block in self.blocks:
            found |= getattr(block, "figures", {})
            if isinstance(block, Chart):
                found[block.name] = {**block.spec, "title": block.title}
        return found

    def tables(self) -> list[Table]:
        """Return all tables of the page, including those behind charts."""
        found = (
            each if isinstance(each, Table) else getattr(each, "table", None)
            for each in self.blocks
        )
        return [table for table in found if table is not None and table.rows]

    def save_json(self, folder: str | Path) -> Path:
        """Write report.json, from which `read_page` makes the page again."""
        found = {"title": self.title, "subtitle": self.subtitle, "sections": self.sections}
        return codec.save(Path(folder) / NAME, found)

    def write(self, folder: str | Path, figures: bool = False, name: str = "report.html") -> Path:
        """Write the page, and with `figures` its charts and tables as files."""
        path = self.save(Path(folder) / name)
        if figures:
            self._write_figures(path.parent / "figures")
        return path

    def _write_figures(self, folder: Path) -> None:
        """Write tables as CSV, Markdown and LaTeX, and charts, which take about a second each."""
        import vl_convert

        for table in self.tables():
            for suffix, text in table.as_files().items():
                write_text(folder / f"{_slug(table.name)}.{suffix}", text)
        for name, spec in self.charts().items():
            drawn, path = {**spec, "width": 480}, str(folder / _slug(name))
            if spec.get("width") != "container":
                drawn = spec
            picture = vl_convert.vegalite_to_svg(drawn, config=_ON_PAPER)
            write_text(f"{path}.svg", picture)
            write_bytes(f"{path}.png", vl_convert.svg_to_png(picture, scale=2))
            write_bytes(f"{path}.pdf", vl_convert.svg_to_pdf(picture))


def _slug(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9.=-]+", "-", name).strip("-.")[:80] or "figure"


# -- pages of fitted objects and of files ----------------------------------------------------------


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


# -- HTML ------------------------------------------------------------------------------------------


def fill(template: str, data: Any, **given: Any) -> str:
    """Return a template filled in; it escapes all values, and data are JSON."""
    import jinja2
    from markupsafe import Markup, escape

    def prose(text: str) -> Markup:  # units stay on one line: λ = 3, and numbers such as 1e-5
        return Markup(_POWER.sub(r'<span class="whole">\g<0></span>', str(escape(unbroken(text)))))

    def groups(blocks: list[Block]) -> list[tuple[str, list[Block]]]:  # that share a line
        def layout(block: Block) -> str:
            found: str = getattr(block, "layout", "")
            return found if found in ("half", "fit") else ""

        return [(name, list(group)) for name, group in itertools.groupby(blocks, key=layout)]

    loader = jinja2.FunctionLoader(_asset)
    environment = jinja2.Environment(
        loader=loader, autoescape=True, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters |= {"prose": prose, "groups": groups}
    safe = {"styles": [Markup(_asset("page.css"))], "data": Markup(embedded(data))}
    return str(environment.get_template(template).render(**given, **safe))


def embedded(value: Any) -> str:
    """Return JSON for a script element, without characters that could end it or begin a tag."""
    found = codec.to_json(value)
    text = json.dumps(found, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.translate({ord(mark): f"\\u{ord(mark):04x}" for mark in "<>&\u2028\u2029"})


def _asset(name: str) -> str:
    return files("pegasos.program.pages").joinpath("assets", name).read_text(encoding="utf-8")


@functools.cache
def _bundle() -> str:
    """Return Vega, Vega-Lite and Vega-Embed as one script, so that the page needs no network.

    Bundling takes seconds, so the result is cached beside the compiled code.
    """
    kept = cache_folder() / f"vega-{version('vl-convert-python')}.js"
    with contextlib.suppress(OSError, UnicodeDecodeError):
        return kept.read_text(encoding="utf-8")
    import vl_convert

    # No text of the libraries may end the script element or open a comment in it.
    script = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")
    script = script.replace("</script", "<\\/script").replace("<!--", "<\\!--")
    with contextlib.suppress(OSError):
        write_text(kept, script)
    return script
