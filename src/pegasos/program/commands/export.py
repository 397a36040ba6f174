"""Write a model as an ONNX file, and compare the two row by row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pegasos.program.errors import UsageError
from pegasos.program.terminal import console
from pegasos.program.terminal.options import ModelFile, ReadingOptions, option

if TYPE_CHECKING:
    from pegasos.program.onnxfile import Exported, Input
    from pegasos.program.onnxfile.running import Agreement
    from pegasos.program.saved_models import SavedModel

#: Rows per call: an ONNX file holds the kernel between all rows of a call and all support vectors.
_ROWS_PER_CALL = 1000


@dataclass(frozen=True)
class ExportRecord:
    """Result of `export`; `checked` is None without --check."""

    model: str
    onnx: str
    bytes: int
    inputs: list[Input]
    outputs: dict[str, str]
    classes: list[Any]
    numbers: str
    checked: Agreement | None = None


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
) -> ExportRecord:
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
    from pegasos.program.terminal import outputs

    outputs.check_file(out, model, *([] if check is None else [check]), what="a model")
    saved = SavedModel.open(model)
    if check is None and reading != ReadingOptions():
        raise UsageError("options for reading apply to the rows of --check, which is missing.")
    exported = export_onnx(model, out, float32=float32)
    return ExportRecord(
        model=model,
        onnx=out,
        bytes=exported.bytes,
        inputs=exported.inputs,
        outputs=exported.outputs,
        classes=exported.classes,
        numbers=exported.numbers,
        checked=None if check is None else _compare(saved, exported, check, reading),
    )


def _compare(
    saved: SavedModel, exported: Exported, data: str, reading: ReadingOptions
) -> Agreement:
    import numpy as np

    from pegasos.program.onnxfile.running import Agreement, OnnxModel
    from pegasos.program.scoring import probabilities_of, scores_of
    from pegasos.program.tables.dataset import take
    from pegasos.search.anatomy import anatomy

    model, found = OnnxModel(exported), Agreement()
    estimator = saved.model.estimator
    learner = anatomy(estimator, fitted=True).learner
    with console.working(f"comparing on {data}"):
        for part in saved.rows(data, reading):
            for start in range(0, len(part), _ROWS_PER_CALL):
                some = take(part, np.arange(start, min(start + _ROWS_PER_CALL, len(part))))
                scores = scores_of(estimator, some, saved.name)
                p = probabilities_of(estimator, some, scores)
                found += model.agreement(learner, some.X, scores, p)
    return found


def show(found: ExportRecord) -> None:
    """Print inputs, outputs and the result of the comparison."""
    console.heading(f"{found.onnx}: {found.bytes / 1e6:.2f} MB, from {found.model}", "")
    types = {"text": "string", "number": found.numbers, "date": f"{found.numbers}, days since 1970"}
    console.table(
        ("input", "type", "shape"),
        [(each.name, types[each.kind], f"rows x {len(each.columns)}") for each in found.inputs],
        left=3,
    )
    console.show("", f"outputs: {', '.join(found.outputs.values())}")
    if (checked := found.checked) is not None:
        text = (
            f"checked: {checked.rows} rows, {checked.labels} labels differ, "
            f"scores by at most {checked.scores:.2g}"
        )
        if checked.probabilities is not None:
            text += f", probabilities by at most {checked.probabilities:.2g}"
        console.show(text)
