"""Model files as ONNX files, and whether both say the same of rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from pegasos.program.errors import UsageError
from pegasos.program.jobs import outputs
from pegasos.program.jobs.model_cards import SavedModel
from pegasos.program.onnxfile import Exported, Input, export_onnx
from pegasos.program.onnxfile.running import Agreement, OnnxModel
from pegasos.program.scoring import scores_of
from pegasos.program.tables.dataset import take
from pegasos.program.terminal import console
from pegasos.program.terminal.options import ReadingOptions
from pegasos.search.anatomy import anatomy

#: Rows at once: an ONNX file holds the kernel between all rows of a call and all support vectors.
_AT_ONCE = 1000


@dataclass(frozen=True)
class ExportRecord:
    """What `export` answers; `checked` is None unless rows were given to look at."""

    model: str
    onnx: str
    bytes: int
    inputs: list[Input]
    outputs: dict[str, str]
    classes: list[Any]
    numbers: str
    checked: Agreement | None = None


def export(
    path: str, out: str, float32: bool, check: str | None, reading: ReadingOptions
) -> ExportRecord:
    """Write the model in file `path` as ONNX to `out`; with `check` both are compared on these rows."""
    outputs.check_file(out, path, *([] if check is None else [check]), what="a model")
    saved = SavedModel.open(path)
    if check is None and reading != ReadingOptions():
        raise UsageError("options for reading are for the rows of --check, which was not given.")
    exported = export_onnx(path, out, float32=float32)
    checked = None if check is None else _agreement(saved, exported, check, reading)
    return ExportRecord(
        path,
        out,
        exported.bytes,
        exported.inputs,
        exported.outputs,
        exported.classes,
        exported.numbers,
        checked,
    )


def _agreement(
    saved: SavedModel, exported: Exported, data: str, reading: ReadingOptions
) -> Agreement:
    model, found = OnnxModel(exported), Agreement()
    estimator = saved.model.estimator
    learner = anatomy(estimator, fitted=True).learner
    with console.working(f"comparing on {data}"):
        for part in saved.rows(data, reading):
            for start in range(0, len(part), _AT_ONCE):
                some = take(part, np.arange(start, min(start + _AT_ONCE, len(part))))
                found += model.agreement(learner, some.X, scores_of(estimator, some, saved.name))
    return found
