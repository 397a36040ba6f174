"""Finished cells on disk: one SQLite file in a folder, durable cell by cell, so that a killed sweep goes on where it was.

A store belongs to one question: data, weights, splits, dtype, seed and version of the algorithms are written when it is made, and
anything else is refused. Within it a cell on a fold is found by all of its parameters, whatever grid it was part of.
"""

from __future__ import annotations

import hashlib
import io
import json
import sqlite3
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

Array = np.ndarray[Any, Any]

#: Raised by hand whenever the same seed gives another result.
ALGORITHMS = 3
_FILE = "sweep.sqlite"


class OtherQuestion(ValueError):  # noqa: N818 - it names what a store was asked
    """A store that holds results for another question; `different` are its parts that differ, such as "data" and "seed"."""

    def __init__(self, folder: Path, different: list[str]) -> None:
        super().__init__(folder, different)
        self.folder, self.different = folder, different

    def __str__(self) -> str:
        return (
            f"the store {self.folder} holds results for other {', '.join(self.different)}. "
            "Use another folder, or delete this one if its results are no longer wanted."
        )


class Store:
    """Cells by (parameters, fold)."""

    def __init__(self, folder: str | Path, question: dict[str, str]) -> None:
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self._connection = sqlite3.connect(self.folder / _FILE, timeout=60, check_same_thread=False, isolation_level=None)
        try:
            self._connection.execute("PRAGMA journal_mode=WAL")
            self._connection.execute("CREATE TABLE IF NOT EXISTS question (name TEXT PRIMARY KEY, value TEXT)")
            self._connection.execute(
                "CREATE TABLE IF NOT EXISTS cells (params TEXT, fold INTEGER, head TEXT, arrays BLOB, PRIMARY KEY (params, fold))"
            )
        except sqlite3.DatabaseError as error:
            raise ValueError(f"{self.folder / _FILE} is not a store of pegasos ({error}); give another folder.") from error
        self._agree(question)

    @staticmethod
    def recorded_seed(folder: str | Path) -> int | None:
        """The seed of an earlier run in this folder, if there was one."""
        path = Path(folder) / _FILE
        if not path.exists():
            return None
        with sqlite3.connect(path, timeout=60) as connection:
            try:
                found = connection.execute("SELECT value FROM question WHERE name = 'seed'").fetchone()
            except sqlite3.DatabaseError:
                return None
        connection.close()
        return None if found is None else int(found[0])

    def _agree(self, question: dict[str, str]) -> None:
        """Write the question, or compare it with the one that is there."""
        self._connection.execute("BEGIN IMMEDIATE")  # of two processes that start together one writes, the other compares
        known = dict(self._connection.execute("SELECT name, value FROM question"))
        if not known:
            self._connection.executemany("INSERT INTO question VALUES (?, ?)", question.items())
            known = question
        self._connection.execute("COMMIT")
        different = [name for name in question if known.get(name) != question[name]]
        if different:
            raise OtherQuestion(self.folder, different)

    def load(self, params: str, fold: int) -> dict[str, Any] | None:
        """What was found for this cell on this fold, or None."""
        row = self._connection.execute("SELECT head, arrays FROM cells WHERE params = ? AND fold = ?", (params, fold)).fetchone()
        if row is None:
            return None
        found: dict[str, Any] = json.loads(row[0])
        with np.load(io.BytesIO(row[1]), allow_pickle=False) as arrays:
            found.update({name: arrays[name] for name in arrays.files})
        return found

    def save(self, cells: Iterable[tuple[str, int, dict[str, Any]]]) -> None:
        """Make cells durable together: all of them or none."""
        rows = []
        for params, fold, values in cells:
            arrays = {name: value for name, value in values.items() if isinstance(value, np.ndarray)}
            head = {name: value for name, value in values.items() if name not in arrays}
            buffer = io.BytesIO()
            np.savez(buffer, allow_pickle=False, **arrays)
            rows.append((params, fold, json.dumps(head), buffer.getvalue()))
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            self._connection.executemany("INSERT OR REPLACE INTO cells VALUES (?, ?, ?, ?)", rows)
            self._connection.execute("COMMIT")
        except BaseException:
            self._connection.execute("ROLLBACK")
            raise

    def close(self) -> None:
        self._connection.close()


def fingerprint(*values: Any) -> str:
    """A hash of arrays (dense, CSR, tables, lists): shape, dtype and every byte."""
    digest = hashlib.sha256()
    for value in values:
        if sparse.issparse(value):
            parts = [value.data, value.indices, value.indptr, np.array(value.shape)]
        else:
            parts = [np.asarray(value)]
        for part in parts:
            digest.update(f"{part.shape} {part.dtype};".encode())
            plain = part.astype(str) if part.dtype == object else np.ascontiguousarray(part)
            digest.update(plain.tobytes() if part.dtype != object else "\x1f".join(plain.ravel().tolist()).encode())
    return digest.hexdigest()
