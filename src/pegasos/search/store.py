"""Finished cells in one SQLite file, saved cell by cell, so that a killed search can resume.

A store belongs to one question: data, labels, weights, splits, seed and version of the algorithms
are written when it is created, and a search that differs in any of them is refused. Cells are
identified by all of their parameters and the fold, whatever grid they were part of.
"""

from __future__ import annotations

import contextlib
import errno
import io
import json
import shutil
import sqlite3
import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

#: Version of the algorithms, raised whenever the same seed gives another result.
ALGORITHMS = 10
_FILE = "sweep.sqlite"
_TABLES = (
    "question (name TEXT PRIMARY KEY, value TEXT)",
    "cells (params TEXT, fold INTEGER, head TEXT, arrays BLOB, PRIMARY KEY (params, fold))",
)
#: Seconds to wait for another process that writes to the same store.
_PATIENCE = 60.0
_BUSY = (errno.EBUSY, "another process has been writing to it for a minute: wait for it")
_FULL = (errno.ENOSPC, "no space left on its disk; what was finished before is kept: make room")
_CLOSED = (errno.EIO, "it cannot be read or written: mend its permissions, or take another folder")
_DAMAGED = (errno.EILSEQ, "it is damaged. Delete it, or take another folder, and begin anew")
#: Errors of SQLite by their primary codes; others mean damage.
_FAULTS = {
    sqlite3.SQLITE_FULL: _FULL,
    **dict.fromkeys((sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED), _BUSY),
    **dict.fromkeys((sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM), _CLOSED),
    **dict.fromkeys((sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_IOERR), _CLOSED),
    sqlite3.SQLITE_NOMEM: (errno.ENOMEM, "there is not enough memory to read it"),
}
#: Free bytes below which a failed write means that the disk is full.
_ROOM = 2**20


@dataclass(eq=False)
class OtherQuestion(ValueError):  # noqa: N818 - it describes the store
    """A store holds results of another search; `different` names the parts that differ."""

    folder: Path
    different: list[str]

    def __str__(self) -> str:
        return (
            f"the store {self.folder} holds results for other {', '.join(self.different)}. "
            "Use another folder, or delete this one if its results are no longer wanted."
        )


class StoreFailure(OSError):  # noqa: N818 - it describes an event
    """A store cannot be read or written; `errno` is the reason (EILSEQ: damaged)."""

    def __str__(self) -> str:
        return f"the store {self.filename}: {self.strerror} ({self.__cause__})."


@contextlib.contextmanager
def failing_clearly(path: Path) -> Iterator[None]:
    """Turn errors of SQLite and of stored values into a StoreFailure."""
    try:
        yield
    except sqlite3.Error as error:
        # The low byte is the primary code.
        code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT) & 0xFF
        fault = _FAULTS.get(code, _DAMAGED)
        with contextlib.suppress(OSError):
            if fault is _CLOSED and shutil.disk_usage(path.parent).free < _ROOM:
                fault = _FULL
        raise StoreFailure(*fault, str(path)) from error
    except (ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile) as error:
        raise StoreFailure(*_DAMAGED, str(path)) from error


def check_storable(learner: Any) -> None:
    """Refuse callables for `sampling` whose repr, which identifies cells, does not state values."""
    sampling = getattr(learner, "sampling", None)
    text = repr(sampling)
    unclear = hasattr(sampling, "__qualname__") or " at 0x" in text or "..." in text
    if callable(sampling) and unclear:
        raise ValueError(
            f"a sweep with a store cannot tell {sampling!r} from other functions. Pass a callable "
            "whose repr states its values, such as an instance of a frozen dataclass."
        )


class Store:
    """Results of cells by their parameters and fold.

    Saved cells survive the end of the process; a power failure may lose those of the last seconds.
    """

    def __init__(self, folder: str | Path, question: dict[str, str]) -> None:
        self.path = Path(folder) / _FILE
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with failing_clearly(self.path):
            self._connection = _connect(self.path)
            with self._connection:  # of two processes that start together one writes it
                asked = "INSERT OR IGNORE INTO question VALUES (?, ?)"
                self._connection.executemany(asked, question.items())
            known = dict(self._connection.execute("SELECT name, value FROM question"))
        different = [name for name in question if known[name] != question[name]]
        if different:
            raise OtherQuestion(self.path.parent, different)

    @staticmethod
    def recorded_seed(folder: str | Path) -> int | None:
        """Return the seed of an earlier run in this folder, if there was one."""
        path = Path(folder) / _FILE
        if not path.exists():
            return None
        with failing_clearly(path), contextlib.closing(_connect(path)) as connection:
            asked = "SELECT value FROM question WHERE name = 'seed'"
            found = connection.execute(asked).fetchone()
            return None if found is None else int(found[0])

    def load(self, params: str, fold: int) -> dict[str, Any] | None:
        """Return the stored result of a cell on a fold, or None."""
        with failing_clearly(self.path):
            asked = "SELECT head, arrays FROM cells WHERE params = ? AND fold = ?"
            row = self._connection.execute(asked, (params, fold)).fetchone()
            if row is None:
                return None
            found: dict[str, Any] = json.loads(row[0])
            with np.load(io.BytesIO(row[1]), allow_pickle=False) as arrays:
                return {**found, **arrays}

    def save(self, cells: Iterable[tuple[str, int, dict[str, Any]]]) -> None:
        """Save results together, all or none."""
        rows = []
        for params, fold, values in cells:
            arrays = {name: each for name, each in values.items() if isinstance(each, np.ndarray)}
            head = {name: each for name, each in values.items() if name not in arrays}
            buffer = io.BytesIO()
            np.savez(buffer, allow_pickle=False, **arrays)
            rows.append((params, fold, json.dumps(head), buffer.getvalue()))
        with failing_clearly(self.path), self._connection:
            asked = "INSERT OR REPLACE INTO cells VALUES (?, ?, ?, ?)"
            self._connection.executemany(asked, rows)

    def close(self) -> None:
        """Close the file."""
        self._connection.close()


def _connect(path: Path) -> sqlite3.Connection:
    """Open the file, and make its tables if it is new."""
    options: Any = {"check_same_thread": False, "isolation_level": "IMMEDIATE"}
    connection = sqlite3.connect(path, timeout=_PATIENCE, **options)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=NORMAL")
    for table in _TABLES:
        connection.execute(f"CREATE TABLE IF NOT EXISTS {table}")
    return connection
