"""pegasos report."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from pegasos.program.terminal import console
from pegasos.program.terminal.options import OutputOptions, ReadingOptions

PLACE = 68
SHORT = "A run or a model as a page to read."


def command(
    run: Annotated[str, typer.Argument(metavar="RUN", help="Folder that tune or study wrote, or a model file.")],
    reading: ReadingOptions,
    talking: OutputOptions,
    data: Annotated[
        str | None, typer.Option("--data", metavar="DATA", help="With a model file: labelled rows to look at.")
    ] = None,
    out: Annotated[
        str | None, typer.Option("--out", "-o", metavar="FILE", help="The page. Default: report.html in the folder.")
    ] = None,
    figures: Annotated[
        bool, typer.Option("--figures", help="Also charts as PNG, SVG, PDF and tables as CSV, Markdown, LaTeX, in figures/.")
    ] = False,
) -> None:
    """One page that shows what the numbers of a run or a model mean; it opens from disk and needs no network.

    \b
    Examples:
      pegasos report runs/my
      pegasos report runs/my -o my.html --figures
      pegasos report my.model --data my.csv -o model.html
    """
    from pegasos.program.jobs import outputs
    from pegasos.program.pages import report
    from pegasos.program.terminal.usage_error import UsageError

    if data is not None and not Path(run).is_file():
        raise UsageError("--data is for a model file; a run folder has all that its page shows.")
    target = Path(out) if out is not None else _place(Path(run))
    outputs.check_file(str(target), run, *([] if data is None else [data]))
    rows = None if data is None else _rows(run, data, reading)
    with console.working(f"writing {target}"):
        page = report(run) if rows is None else report(run, rows, source=data)
        written = page.write(target.parent, figures=figures, name=target.name)
    found: dict[str, Any] = {"report": str(written), "bytes": written.stat().st_size}
    if figures:
        found["figures"] = str(written.parent / "figures")
    if talking.as_json:
        console.show_json(found)
        return
    console.show(f"written: {written}, {found['bytes'] / 1e6:.1f} MB" + (f"; {found['figures']}/" if figures else ""))


def _place(run: Path) -> Path:
    return run / "report.html" if run.is_dir() else run.with_suffix(".html")


def _rows(path: str, data: str, reading: ReadingOptions) -> Any:
    """Labelled rows with the columns that the model wants."""
    from dataclasses import replace

    import numpy as np
    from scipy import sparse

    from pegasos.program.jobs.model_cards import SavedModel
    from pegasos.program.tables.dataset import BadData

    saved = SavedModel.open(path)
    parts = list(saved.rows(data, reading))
    if not parts:
        raise BadData(f"{data} has no rows.")
    if any(part.y is None for part in parts):
        raise BadData(f"{data} has no labels: say with --label which column holds them.")
    X: Any = [part.X for part in parts]
    if parts[0].has_frame:
        import polars

        X = polars.concat(X)
    else:
        X = sparse.vstack(X, format="csr") if sparse.issparse(X[0]) else np.concatenate(X)
    y, image = np.concatenate([part.labels for part in parts]), saved.card.image or parts[0].image
    return replace(parts[0], X=X, y=y, test=None, image=image, columns=saved.columns)
