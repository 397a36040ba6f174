"""Rows of a table beyond memory, prepared and written to files, and fits in passes over these."""

from __future__ import annotations

import contextlib
import copy
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer

from pegasos.engine.rows.blocks import THIN
from pegasos.engine.rows.plan import Plan, budget_bytes
from pegasos.engine.runtime.threads import blas_threads
from pegasos.learners.from_passes import fit_in_passes
from pegasos.learners.sdca import warn_if_late
from pegasos.program import scoring
from pegasos.program.files import temporary_folder
from pegasos.program.learning.clusters import fit_on_cluster
from pegasos.program.learning.row_files import FileBlocks, RowFile, count_rows, read_on_workers
from pegasos.program.learning.streamed import StreamedTable
from pegasos.program.pipelines import make_recipe, scaler_of
from pegasos.program.records.runs import ErrorCount
from pegasos.program.saved_models import fingerprint
from pegasos.program.tables.dataset import Array, BadData, Dataset, take
from pegasos.program.tables.labels import label_texts
from pegasos.program.tables.messages import plain, size
from pegasos.program.tables.row_hashes import hash_rows
from pegasos.program.terminal import console

#: Free disk space that is left alone.
_SPARED_BYTES = 100 * 10**6
#: Bytes of the hash of a row while hashes are sorted, written and checked.
_HASH_BYTES = 64
#: Shares of the memory for rows on their way through the steps, and for rows kept between passes.
_STEP_SHARE, _KEPT_SHARE = 1 / 16, 0.5
#: Numbers of a sample that are transformed for the later steps (32 MB), and least rows.
_NUMBERS, _LEAST_ROWS = 4_000_000, 1000


class NoRoom(BadData):
    """Prepared rows do not fit on the disk."""


def fit_steps(rows: Dataset, steps: list[tuple[str, Any]]) -> Any:
    """Fit the steps before a learner to a sample; return what transforms all rows.

    Encoder and scaler are fitted to the whole sample, expansion and landmarks to fewer rows if
    these are wide. Rows with many one-hot columns become CSR.
    """
    X, used = rows.X, {name: step for name, step in steps if step != "passthrough"}
    for name, step in used.items():
        step.fit(X)
        if name == "encode":
            width = step.transform(X[:2]).shape[1]
            X = X[:: 1 + len(rows) // max(_LEAST_ROWS, _NUMBERS // width)]
        elif name == "scale" and len(rows) > X.shape[0]:
            _, imputer, names = used["encode"].transformers_[0]
            scaler_of(step).fit(imputer.transform(rows.X.select(names))[:, : len(names)])
        X = step.transform(X)
    has_words = "encode" in used and "words" in used["encode"].named_transformers_
    if has_words and used.keys() <= {"encode", "scale"} and THIN * np.count_nonzero(X) <= X.size:
        return sparse_steps(**used)
    return Pipeline(steps)


def sparse_steps(encode: Any, scale: Any = None) -> Pipeline:
    """Return the fitted steps with CSR rows as their results.

    These store one number for each column of categories instead of one for each category.
    """
    encode, scale = copy.deepcopy((encode, scale))
    encode.named_transformers_["words"].sparse_output = encode.sparse_output_ = True
    if scale is None:
        return make_pipeline(encode)
    name, scaler, columns = scale.transformers_[0]
    dense = FunctionTransformer(sparse.csr_matrix.toarray, accept_sparse=True)
    scale.transformers_[0] = name, make_pipeline(dense, scaler), columns
    scale.sparse_output_ = True
    return make_pipeline(encode, scale)


class PreparedTable:
    """All rows of a table, prepared and in files, with class codes; -1 is an unknown class."""

    def __init__(self, table: StreamedTable, learner: Any, steps: dict[str, Any]) -> None:
        rows, _ = table.sample()
        #: The pipeline, whose learner is not fitted, and what transforms rows.
        self.estimator: Any = make_recipe(rows, learner, **steps).estimator
        self._table, self._steps = table, fit_steps(rows, self.estimator.steps[:-1])
        X = self._steps.transform(rows.X[:_LEAST_ROWS])
        #: Whether the result is sparse, and the numbers of an average row.
        self._is_sparse = sparse.issparse(X)
        self._numbers = X.nnz / X.shape[0] if self._is_sparse else X.shape[1]
        #: Approximate size of the files.
        number_bytes, row_bytes = (8, 24) if self._is_sparse else (4, 16)
        self.bytes = int(table.rows * (number_bytes * self._numbers + row_bytes))
        texts = label_texts(table.classes).tolist()
        self._codes = {text: code for code, text in enumerate(texts)}
        self.files: dict[str, list[RowFile]] = {"training": [], "test": []}
        #: Hashes of all rows and which of them are test rows; None where there is no room.
        fits = _HASH_BYTES * table.rows <= table.budget
        self._hashes: list[tuple[Array, Array]] | None = [] if fits else None

    def write(self, folder: Path) -> None:
        """Pass over all rows."""
        table, rows, draw, seen = self._table, self._table.rows, self._table.draw(), 0
        step = max(64, int(_STEP_SHARE * table.budget / (8 * (1 + self._numbers))))
        about = f"second pass over {table.name}: preparing rows"
        with console.working(about, "rows", rows) as progress:
            for part in progress.counting(table.parts()):
                test = draw.test(len(part))
                for start in range(0, len(part), step):
                    some = np.arange(start, min(start + step, len(part)))
                    self._add(take(part, some), test[some], folder / f"{seen + start}")
                if self._hashes is not None:
                    self._hashes.append((hash_rows(part.X, part.y), test))
                seen += len(part)
        if seen != rows:
            counts = f"{rows} rows at first, then {seen}"
            raise BadData(f"{table.name} changed while it was read: {counts}.")
        if not any(file.present.any() for file in self.files["training"]):
            raise BadData(f"{table.name}: all weights are 0.")

    def _add(self, part: Dataset, test: Array, path: Path) -> None:
        codes = np.array([self._codes.get(text, -1) for text in label_texts(part.labels).tolist()])
        rows = scoring.prepared(self._steps, part)
        weights = np.ones(len(part)) if part.weights is None else part.weights
        weights = np.where(codes < 0, 0.0, weights)
        for name, own in ("training", ~test), ("test", test):
            if own.any():
                values = rows[own], codes[own], weights[own], len(self._codes)
                self.files[name].append(RowFile.write(path.with_suffix(f".{name}"), *values))

    def fit(self, learner: Any, client: Any = None, *, everything: bool = False) -> None:
        """Fit a linear SDCA to the training rows, or to all rows."""
        files = self.files["training"] + (self.files["test"] if everything else [])
        if client is not None:
            blocks = read_on_workers(client, files, self._table.classes)
            fit_on_cluster(learner, client, *blocks)
            return
        learner._check_parameters()
        budget = budget_bytes(learner.memory)
        sums = np.sum([file.sums for file in files], axis=0)
        present = np.sum([file.present for file in files], axis=0)
        rows, reach = count_rows(files), max(file.reach for file in files)
        with FileBlocks(files, _KEPT_SHARE * budget) as passes:
            given = (self._table.classes, sums, rows, present, reach, np.float64)
            done = fit_in_passes(learner, passes, *given)
        where = "csr" if self._is_sparse else "dense", "by blocks", 0, 0, budget, blas_threads()
        learner.plan_ = Plan(*where, "rows in files of float32", done)
        warn_if_late(learner, single=True, finished=learner.n_iter_ < learner.max_epochs)

    def errors(self, learner: Any) -> dict[str, ErrorCount]:
        """Return the errors on training and test rows, and those of the baseline."""
        usual = int(np.argmax([self._table.trained[text] for text in self._codes]))
        found = {}
        with console.working("counting errors"):
            for name, files in self.files.items():
                mistakes = others = 0
                for X, codes, _ in (file.read() for file in files):
                    scores = np.asarray(learner.decision_function(X))
                    binary = scores.ndim == 1
                    predicted = scores > learner.threshold_ if binary else scores.argmax(axis=1)
                    mistakes += int((predicted != codes).sum())
                    others += int((codes != usual).sum())
                if rows := count_rows(files):
                    found[name] = ErrorCount.counted(rows, mistakes, others / rows)
        return found

    def known(self, everything: bool = False) -> dict[str, Any]:
        """Return the fields of `Learned` on the training rows, or all rows."""
        table = self._table
        counts = table.labels.counts if everything else table.trained
        texts, rows = zip(table.classes.tolist(), self._codes, strict=True), counts.total()
        found = {"classes": {str(label): counts[text] for label, text in texts}, "learned": rows}
        found |= {"fitted_rows": table.training_rows, "saved_rows": rows, "hashes": None}
        if self._hashes is None:
            console.say(
                "the model file keeps no hashes of so many rows: "
                "`run` cannot tell training rows from others"
            )
            return found
        hashes, test = (np.concatenate(each) for each in zip(*self._hashes, strict=True))
        own = hashes if everything else hashes[~test]
        return found | {"hashes": own, "fingerprint": fingerprint(hashes)}


@contextlib.contextmanager
def prepared(table: StreamedTable, learner: Any, steps: dict[str, Any]) -> Iterator[PreparedTable]:
    """Fit steps to a sample, and write all rows through them into temporary files."""
    made = PreparedTable(table, learner, steps)
    with temporary_folder() as folder:
        where, free = plain(folder), shutil.disk_usage(folder).free
        if made.bytes + _SPARED_BYTES > free:
            raise NoRoom(
                f"the prepared rows take {size(made.bytes)} on disk, but {plain(folder.parent)} "
                f"has {size(free)} free; set TMPDIR to a larger place."
            )
        console.say(f"prepared rows: {size(made.bytes)} as float32 in {where}, removed at the end")
        made.write(folder)
        yield made
