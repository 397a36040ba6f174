"""Sparse rows in the text format of svmlight and LIBSVM: a label, then index:value pairs."""

from __future__ import annotations

import io
import itertools
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
import polars as pl

from pegasos.program.tables.columns import Roles
from pegasos.program.tables.dataset import Array, BadData, Column, ReadOptions
from pegasos.program.tables.labels import simplest
from pegasos.program.tables.messages import plain, shown, size
from pegasos.program.tables.sources import Source
from pegasos.program.tables.table import Block, TableFile
from pegasos.program.tables.text import Chunk, chunks

_AMOUNT = 4 * 2**20


class SvmlightFile(TableFile):
    """One file of sparse rows; columns are named by their index, from x1, or x0 if there is one."""

    header, typed, width = True, True, 1

    def __init__(
        self, source: Source, options: ReadOptions, expected: Sequence[str], limit: int | None
    ) -> None:
        self._source, self._encoding, self._limit = source, options.encoding, limit
        self.names = ["label"]
        self.notes = ["query ids (qid) are ignored"] * (b"qid:" in source.head)

    def roles(self, options: ReadOptions, name: str) -> Roles:
        """Return the role of the label, if labels are wanted."""
        note = "label: the number at the beginning of each line"
        return Roles([], 0, note=note) if options.labelled else Roles([])

    def match_roles(self, columns: list[Column], options: ReadOptions, name: str) -> Roles:
        """Return the role of the label."""
        return Roles([], 0)

    def blocks(self, places: Sequence[int], amount: int) -> Iterator[Block]:
        """Yield labels and CSR rows, whose columns are the indices of the file."""
        limit = self._limit
        if limit is not None:
            amount = min(_AMOUNT, max(2**16, limit // 8))
        for chunk in chunks(self._source, self._encoding, amount, limit, quotes=False):
            X, y = _parsed(self._source, chunk, limit)
            if X.shape[0]:
                frame = pl.DataFrame({str(place): simplest(y) for place in places})
                share = len(chunk.data) / self._source.unpacked_bytes
                yield Block(frame, partial(_where, chunk), share, sparse=X)


def _where(chunk: Chunk, row: int) -> str:
    """Return the line of a row; blank lines and comments hold none."""
    lines = enumerate(chunk.data.split(b"\n"), chunk.line)
    held = (number for number, line in lines if line.partition(b"#")[0].strip())
    return f"line {next(itertools.islice(held, row, None))}"


def _parsed(source: Source, chunk: Chunk, limit: int | None) -> tuple[Any, Array]:
    """Return CSR rows and labels; errors name the first invalid line."""
    try:
        X, y = _load(chunk.data)
    except (ValueError, OverflowError) as error:
        lines, first, reason = chunk.data.split(b"\n"), 0, str(error)
        end = len(lines)
        while end - first > 1:
            middle = (first + end) // 2
            try:
                _load(b"\n".join(lines[first:middle]))
                first = middle
            except (ValueError, OverflowError) as earlier:
                end, reason = middle, str(earlier)
        what = f"{shown(lines[first].decode())} is not a label with pairs index:value"
        where = f"{source.name}, line {chunk.line + first}"
        raise BadData(f"{where}: {what} ({plain(reason)}).") from error
    if limit is not None and X.shape[1] * 8 > limit:
        most = f"a model of so many numbers would not fit into {size(limit)}"
        where = f"{source.name}, from line {chunk.line}"
        raise BadData(f"{where}: the index {X.shape[1] - 1} is too large: {most}.")
    return X, y


def _load(data: bytes) -> tuple[Any, Array]:
    from sklearn.datasets import load_svmlight_file

    X, y = load_svmlight_file(io.BytesIO(data), zero_based=True)
    if X.nnz and X.indices.min() < 0:
        raise ValueError("an index is too large")
    if not (np.isfinite(X.data).all() and np.isfinite(y).all()):
        raise ValueError("a number is not finite")
    return X, y
