"""Write a page that runs the algorithms in the browser."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from pegasos.program.terminal import console
from pegasos.program.terminal.options import ReadingOptions, option


def command(
    reading: ReadingOptions,
    data: Annotated[
        str | None, typer.Argument(metavar="DATA", help="Labeled rows: file, folder or named set.")
    ] = None,
    out: Annotated[str, option("FILE", "Page to write.", "--out", "-o")] = "play.html",
) -> dict[str, Any]:
    """Write a page that runs the algorithms step by step.

    Examples
    --------
      pegasos play
      pegasos play my.csv -o my-play.html
      pegasos play digits

    The page runs Perceptron, Pegasos and SDCA in the browser, without a network. Its points are
    generated (moons, circles, xor, blobs), drawn by hand, or rows of DATA: two features, or the
    first two principal components. Lessons show λ, variances, averages, draws and duality gaps.
    """
    from pegasos.program.datasets import load
    from pegasos.program.pages.play_page import play

    console.check_output(out, *([] if data is None else [data]), what="a page")
    written = play(None if data is None else load(data, reading)).save(out)
    return {"page": str(written), "bytes": written.stat().st_size}


def show(found: dict[str, Any]) -> None:
    """Print the path of the page."""
    console.show(f"written: {found['page']}, {found['bytes'] / 1e3:.0f} KB; open it in a browser")
