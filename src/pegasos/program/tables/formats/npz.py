"""Arrays of NumPy in one file: X and y, or data and target; also sparse matrices as SciPy saves them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from pegasos.program.tables import array_files
from pegasos.program.tables.dataset import Array, BadData, Dataset
from pegasos.program.tables.labels import simplest
from pegasos.program.tables.messages import plain, shown
from pegasos.program.tables.npy import Archive, Entry
from pegasos.program.tables.read_options import MOST_COLUMNS, ReadOptions, Wanted
from pegasos.program.tables.source import Source

NAME = "npz"
EXTENSIONS = (".npz",)
_SPARSE = {"indices", "indptr", "data", "shape", "format"}


def sniff(head: bytes) -> bool:
    """A ZIP archive whose first entry is an array."""
    length = int.from_bytes(head[26:28], "little")
    return head.startswith(b"PK\x03\x04") and head[30 : 30 + length].endswith(b".npy")


def read(source: Source, options: ReadOptions) -> Dataset:
    """All rows; X_test and y_test are pooled with X and y, and marked."""
    with source.path.open("rb") as stream:
        archive = Archive(stream, source.name, options.allowed())
        if set(archive.names) >= _SPARSE:
            return _read_sparse(archive, options)
        rows, labels = array_files.pair(archive.names, options, source.name)
        X, y = _rows(archive, rows), None if labels is None else archive.array(labels)
        test, both = None, (f"{rows}_test", f"{labels}_test")
        if all(name in archive for name in both):
            more, more_y = _rows(archive, both[0]), archive.array(both[1])
            if y is None or more.shape[1:] != X.shape[1:] or more_y.ndim != 1 or y.ndim != 1 or len(more_y) != len(more):
                raise BadData(f"{source.name}: {both[0]} and {both[1]} do not fit to {rows} and {shown(labels)}.")
            test = np.arange(len(X) + len(more)) >= len(X)
            X, y = np.concatenate([X, more]), np.concatenate([y, more_y])
        names = _names(archive)
        return array_files.dataset(source.name, X, y, options, labels, names, *_extras(archive, options), test=test)


def _rows(archive: Archive, name: str) -> Array:
    entry = archive.header(name)
    _wide(archive, entry)
    return archive.array(name)


def _wide(archive: Archive, entry: Entry) -> None:
    if int(np.prod(entry.shape[1:], dtype=object)) > MOST_COLUMNS:
        raise BadData(
            f"{archive.name}: rows of shape {entry.shape[1:]}; a table may have {MOST_COLUMNS} columns. Save it sparse."
        )


def _names(archive: Archive) -> list[str] | None:
    if "feature_names" not in archive:
        return None
    found = simplest(archive.array("feature_names").ravel())
    return [str(name) for name in found]


def _extras(archive: Archive, options: ReadOptions) -> tuple[Array | None, Array | None]:
    groups = array_files.extra(archive.names, options.group, "groups", archive.name)
    weights = array_files.extra(archive.names, options.weight, "weights", archive.name)
    return (None if groups is None else archive.array(groups), None if weights is None else archive.array(weights))


def _sparse(archive: Archive) -> Any:
    """The matrix, if its parts agree with each other."""
    from scipy import sparse

    kind = archive.array("format")
    word = kind.item() if kind.ndim == 0 else kind
    word = word.decode("ascii", "replace") if isinstance(word, bytes) else word
    if word not in ("csr", "csc"):
        raise BadData(f"{archive.name}: a sparse matrix of kind {shown(word)}; save it as CSR.")
    shape = archive.array("shape").ravel().tolist()
    if len(shape) != 2 or not all(isinstance(n, int) and 0 < n < 2**31 for n in shape) or max(shape) * 8 > archive.limit:
        raise BadData(f"{archive.name}: a sparse matrix of shape {plain(shape)} is not possible here.")
    data, indices, indptr = (archive.array(name) for name in ("data", "indices", "indptr"))
    if data.dtype.kind not in "iufb" or any(part.ndim != 1 for part in (data, indices, indptr)):
        raise BadData(f"{archive.name}: the values of the sparse matrix are no list of numbers.")
    if indices.dtype.kind != "i" or indptr.dtype.kind != "i":
        raise BadData(f"{archive.name}: the indices of the sparse matrix are no whole numbers.")
    try:
        make = sparse.csr_matrix if word == "csr" else sparse.csc_matrix
        found = make((data, indices, indptr), shape=tuple(shape))
        found.check_format(full_check=True)
        found.sum_duplicates()
    except (ValueError, TypeError, IndexError, OverflowError) as error:
        raise BadData(f"{archive.name} is damaged: the parts of the sparse matrix do not fit ({plain(error)}).") from error
    return found.tocsr()


def _read_sparse(archive: Archive, options: ReadOptions) -> Dataset:
    label = next((name for name in (options.label, "y", "target", "labels") if name in archive.names), None)
    if label is None and options.labelled:
        raise BadData(f"{archive.name} holds a sparse matrix, but no labels; add an array called y.")
    y = None if label is None else archive.array(label)
    return array_files.dataset(archive.name, _sparse(archive), y, options, label, _names(archive), *_extras(archive, options))


def stream(source: Source, wanted: Wanted, options: ReadOptions) -> Iterator[Dataset]:
    """Slices of rows, then those of X_test where it is there; the labels, which are small, are read at once."""
    with source.path.open("rb") as opened:
        archive = Archive(opened, source.name, options.allowed())
        known = archive.names
        sparse = set(known) >= _SPARSE
        rows = (
            "data"
            if sparse
            else array_files.pair([name for name in known if name != "y"], ReadOptions(labelled=False), source.name)[0]
        )
        usual = next((labels for data, labels in array_files.PAIRS if data == rows and labels in known), None)
        label = next((name for name in (options.label, wanted.label_name, usual) if name in known), None)
        names = _names(archive)
        halves = [(rows, label)]
        if not sparse and f"{rows}_test" in known:
            halves.append((f"{rows}_test", None if label is None else f"{label}_test"))
        before = 0
        for number, (data, labelled) in enumerate(halves):
            y = None if labelled not in known else simplest(archive.array(str(labelled)))
            first = 0
            for part in _parts(archive, data, sparse, wanted):
                labels = None if y is None else y[first : first + part.shape[0]]
                if labels is not None and labels.shape != (part.shape[0],):
                    raise BadData(f"{source.name}: more rows than labels.")
                found = array_files.chunk(source.name, part, labels, names, wanted, label, before + first)
                yield found if len(halves) == 1 else replace(found, test=np.full(part.shape[0], number == 1))
                first += part.shape[0]
            before += first


def _parts(archive: Archive, rows: str, sparse: bool, wanted: Wanted) -> Iterator[Array]:
    if sparse:
        whole = _sparse(archive)
        step = wanted.rows(whole.shape[1])
        for start in range(0, whole.shape[0], step):
            yield whole[start : start + step].toarray()
        return
    entry = archive.header(rows)
    _wide(archive, entry)
    width = int(np.prod(entry.shape[1:]))
    yield from archive.slices(rows, wanted.rows(width, entry.dtype.itemsize))
