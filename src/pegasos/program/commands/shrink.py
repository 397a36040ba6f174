from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from pegasos.program.terminal import console
from pegasos.program.terminal.options import ModelFile, OutputOptions, ReadingOptions, option

if TYPE_CHECKING:
    from pegasos.program.jobs.shrinking import ShrinkRecord

PLACE = 62
SHORT = "A kernel model with fewer support vectors, and what that costs."


def command(
    model: ModelFile,
    reading: ReadingOptions,
    talking: OutputOptions,
    data: Annotated[
        str | None,
        typer.Argument(
            metavar="[DATA]",
            help="The rows of training. Default: those that the model's card names.",
        ),
    ] = None,
    keep: Annotated[
        int | None,
        option("N", "Support vectors to keep. Without it only the curve is shown.", min=1),
    ] = None,
    out: Annotated[
        str | None, option("FILE", "The smaller model. Default: MODEL-N.model.", "--out", "-o")
    ] = None,
    at_most: Annotated[
        float | None,
        option(
            "SHARE",
            "Write nothing if the held-out error rises by more than this, such as 0.005.",
            min=0,
            max=1,
        ),
    ] = None,
    seed: Annotated[
        int, option("N", "Seed of the rows that are set aside.", min=0, max=2**32 - 1)
    ] = 0,
) -> None:
    """A kernel model with fewer support vectors: smaller and faster, at a price that is told before it is paid.

    \b
    Examples:
      pegasos shrink my.model                       the error at every size; nothing is written
      pegasos shrink my.model --keep 200            the same, then my-200.model
      pegasos shrink my.model my.csv --keep 200 --at-most 0.005 -o small.model

    The support vectors that carry most of what was learned are kept, and the model's objective is solved exactly for them. Errors
    are counted on rows of DATA that the model does not know; if it knows all, a fifth is set aside, and model and smaller ones
    are fitted without them to count. The model that is written knows all its rows. A model that was trained with --weight needs
    it here, too.
    """
    from pegasos.program.jobs.shrinking import shrink
    from pegasos.program.jobs.views import give

    found = shrink(
        model,
        data,
        keep,
        out,
        at_most,
        seed,
        reading,
        (lambda each: None) if talking.as_json else _show,
    )
    give(found, talking.as_json, lambda: _show_file(found))


def _show(found: ShrinkRecord) -> None:
    curve, before = found.curve, found.curve.before
    kind = (
        "set aside, the model fitted without them"
        if curve.set_aside
        else "that the model does not know"
    )
    console.heading(f"{found.model}: error on {curve.rows} rows of {found.data} {kind}", "")
    rows = [
        (
            each.support_vectors,
            f"{each.support_vectors / before.support_vectors:.1%}".replace("%", " %"),
            console.percent(each.error.error),
            f"{console.percent(each.error.low)} to {console.percent(each.error.high)}",
            "" if each is before else f"{100 * (each.error.error - before.error.error):+.2f} %",
            "" if each is before else f"{each.worse} : {each.better}",
        )
        for each in (*curve.points, before)
    ]
    console.table(
        ("support vectors", "share", "error", "95 % interval", "more", "newly wrong : newly right"),
        rows,
        left=0,
    )


def _show_file(found: ShrinkRecord) -> None:
    if found.written is not None and found.bytes is not None:
        price = (
            ""
            if found.price is None
            else f", {100 * found.price:+.2f} % more rows wrong than before"
        )
        console.show(
            "",
            f"written: {found.written}, {found.bytes / 1e6:.2f} MB, {found.keep} support vectors{price}",
        )
    else:
        console.show("", "Nothing was written; --keep N writes a model of that size.")
