"""Prepared rows in temporary files: writing, reading, and blocks of rows for passes over them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from pegasos.engine.kernels.distances import squared_norms
from pegasos.engine.optimum.passes.passes import LabelledBlocks, stacked
from pegasos.engine.rows.blocks import Part, RowBlocks
from pegasos.program.tables.dataset import Array, BadData
from pegasos.program.tables.messages import plain

#: Bytes of files in a task of a pass on a cluster, and least tasks per worker.
_TASK_BYTES, _TASKS_PER_WORKER = 1 << 26, 4


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


def read_on_workers(client: Any, files: Sequence[RowFile], classes: Array) -> Any:
    """Return delayed blocks of features, labels and weights, without rows of no class.

    The workers must see the files under the same names.
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
