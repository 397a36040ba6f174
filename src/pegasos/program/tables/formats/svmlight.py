"""Sparse rows in the text format of svmlight and LIBSVM: a label, then index:value pairs."""

from __future__ import annotations

import io
import itertools
import re
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
import polars as pl

from pegasos.program.tables.array_files import ArrayTableFile
from pegasos.program.tables.column_roles import Roles
from pegasos.program.tables.dataset import Array, BadData, Column, Dataset
from pegasos.program.tables.labels import simplest
from pegasos.program.tables.messages import plain, shown, size
from pegasos.program.tables.read_options import Opening, ReadOptions, Wanted
from pegasos.program.tables.source import Source
from pegasos.program.tables.table import Block
from pegasos.program.tables.text_chunks import Chunk, chunks

NAME = "svmlight"
EXTENSIONS = (".svm", ".svmlight", ".libsvm", ".scale")
_NUMBER = rb"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
_PAIRS = rb"(?:,[^\s:,]*+)*+(?:\s++qid:\d++)?(?:\s++\d++:" + _NUMBER + rb")*+"
_LINE = re.compile(rb"\s*+" + _NUMBER + _PAIRS + rb"\s*+(?:#.*)?")
_AMOUNT = 4 * 2**20
#: Maximum ratio of decompressed text to the memory limit for decoded values.
_SWELL = 8


def sniff(head: bytes) -> bool:
    """Return whether the first line with a colon is a label with pairs.

    Lines before it must be labels or comments.
    """
    for line in head.split(b"\n")[:50]:
        if line.strip() and not line.lstrip().startswith(b"#"):
            if b":" in line and len(line) == len(head) >= 2**16:
                line = line.rpartition(b" ")[0]  # the sample may end within a word
            if b":" in line or not _LINE.fullmatch(line):
                return _LINE.fullmatch(line) is not None
    return False


class SvmlightFile(ArrayTableFile):
    """One file of sparse rows; columns are named by their index, from x1, or x0 if there is one."""

    header, typed, width, is_sparse = True, True, 1, True

    def __init__(self, source: Source, expected: Sequence[str], how: Opening) -> None:
        self._source, self._encoding, self._limit = source, how.options.encoding, how.limit
        self.names = ["label"]
        self.notes = ["query ids (qid) are ignored"] * (b"qid:" in source.head)

    def roles(self, options: ReadOptions, name: str) -> Roles:
        """Return the role of the label, if labels are wanted."""
        note = "label: the number at the beginning of each line"
        return Roles([], 0, note=note) if options.labelled else Roles([])

    def matched(self, wanted: Wanted, options: ReadOptions, name: str) -> Roles:
        """Return the role of the label."""
        return Roles([], 0)

    def blocks(self, places: Sequence[int], amount: int) -> Iterator[Block]:
        """Yield labels and CSR rows, whose columns are the indices of the file."""
        limit, most = self._limit, None
        if limit is not None:
            amount, most = min(_AMOUNT, max(2**16, limit // 8)), _SWELL * limit
        for chunk in chunks(self._source, self._encoding, amount, most, quotes=False):
            X, y = _parsed(self._source, chunk, limit)
            if X.shape[0]:
                frame = pl.DataFrame({str(place): simplest(y) for place in places})
                share = len(chunk.data) / self._source.unpacked_bytes
                yield Block(frame, partial(_where, chunk), share, array=X)

    def add_features(self, found: Dataset, X: Any, options: ReadOptions) -> Dataset:
        """Return the data set with its features."""
        lowest = int(X.indices.min(initial=1))
        if X.shape[1] <= lowest:
            raise BadData(f"{found.name} has no features: no line holds a pair index:value.")
        found.X = X[:, lowest:]
        found.columns = [Column(f"x{place}") for place in range(lowest, X.shape[1])]
        return found

    def wanted_features(self, found: Dataset, X: Any, wanted: Wanted) -> Any:
        """Return the features of a model without unknown indices.

        If no columns are requested, positions are the indices of the file.
        """
        if not wanted.columns:
            return X
        lowest = int(wanted.names[0] != "x0")
        if X.indices.min(initial=lowest) < lowest:
            raise BadData(f"{found.at(0)}: index 0, but the indices of the model begin with 1.")
        stop = lowest + len(wanted.columns)
        X.resize(X.shape[0], max(X.shape[1], stop))
        X = X[:, lowest:stop]
        return pl.DataFrame(X.toarray(), schema=wanted.names) if wanted.frame else X


open_file = SvmlightFile


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
