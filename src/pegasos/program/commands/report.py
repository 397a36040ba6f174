from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from pegasos.program.errors import UsageError
from pegasos.program.terminal import console
from pegasos.program.terminal.options import OutputOptions, ReadingOptions, option

PLACE = 68
SHORT = "A run or a model as a page to read."


def command(
    run: Annotated[
        str, typer.Argument(metavar="RUN", help="Folder that tune or study wrote, or a model file.")
    ],
    reading: ReadingOptions,
    talking: OutputOptions,
    data: Annotated[
        str | None, option("DATA", "With a model file: labelled rows to look at.", "--data")
    ] = None,
    out: Annotated[
        str | None, option("FILE", "The page. Default: report.html in the folder.", "--out", "-o")
    ] = None,
    figures: Annotated[
        bool,
        option(
            None,
            "Also charts as PNG, SVG, PDF and tables as CSV, Markdown, LaTeX, in figures/.",
            "--figures",
        ),
    ] = False,
) -> None:
    """One page that shows what the numbers of a run or a model mean; it opens from disk and needs no network.

    \b
    Examples:
      pegasos report runs/my
      pegasos report runs/my -o my.html --figures
      pegasos report my.model --data my.csv -o model.html
    """
    from pegasos.program.pages import report
    from pegasos.program.pages.run_folders import RECORDS
    from pegasos.program.terminal import outputs
    from pegasos.program.views import give

    if data is not None and not Path(run).is_file():
        raise UsageError("--data is for a model file; a run folder has all that its page shows.")
    place = Path(run)
    target = (
        Path(out)
        if out is not None
        else place / "report.html"
        if place.is_dir()
        else place.with_suffix(".html")
    )
    read = [str(place / each) for each in RECORDS] if place.is_dir() else [run]
    outputs.check_file(str(target), *read, *([] if data is None else [data]), what="a page")
    rows: dict[str, Any] = (
        {} if data is None else {"X": _labelled_rows(run, data, reading), "source": data}
    )
    with console.working(f"writing {target}"):
        page = report(run, **rows)
        written = page.write(target.parent, figures=figures, name=target.name)
    found: dict[str, Any] = {"report": str(written), "bytes": written.stat().st_size}
    if figures:
        found["figures"] = str(written.parent / "figures")
    more = f"; {found['figures']}/" if figures else ""
    give(
        found,
        talking.as_json,
        lambda: console.show(f"written: {written}, {found['bytes'] / 1e6:.1f} MB{more}"),
    )


def _labelled_rows(model: str, data: str, reading: ReadingOptions) -> Any:
    from pegasos.program.saved_models import SavedModel

    return SavedModel.open(model).labelled_rows(data, reading)
