"""Sparse rows in the text format of svmlight and LIBSVM: a label, then index:value pairs."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from scipy import sparse

from pegasos.program.tables.dataset import Array, BadData, Column, Dataset, NoRows, TooLarge
from pegasos.program.tables.labels import checked_labels, simplest
from pegasos.program.tables.messages import shown, size
from pegasos.program.tables.read_options import Outline, ReadOptions, Wanted
from pegasos.program.tables.shards import Shards
from pegasos.program.tables.source import Source
from pegasos.program.tables.text_chunks import Chunk, chunks

NAME = "svmlight"
EXTENSIONS = (".svm", ".svmlight", ".libsvm", ".scale")
_NUMBER = rb"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
_PAIRS = rb"(?:,[^\s:]*)*(?:\s++qid:\d++)?(?:\s++\d++:" + _NUMBER + rb")*+"
_LINE = re.compile(rb"\s*+" + _NUMBER + _PAIRS + rb"\s*+(?:#.*)?")
_AMOUNT = 4 * 2**20
#: Maximum ratio of decompressed text to the memory limit for decoded values.
_SWELL = 8
_LABEL_NOTE = "label: the number at the beginning of each line"
_QID_NOTE = "query ids (qid) are ignored"


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


@dataclass
class _Block:
    """Rows and labels of a chunk of text, with the indices of the file."""

    source: Source
    #: Line on which the chunk begins, and its bytes.
    line: int
    length: int
    X: Any
    y: Array
    has_query_ids: bool

    @property
    def bytes(self) -> int:
        """Bytes of the numbers."""
        return int(
            sum(part.nbytes for part in (self.X.data, self.X.indices, self.X.indptr, self.y))
        )

    def columns(self, start: int, stop: int) -> Any:
        """Return the rows with some columns, which may be more than there are."""
        shape = (self.X.shape[0], max(self.X.shape[1], stop))
        return sparse.csr_matrix((self.X.data, self.X.indices, self.X.indptr), shape)[:, start:stop]


def read(shards: Shards, options: ReadOptions) -> Dataset:
    """Read the whole table as a CSR matrix.

    Columns are named by their index in the file: from x1, or from x0 if an index is 0.
    """
    limit, used = options.allowed(), 0
    amount = min(_AMOUNT, max(2**16, limit // 8))
    found = []
    for block in _blocks(shards, options, amount, limit):
        if (used := used + block.bytes) > limit:
            todo = "give it more memory, or fewer rows"
            raise TooLarge(f"{shards.name} takes more than {size(limit)} once read; {todo}.")
        found.append(block)
    width = max(block.X.shape[1] for block in found)
    lowest = min(int(block.X.indices.min(initial=1)) for block in found)
    if width <= lowest:
        raise BadData(f"{shards.name} has no features: no line holds a pair index:value.")
    X = sparse.vstack([block.columns(lowest, width) for block in found], format="csr")
    counts = [
        sum(len(block.y) for block in found if block.source is source) for source in shards.sources
    ]
    y, where = simplest(np.concatenate([block.y for block in found])), shards.rows_of(counts)
    if options.labelled:
        y = checked_labels(y, "label", shards.name, where)
    notes = [_QID_NOTE] * any(block.has_query_ids for block in found) + [_LABEL_NOTE]
    columns = [Column(f"x{place}") for place in range(lowest, width)]
    return Dataset(shards.name, X, columns, y, "label", where=where, notes=notes)


def outline(shards: Shards, options: ReadOptions) -> Outline:
    """Describe a table by its first block; the number of columns remains unknown."""
    block = next(_blocks(shards, options, _AMOUNT))
    text = sum(each.unpacked_bytes for each in shards.sources)
    total = block.bytes / block.length * text
    notes = [_QID_NOTE] * block.has_query_ids + [_LABEL_NOTE]
    return Outline([], "label", None, None, total, notes, sparse=True)


def stream(shards: Shards, wanted: Wanted, options: ReadOptions) -> Iterator[Dataset]:
    """Yield blocks of lines as CSR matrices with the columns of a model.

    Indices unknown to the model are dropped. If no columns are requested, positions are the indices
    of the file, and each block is as wide as its largest index.
    """
    lowest = int(not wanted.columns or wanted.names[0] != "x0")
    for block in _blocks(shards, options, wanted.chunk):
        X = block.X
        if wanted.columns:
            if X.indices.min(initial=lowest) < lowest:
                where = f"{block.source.name}, from line {block.line}"
                raise BadData(f"{where}: index 0, but the indices of the model begin with 1.")
            X = block.columns(lowest, lowest + len(wanted.columns))
            X = pl.DataFrame(X.toarray(), schema=wanted.names) if wanted.frame else X
        yield Dataset(shards.name, X, wanted.columns, simplest(block.y), "label")


def _blocks(
    shards: Shards, options: ReadOptions, amount: int, limit: int | None = None
) -> Iterator[_Block]:
    """Yield the rows of all files; a limit bounds decompressed text and the width of rows."""
    most = None if limit is None else _SWELL * limit
    for source in shards.sources:
        empty = True
        for chunk in chunks(source, options.encoding, amount, most, quotes=False):
            X, y = _parsed(source, chunk, limit)
            if X.shape[0]:
                empty = False
                has_query_ids = b"qid:" in chunk.data
                yield _Block(source, chunk.line, len(chunk.data), X, y, has_query_ids)
        if empty:
            shards.skip(source, NoRows(f"{source.name} has no rows."))


def _parsed(source: Source, chunk: Chunk, limit: int | None) -> tuple[Any, Array]:
    from sklearn.datasets import load_svmlight_file

    try:
        X, y = load_svmlight_file(io.BytesIO(chunk.data), zero_based=True)
    except Exception as error:
        raise _located(source, chunk, str(error)) from error
    if X.nnz and (X.indices.min() < 0 or not np.isfinite(X.data).all()):
        raise _located(source, chunk, "a value is not finite, or an index is too large")
    if not np.isfinite(y).all():
        raise _located(source, chunk, "a label is not finite")
    if limit is not None and X.shape[1] * 8 > limit:
        most = f"a model of so many numbers would not fit into {size(limit)}"
        where = f"{source.name}, from line {chunk.line}"
        raise BadData(f"{where}: the index {X.shape[1] - 1} is too large: {most}.")
    return X, y


def _located(source: Source, chunk: Chunk, reason: str) -> BadData:
    """Return an error on the first invalid line."""
    for number, line in enumerate(chunk.data.split(b"\n"), chunk.line):
        words = line.partition(b"#")[0].split()
        if words and (wrong := _wrong(words)):
            return BadData(f"{source.name}, line {number}: {wrong}.")
    return BadData(f"{source.name}, from line {chunk.line}: {shown(reason, 120)}.")


def _wrong(words: list[bytes]) -> str | None:
    """Return what is wrong with a line, if anything."""
    label = words[0].decode("utf-8", "replace")
    if "," in label:
        return f"several labels ({shown(label)}); each row may have one"
    if not re.fullmatch(_NUMBER, words[0]) or not np.isfinite(float(label)):
        return f"the label {shown(label)} is not a finite number"
    last = -1
    for word in words[1:]:
        if word.startswith(b"qid:"):
            continue
        text = word.decode("utf-8", "replace")
        index, colon, value = word.partition(b":")
        if not colon or not index.isdigit() or not re.fullmatch(_NUMBER, value):
            return f"{shown(text)} is not index:value"
        if not np.isfinite(float(value)):
            return f"{shown(text)} is not a finite number"
        if len(index) > 18 or int(index) > 2**31 - 2:
            return f"the index {shown(index.decode())} is too large"
        if int(index) <= last:
            return f"the indices do not grow at {shown(text)}"
        last = int(index)
    return None
