"""Write a model as an ONNX file, and compare the two row by row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from pegasos.program.errors import UsageError
from pegasos.program.tables.dataset import take
from pegasos.program.terminal import console
from pegasos.program.terminal.options import ModelFile, ReadingOptions, option

if TYPE_CHECKING:
    from pegasos.program.onnxfile import Exported
    from pegasos.program.onnxfile.model import Agreement
    from pegasos.program.saved_models import SavedModel

#: Rows per call: an ONNX file holds the kernel between all rows of a call and all support vectors.
_ROWS_PER_CALL = 1000


def command(
    model: ModelFile,
    out: Annotated[
        str, typer.Argument(metavar="FILE", help="The ONNX file to write, such as my.onnx.")
    ],
    reading: ReadingOptions,
    check: Annotated[
        str | None,
        option(
            "DATA",
            "Rows on which the model and the file are compared; needs onnxruntime. "
            "The options for reading apply to them.",
        ),
    ] = None,
    float32: Annotated[
        bool, option(None, "Numeric inputs are float32; computations are float64.", "--float32")
    ] = False,
) -> dict[str, Any]:
    """Write a model with its preprocessing as an ONNX file.

    Examples
    --------
      pegasos export my.model my.onnx
      pegasos export my.model my.onnx --check my.csv

    Numeric columns form one input X, rows x columns. If some columns hold text, each column is an
    input of its own, rows x 1: text with "" for a missing value, numbers with NaN, dates as days
    since 1970-01-01. Outputs: label, scores and, if the model has them, probabilities. The file's
    metadata_props name all inputs and outputs. Requires onnx: pip install '.[onnx]' in a clone.
    """
    from pegasos.program.onnxfile import export_onnx
    from pegasos.program.saved_models import SavedModel

    console.check_output(out, model, *([] if check is None else [check]), what="a model")
    saved = SavedModel.open(model)
    if check is None and reading != ReadingOptions():
        raise UsageError("options for reading apply to the rows of --check, which is missing.")
    exported = export_onnx(model, out, float32=float32)
    names = ("bytes", "inputs", "outputs", "classes", "numbers")
    found = {"model": model, "onnx": out, **{name: getattr(exported, name) for name in names}}
    return found | {"checked": check and _compare(saved, exported, check, reading)}


def _compare(
    saved: SavedModel, exported: Exported, data: str, reading: ReadingOptions
) -> Agreement:
    from pegasos.program.onnxfile.model import Agreement, OnnxModel

    model, found = OnnxModel(exported), Agreement()
    with console.working(f"comparing on {data}"):
        for part in saved.rows(data, reading):
            for start in range(0, len(part), _ROWS_PER_CALL):
                some = take(part, np.arange(start, min(start + _ROWS_PER_CALL, len(part))))
                scores = saved.scores(some)
                p = saved.probabilities(some, scores)
                found += model.agreement(saved.learner, some.X, scores, p)
    return found


def show(found: dict[str, Any]) -> None:
    """Print inputs, outputs and the result of the comparison."""
    console.heading(f"{found['onnx']}: {found['bytes'] / 1e6:.2f} MB, from {found['model']}", "")
    number = found["numbers"]
    types = {"text": "string", "number": number, "date": f"{number}, days since 1970"}
    inputs = [
        (each.name, types[each.kind], f"rows x {len(each.columns)}") for each in found["inputs"]
    ]
    console.table(("input", "type", "shape"), inputs, left=3)
    console.show("", f"outputs: {', '.join(found['outputs'].values())}")
    if (checked := found["checked"]) is not None:
        text = f"{checked.labels} labels differ, scores by at most {checked.scores:.2g}"
        if checked.probabilities is not None:
            text += f", probabilities by at most {checked.probabilities:.2g}"
        console.show(f"checked: {checked.rows} rows, {text}")
