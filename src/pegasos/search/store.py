"""Finished cells on disk: one SQLite file, durable cell by cell, so that a killed search resumes.

A store belongs to one question: data, weights, splits, seed and version of the algorithms are
written when it is made, and anything else is refused. Within it, a cell on a fold is found by all
of its parameters, whatever grid it was part of.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import io
import json
import math
import shutil
import sqlite3
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

Array = np.ndarray[Any, Any]

#: Version of the algorithms, raised whenever the same seed gives another result.
ALGORITHMS = 10
_FILE = "sweep.sqlite"
#: Seconds to wait for another process that writes to the same store.
_PATIENCE = 60.0
#: Seconds of work that a power failure may cost: cells of milliseconds need not wait for the disk.
#: Saved cells outlive their process, however it ends.
_AT_STAKE = 1.0
#: System error for SQLite's primary codes; others mean damage.
_FAULTS = {
    sqlite3.SQLITE_FULL: errno.ENOSPC,
    sqlite3.SQLITE_BUSY: errno.EBUSY,
    sqlite3.SQLITE_LOCKED: errno.EBUSY,
    sqlite3.SQLITE_READONLY: errno.EACCES,
    sqlite3.SQLITE_PERM: errno.EACCES,
    sqlite3.SQLITE_CANTOPEN: errno.EACCES,
    sqlite3.SQLITE_IOERR: errno.EIO,
    sqlite3.SQLITE_NOMEM: errno.ENOMEM,
}
_MESSAGES = {
    errno.ENOSPC: "no space left on its disk; what was finished before is kept. Make room and "
    "begin again: it goes on from there",
    errno.EBUSY: f"another process has been writing to it for {_PATIENCE:g} seconds. Wait for it, "
    "or take another folder",
    errno.EACCES: "it cannot be written to. Take another folder, or mend its permissions",
    errno.EIO: "its disk cannot be read or written. Take a folder on another disk",
    errno.ENOMEM: "there is not enough memory to read it",
    errno.EILSEQ: "it is damaged. Delete it, or take another folder, and begin anew",
}
#: Bytes: with less than this much free, a disk that cannot be written to is full.
_ROOM = 2**20


class OtherQuestion(ValueError):  # noqa: N818 - it describes the store
    """A store holds results for another question; `different` are its parts that differ."""

    def __init__(self, folder: Path, different: list[str]) -> None:
        super().__init__(folder, different)
        self.folder, self.different = folder, different

    def __str__(self) -> str:
        return (
            f"the store {self.folder} holds results for other {', '.join(self.different)}. "
            "Use another folder, or delete this one if its results are no longer wanted."
        )


class StoreFailure(OSError):  # noqa: N818 - it describes an event
    """A store cannot be read or written; `errno` is the reason (EILSEQ: damaged)."""

    def __init__(self, number: int, path: Path, detail: object = "") -> None:
        super().__init__(number, _MESSAGES[number], str(path))
        self.detail = str(detail)

    def __str__(self) -> str:
        detail = f" ({self.detail})" if self.detail else ""
        return f"the store {self.filename}: {self.strerror}{detail}."


def check_storable(learner: Any) -> None:
    """Refuse callable draws whose repr does not state their values: stores find cells by it."""
    sampling = getattr(learner, "sampling", None)
    text = repr(sampling)
    unclear = hasattr(sampling, "__qualname__") or " at 0x" in text or "..." in text
    if callable(sampling) and unclear:
        raise ValueError(
            f"a sweep with a store cannot tell {sampling!r} from other functions. Pass a callable "
            "whose repr states its values, such as an instance of a frozen dataclass with a seed "
            "and a __call__ method."
        )


@contextlib.contextmanager
def failing_clearly(path: Path) -> Iterator[None]:
    """Turn errors of SQLite and of stored values into a StoreFailure."""
    try:
        yield
    except sqlite3.Error as error:
        # The low byte is the primary code.
        code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT) & 0xFF
        number = _FAULTS.get(code, errno.EILSEQ)
        with contextlib.suppress(OSError):
            if number in (errno.EIO, errno.EACCES) and shutil.disk_usage(path.parent).free < _ROOM:
                number = errno.ENOSPC
        raise StoreFailure(number, path, error) from error
    except (ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile) as error:
        raise StoreFailure(errno.EILSEQ, path, error) from error


class Store:
    """Results of cells by their parameters and fold."""

    def __init__(self, folder: str | Path, question: dict[str, str]) -> None:
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.path, self._at_stake = self.folder / _FILE, 0.0
        with failing_clearly(self.path):
            self._connection = sqlite3.connect(
                self.path, timeout=_PATIENCE, check_same_thread=False, isolation_level=None
            )
            self._connection.execute("PRAGMA journal_mode=WAL")
            for table in (
                "question (name TEXT PRIMARY KEY, value TEXT)",
                "cells (params TEXT, fold INTEGER, head TEXT, arrays BLOB, "
                "PRIMARY KEY (params, fold))",
            ):
                self._connection.execute(f"CREATE TABLE IF NOT EXISTS {table}")
            different = self._different(question)
        if different:
            raise OtherQuestion(self.folder, different)

    @staticmethod
    def recorded_seed(folder: str | Path) -> int | None:
        """Return the seed of an earlier run in this folder, if there was one."""
        path = Path(folder) / _FILE
        if not path.exists():
            return None
        connect = contextlib.closing(sqlite3.connect(path, timeout=_PATIENCE))
        with failing_clearly(path), connect as connection:
            known = "SELECT 1 FROM sqlite_master WHERE name = 'question'"
            if not connection.execute(known).fetchone():
                return None  # a run that was killed early
            found = connection.execute("SELECT value FROM question WHERE name = 'seed'").fetchone()
            return None if found is None else int(found[0])

    def _different(self, question: dict[str, str]) -> list[str]:
        """Write the question, or return the parts that differ from the one that is there."""
        # Of two processes that start together one writes, the other compares.
        with self._transaction():
            known = dict(self._connection.execute("SELECT name, value FROM question"))
            if not known:
                self._connection.executemany("INSERT INTO question VALUES (?, ?)", question.items())
                known = question
        return [name for name in question if known.get(name) != question[name]]

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._connection.execute("COMMIT")
        except BaseException:
            if self._connection.in_transaction:  # SQLite rolls back by itself on a full disk
                self._connection.execute("ROLLBACK")
            raise

    def load(self, params: str, fold: int) -> dict[str, Any] | None:
        """Return the stored result of a cell on a fold, or None."""
        with failing_clearly(self.path):
            asked = "SELECT head, arrays FROM cells WHERE params = ? AND fold = ?"
            row = self._connection.execute(asked, (params, fold)).fetchone()
            if row is None:
                return None
            found: dict[str, Any] = json.loads(row[0])
            with np.load(io.BytesIO(row[1]), allow_pickle=False) as arrays:
                return {**found, **{name: arrays[name] for name in arrays.files}}

    def save(
        self, cells: Iterable[tuple[str, int, dict[str, Any]]], seconds: float = math.inf
    ) -> None:
        """Save results together, all or none; they took `seconds` of work."""
        rows = []
        for params, fold, values in cells:
            arrays = {name: each for name, each in values.items() if isinstance(each, np.ndarray)}
            head = {name: each for name, each in values.items() if name not in arrays}
            buffer = io.BytesIO()
            np.savez(buffer, allow_pickle=False, **arrays)
            rows.append((params, fold, json.dumps(head), buffer.getvalue()))
        with failing_clearly(self.path):
            self._at_stake += seconds
            waits = self._at_stake >= _AT_STAKE  # for this and all earlier cells to be on disk
            self._connection.execute(f"PRAGMA synchronous={'FULL' if waits else 'NORMAL'}")
            with self._transaction():
                self._connection.executemany(
                    "INSERT OR REPLACE INTO cells VALUES (?, ?, ?, ?)", rows
                )
            self._at_stake = 0.0 if waits else self._at_stake

    def close(self) -> None:
        """Close the file."""
        self._connection.close()


def fingerprint(*values: Any) -> str:
    """Return a hash of arrays (dense, CSR, tables, lists): shape, dtype and every byte."""
    digest = hashlib.sha256()
    for value in values:
        parts = [np.asarray(value)] if not sparse.issparse(value) else []
        if sparse.issparse(value):
            parts = [value.data, value.indices, value.indptr, np.array(value.shape)]
        for part in parts:
            digest.update(f"{part.shape} {part.dtype};".encode())
            if part.dtype == object:
                digest.update("\x1f".join(part.astype(str).ravel().tolist()).encode())
            else:
                digest.update(np.ascontiguousarray(part).tobytes())
    return digest.hexdigest()
