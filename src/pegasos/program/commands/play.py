from __future__ import annotations

from typing import Annotated, Any

import typer

from pegasos.program.terminal import console
from pegasos.program.terminal.options import OutputOptions, ReadingOptions, option

PLACE = 75
SHORT = "See the algorithms work: a page to play with."


def command(
    reading: ReadingOptions,
    talking: OutputOptions,
    data: Annotated[
        str | None,
        typer.Argument(
            metavar="DATA", help="Labelled rows for its points: a file, a folder, or a named set."
        ),
    ] = None,
    out: Annotated[str, option("FILE", "The page.", "--out", "-o")] = "play.html",
) -> None:
    """One page that runs Perceptron, Pegasos and SDCA in the browser, step by step; it opens from disk and needs no network.

    Points are generated (moons, circles, xor, blobs), drawn by hand, or the rows of DATA: its two features, or its first two
    principal components. A dozen lessons show what λ, widths, averages, draws and duality gaps do.

    \b
    Examples:
      pegasos play
      pegasos play my.csv -o my-play.html
      pegasos play digits
    """
    from pegasos.program.datasets import load
    from pegasos.program.pages.play_page import play
    from pegasos.program.terminal import outputs
    from pegasos.program.views import give

    outputs.check_file(out, *([] if data is None else [data]), what="a page")
    page = play(None if data is None else load(data, reading))
    written = page.save(out)
    found: dict[str, Any] = {"page": str(written), "bytes": written.stat().st_size}
    give(
        found,
        talking.as_json,
        lambda: console.show(
            f"written: {written}, {found['bytes'] / 1e3:.0f} KB; open it in a browser"
        ),
    )
