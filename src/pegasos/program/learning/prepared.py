"""Prepared rows: steps fitted to a sample, temporary files, and fits in passes over the files."""

from __future__ import annotations

import copy
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer

from pegasos.engine.kernels.distances import squared_norms
from pegasos.engine.optimum.passes.passes import LabelledBlocks, stacked
from pegasos.engine.rows.blocks import THIN, Part, RowBlocks
from pegasos.engine.rows.plan import Plan, budget_bytes
from pegasos.engine.runtime.threads import blas_threads
from pegasos.learners.from_passes import fit_in_passes
from pegasos.learners.sdca import SDCA, warn_if_late
from pegasos.program.pipelines import scaler_of
from pegasos.program.tables.dataset import Array, BadData, Dataset
from pegasos.program.tables.messages import plain

#: Numbers of a sample that are transformed for the later steps (32 MB), and least rows.
_NUMBERS, _LEAST_ROWS = 4_000_000, 1000
#: The share of the memory for rows that are kept between passes.
_KEPT_SHARE = 0.5
#: Bytes of files in a task of a pass on a cluster, and least tasks per worker.
_TASK_BYTES, _TASKS_PER_WORKER = 1 << 26, 4


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


@dataclass(frozen=True)
class RowFile:
    """File of prepared rows: class codes, weights, and features as float32, dense or CSR.

    The code -1 is of no class. `reach` is the largest x·x. For each class, `sums` has the sum of
    weights, and `present` the number of rows with a weight.
    """

    path: Path
    shape: tuple[int, int]
    is_sparse: bool
    bytes: int
    reach: float
    sums: Array
    present: Array

    @classmethod
    def write(cls, path: Path, X: Any, codes: Array, weights: Array, classes: int) -> RowFile:
        """Write rows; those of no class have the weight 0."""
        is_sparse = sparse.issparse(X)
        features = (X.data, X.indices, X.indptr) if is_sparse else (X,)
        with path.open("wb") as file:
            for each in (codes, weights, *features):
                np.save(file, each)
        used = weights > 0
        sums = np.bincount(codes[used], weights[used], minlength=classes)
        present = np.bincount(codes[used], minlength=classes)
        reach = float(squared_norms(X).max())
        return cls(path, X.shape, is_sparse, path.stat().st_size, reach, sums, present)

    def read(self) -> tuple[Any, Array, Array]:
        """Return features, codes and weights."""
        # The file is not mapped: mapped pages would stay in memory.
        with self.path.open("rb") as file:
            codes, weights, *features = (np.load(file) for _ in range(5 if self.is_sparse else 3))
        X = sparse.csr_matrix(tuple(features), self.shape) if self.is_sparse else features[0]
        return X, codes, weights


def count_rows(files: Sequence[RowFile]) -> int:
    """Return the number of rows in some files."""
    return sum(file.shape[0] for file in files)


class FileBlocks(RowBlocks):
    """Passes over files, of which each thread reads one at a time (see `Passes`).

    `room` is the memory for rows that a method keeps.
    """

    def __init__(self, files: Sequence[RowFile], room: float) -> None:
        super().__init__(np.empty((0, files[0].shape[1])))
        self.blocks: list[Any] = list(files)
        self.row_bytes, self.room = sum(file.bytes for file in files) / count_rows(files), room

    def map_sum(self, work: Any, *arguments: Any) -> Part:
        """Return the sum of work(block, *arguments) over the blocks of all files."""
        return super().map_sum(_map_file, "map_sum", (work, *arguments))

    def map_join(self, work: Any, join: Any, *arguments: Any) -> Any:
        """Return the joined results of work(block, *arguments) for the blocks of all files."""
        return super().map_join(_map_file, join, "map_join", (work, join, *arguments))


def _map_file(file: RowFile, method: str, given: tuple[Any, ...]) -> Any:
    return getattr(LabelledBlocks(*file.read()), method)(*given)


def fit_to_files(learner: SDCA, files: Sequence[RowFile], classes: Array) -> None:
    """Fit a linear SDCA, with the attributes of a fit to rows in memory."""
    learner._check_parameters()
    budget, kind = budget_bytes(learner.memory), "csr" if files[0].is_sparse else "dense"
    sums = np.sum([file.sums for file in files], axis=0)
    present = np.sum([file.present for file in files], axis=0)
    reach = max(file.reach for file in files)
    with FileBlocks(files, _KEPT_SHARE * budget) as passes:
        given = (classes, sums, count_rows(files), present, reach, np.float64)
        done = fit_in_passes(learner, passes, *given)
    where = "rows in files of float32"
    learner.plan_ = Plan(kind, "by blocks", 0, 0, budget, blas_threads(), where, done)
    warn_if_late(learner, single=True, finished=learner.n_iter_ < learner.max_epochs)


def read_on_workers(client: Any, files: Sequence[RowFile], classes: Array) -> Any:
    """Return delayed blocks of features, labels and weights, without rows of no class.

    The workers need access to the files under the same paths.
    """
    import dask

    def read(some: Sequence[RowFile]) -> tuple[Any, Array, Array]:
        parts = zip(*(file.read() for file in some), strict=True)
        X, codes, weights = (stacked(each) for each in parts)
        known = codes >= 0
        return X[known].astype(np.float64), classes[codes[known]], weights[known]

    workers = client.run(_can_read, files[-1].path)
    if blind := len(workers) - sum(workers.values()):
        raise BadData(
            f"{blind} of {len(workers)} workers cannot read {plain(files[0].path.parent)}, where "
            "the prepared rows are: set TMPDIR to a folder that all of them share."
        )
    tasks = max(_TASKS_PER_WORKER * len(workers), sum(file.bytes for file in files) // _TASK_BYTES)
    # Not pure: the files of two runs may have the same names.
    lazy = dask.delayed(read, pure=False, nout=3)
    return zip(*(lazy(files[first::tasks]) for first in range(min(tasks, len(files)))), strict=True)


def _can_read(path: Path) -> bool:
    return os.access(path, os.R_OK)
