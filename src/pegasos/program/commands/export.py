from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from pegasos.program.terminal import console
from pegasos.program.terminal.options import ModelFile, OutputOptions, ReadingOptions, option

if TYPE_CHECKING:
    from pegasos.program.jobs.exporting import ExportRecord

PLACE = 64
SHORT = "A model as an ONNX file, for other programs."


def command(
    model: ModelFile,
    out: Annotated[
        str, typer.Argument(metavar="FILE", help="The ONNX file to write, such as my.onnx.")
    ],
    reading: ReadingOptions,
    talking: OutputOptions,
    check: Annotated[
        str | None,
        option(
            "DATA",
            "Rows on which model and file are compared; needs onnxruntime. The first options read them.",
        ),
    ] = None,
    float32: Annotated[
        bool, option(None, "Numbers go in as float32; inside they are float64.", "--float32")
    ] = False,
) -> None:
    """A model as an ONNX file: every step from columns to labels, scores and probabilities, for programs without Python.

    \b
    Examples:
      pegasos export my.model my.onnx
      pegasos export my.model my.onnx --check my.csv

    Columns of numbers are one input X, rows x columns. Where some hold words, each column is an input of its own under its name,
    rows x 1: words as text, "" where one is missing; numbers with NaN; dates as days since 1970 began. Outputs: label, scores
    and, where the model has them, probabilities. The file's metadata_props name them all. It needs onnx: pip install
    '.[onnx]' in a clone.
    """
    from pegasos.program.jobs.exporting import export
    from pegasos.program.jobs.views import give

    found = export(model, out, float32, check, reading)
    give(found, talking.as_json, lambda: _show(found))


def _show(found: ExportRecord) -> None:
    console.heading(f"{found.onnx}: {found.bytes / 1e6:.2f} MB, from {found.model}", "")
    types = {"text": "string", "number": found.numbers, "date": f"{found.numbers}, days since 1970"}
    console.table(
        ("input", "type", "shape"),
        [(each.name, types[each.kind], f"rows x {len(each.columns)}") for each in found.inputs],
        left=3,
    )
    console.show("", f"outputs: {', '.join(found.outputs.values())}")
    if (checked := found.checked) is not None:
        told = f"checked: {checked.rows} rows, {checked.labels} labels differ, scores by at most {checked.scores:.2g}"
        console.show(
            told
            + (
                ""
                if checked.probabilities is None
                else f", probabilities by at most {checked.probabilities:.2g}"
            )
        )
