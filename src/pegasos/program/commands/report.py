"""Write the page of a run or a model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from pegasos.program.errors import UsageError
from pegasos.program.terminal import console
from pegasos.program.terminal.options import ReadingOptions, option

_FIGURES = "Also write charts as PNG, SVG, PDF and tables as CSV, Markdown, LaTeX to figures/."


def command(
    run: Annotated[
        str, typer.Argument(metavar="RUN", help="Folder of tune or study, or model file.")
    ],
    reading: ReadingOptions,
    data: Annotated[
        str | None, option("DATA", "Labeled rows to show with a model file.", "--data")
    ] = None,
    out: Annotated[
        str | None,
        option("FILE", "Page to write. Default: report.html in the folder.", "--out", "-o"),
    ] = None,
    figures: Annotated[bool, option(None, _FIGURES, "--figures")] = False,
) -> dict[str, Any]:
    """Write the HTML page of a run or a model.

    Examples
    --------
      pegasos report runs/my
      pegasos report runs/my -o my.html --figures
      pegasos report my.model --data my.csv -o model.html
    """
    from pegasos.program.pages import report
    from pegasos.program.pages.page import RECORDS

    place = Path(run)
    if data is not None and not place.is_file():
        raise UsageError("--data is for a model file; the folder of a run has all data it needs.")
    usual = place / "report.html" if place.is_dir() else place.with_suffix(".html")
    target = usual if out is None else Path(out)
    read = [str(place / each) for each in RECORDS] if place.is_dir() else [run]
    console.check_output(str(target), *read, *([] if data is None else [data]), what="a page")
    rows: dict[str, Any] = {}
    if data is not None:
        from pegasos.program.saved_models import SavedModel  # loads learners

        rows = {"X": SavedModel.open(run).labelled_rows(data, reading), "source": data}
    with console.working(f"writing {target}"):
        page = report(run, **rows)
        written = page.write(target.parent, figures=figures, name=target.name)
    found: dict[str, Any] = {"report": str(written), "bytes": written.stat().st_size}
    return found | ({"figures": str(written.parent / "figures")} if figures else {})


def show(found: dict[str, Any]) -> None:
    """Print the paths of the page and the charts."""
    charts = f"; {found['figures']}/" if "figures" in found else ""
    console.show(f"written: {found['report']}, {found['bytes'] / 1e6:.1f} MB{charts}")
