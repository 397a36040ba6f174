"""Sparse rows in the text format of svmlight and LIBSVM: a label, then index:value pairs."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import polars as pl
from scipy import sparse

from pegasos.program.tables.dataset import BadData, Column, Dataset, NoRows, TooLarge
from pegasos.program.tables.labels import checked_labels, simplest
from pegasos.program.tables.messages import shown, size
from pegasos.program.tables.read_options import PACKED, Outline, ReadOptions, Wanted
from pegasos.program.tables.shards import Shards
from pegasos.program.tables.source import Source
from pegasos.program.tables.text_chunks import Chunk, chunks

NAME = "svmlight"
EXTENSIONS = (".svm", ".svmlight", ".libsvm", ".scale")
_NUMBER = rb"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
_LINE = re.compile(
    rb"\s*+"
    + _NUMBER
    + rb"(?:,[^\s:]*)*(?:\s++qid:\d++)?(?:\s++\d++:"
    + _NUMBER
    + rb")*+\s*+(?:#.*)?"
)
_AMOUNT = 4 * 2**20
_SWELL = 8


def sniff(head: bytes) -> bool:
    """Return whether the first line with a colon is a label with pairs.

    Lines before it must be labels or comments.
    """
    for line in head.split(b"\n")[:50]:
        if not line.strip() or line.lstrip().startswith(b"#"):
            continue
        if b":" in line:
            # The last word of a line longer than the sample may be truncated.
            return (
                _LINE.fullmatch(
                    line if len(line) < len(head) or len(head) < 2**16 else line.rpartition(b" ")[0]
                )
                is not None
            )
        if not _LINE.fullmatch(line):
            return False
    return False


def read(shards: Shards, options: ReadOptions) -> Dataset:
    """Read the whole table as a CSR matrix.

    Columns are named by their index in the file: from x1, or from x0 if an index is 0.
    """
    limit, parts, labels, used, lowest = options.allowed(), [], [], 0, 1
    notes: list[str] = []
    counts = []
    for source in shards.sources:
        counts.append(0)
        for chunk in chunks(
            source,
            options.encoding,
            min(_AMOUNT, max(2**16, limit // 8)),
            _SWELL * limit,
            quotes=False,
        ):
            X, y = _parsed(source, chunk, limit)
            if not X.shape[0]:
                continue
            used += X.data.nbytes + X.indices.nbytes + X.indptr.nbytes + y.nbytes
            if used > limit:
                raise TooLarge(
                    f"{shards.name} takes more than {size(limit)} once read; give it more memory, or fewer rows."
                )
            lowest = min(lowest, int(X.indices.min()) if X.nnz else 1)
            if not notes and b"qid:" in chunk.data:
                notes.append("query ids (qid) are ignored")
            parts.append(X)
            labels.append(y)
            counts[-1] += len(y)
        if not counts[-1]:
            shards.skip(source, NoRows(f"{source.name} has no rows."))
    width = max(part.shape[1] for part in parts)
    if width <= lowest:
        raise BadData(f"{shards.name} has no features: no line holds a pair index:value.")
    X = sparse.vstack(
        [sparse.csr_matrix((p.data, p.indices, p.indptr), (p.shape[0], width)) for p in parts],
        format="csr",
    )
    X = X[:, lowest:] if lowest else X
    y, where = simplest(np.concatenate(labels)), shards.rows_of(counts)
    if options.labelled:
        y = checked_labels(y, "label", shards.name, where)
    notes.append("label: the number at the beginning of each line")
    columns = [Column(f"x{place}") for place in range(lowest, width)]
    return Dataset(shards.name, X, columns, y, "label", where=where, notes=notes)


def outline(shards: Shards, options: ReadOptions) -> Outline:
    """Describe a table by its first chunk; the number of columns remains unknown."""
    for source in shards.sources:
        for chunk in chunks(source, options.encoding, _AMOUNT, None, quotes=False):
            X, y = _parsed(source, chunk, None)
            if X.shape[0]:
                held = X.data.nbytes + X.indices.nbytes + X.indptr.nbytes + y.nbytes
                text = sum(
                    each.path.stat().st_size * (1 if each.packer is None else PACKED)
                    for each in shards.sources
                )
                notes = ["query ids (qid) are ignored"] * (b"qid:" in chunk.data)
                notes.append("label: the number at the beginning of each line")
                return Outline(
                    [], "label", None, None, held / len(chunk.data) * text, notes, sparse=True
                )
    raise NoRows(f"{shards.name} has no rows.")


def stream(shards: Shards, wanted: Wanted, options: ReadOptions) -> Iterator[Dataset]:
    """Yield chunks of lines as CSR matrices with the columns of a model.

    Indices unknown to the model are dropped. If no columns are requested, positions are the indices
    of the file, and each chunk is as wide as its largest index.
    """
    width, lowest = len(wanted.columns), int(not wanted.columns or wanted.names[0] != "x0")
    amount = wanted.chunk
    pairs = (
        (each, chunk)
        for each in shards.sources
        for chunk in chunks(each, options.encoding, amount, None, quotes=False)
    )
    for source, chunk in pairs:
        X, y = _parsed(source, chunk, None)
        if not X.shape[0]:
            continue
        if not wanted.columns:
            yield Dataset(shards.name, X, [], simplest(y), "label")
            continue
        if lowest and X.nnz and X.indices.min() < lowest:
            raise BadData(
                f"{source.name}, from line {chunk.line}: index 0, but the indices of the model begin with 1."
            )
        wide = max(X.shape[1], width + lowest)
        X = sparse.csr_matrix((X.data, X.indices, X.indptr), (X.shape[0], wide))[
            :, lowest : lowest + width
        ]
        X = pl.DataFrame(X.toarray(), schema=wanted.names) if wanted.frame else X
        yield Dataset(shards.name, X, wanted.columns, simplest(y), "label")


def _parsed(source: Source, chunk: Chunk, limit: int | None) -> tuple[Any, Any]:
    """Return rows and labels of a chunk, with the indices of the file."""
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
        what = f"the index {X.shape[1] - 1} is too large: a model of so many numbers would not fit into {size(limit)}"
        raise BadData(f"{source.name}, from line {chunk.line}: {what}.")
    return X, y


def _located(source: Source, chunk: Chunk, reason: str) -> BadData:
    """Return an error on the first invalid line."""
    for number, line in enumerate(chunk.data.split(b"\n"), chunk.line):
        if wrong := _wrong(line.partition(b"#")[0].split()):
            return BadData(f"{source.name}, line {number}: {wrong}.")
    return BadData(f"{source.name}, from line {chunk.line}: {shown(reason, 120)}.")


def _wrong(words: list[bytes]) -> str | None:
    if not words:
        return None
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
