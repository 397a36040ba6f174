"""Finished cells on disk: one SQLite file in a folder, durable cell by cell, so that a killed sweep goes on where it was.

A store belongs to one question: data, weights, splits, dtype, seed and version of the algorithms are written when it is made, and
anything else is refused. Within it a cell on a fold is found by all of its parameters, whatever grid it was part of.
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

#: Raised by hand whenever the same seed gives another result.
ALGORITHMS = 10
_FILE = "sweep.sqlite"
#: Seconds to wait for another process that writes to the same store.
_PATIENCE = 60.0
#: Seconds of work that a failure of the machine may cost: cells that take milliseconds need not wait for the disk each. What a
#: process has saved outlives that process, however it ends.
_AT_STAKE = 1.0
#: What may be wrong with a store, by SQLite's primary codes: the system's number for it, and what to say.
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
#: Bytes: with less than this much free, a disk that cannot be written to is full.
_ROOM = 2**20
_SAYINGS = {
    errno.ENOSPC: "no space left on its disk; what was finished before is kept. Make room and begin again: it goes on from there",
    errno.EBUSY: f"another process has been writing to it for {_PATIENCE:g} seconds. Wait for it, or take another folder",
    errno.EACCES: "it cannot be written to. Take another folder, or mend its permissions",
    errno.EIO: "its disk cannot be read or written. Take a folder on another disk",
    errno.ENOMEM: "there is not enough memory to read it",
    errno.EILSEQ: "it is damaged. Delete it, or take another folder, and begin anew",
}


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


class StoreFailure(OSError):  # noqa: N818 - what it is
    """A store that cannot be read or written: `errno` tells why (full, in use, forbidden, damaged: EILSEQ), `filename` which."""

    def __init__(self, number: int, path: Path, detail: object = "") -> None:
        super().__init__(number, _SAYINGS[number], str(path))
        self.detail = str(detail)

    def __str__(self) -> str:
        return f"the store {self.filename}: {self.strerror}{f' ({self.detail})' if self.detail else ''}."


def check_storable(learner: Any) -> None:
    """Refuse draws that a store cannot tell apart: two closures with different seeds have the same text.

    A store finds cells by the text of their parameters, so a callable must have a repr that states its values.
    """
    sampling = getattr(learner, "sampling", None)
    text = repr(sampling)
    if callable(sampling) and (
        hasattr(sampling, "__qualname__") or " at 0x" in text or "..." in text
    ):
        raise ValueError(
            f"a sweep with a store cannot tell {sampling!r} from other functions. Pass a callable whose repr "
            "states its values, such as an instance of a frozen dataclass with a seed and a __call__ method."
        )


@contextlib.contextmanager
def failing_clearly(path: Path) -> Iterator[None]:
    """Whatever is wrong with a store, or with what it kept, is a StoreFailure."""
    try:
        yield
    except sqlite3.Error as error:
        code = (
            getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT) & 0xFF
        )  # without what SQLite adds in detail
        number = _FAULTS.get(code, errno.EILSEQ)
        with contextlib.suppress(OSError):
            if number in (errno.EIO, errno.EACCES) and shutil.disk_usage(path.parent).free < _ROOM:
                number = errno.ENOSPC
        raise StoreFailure(number, path, error) from error
    except (ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile) as error:
        raise StoreFailure(errno.EILSEQ, path, error) from error


class Store:
    """Cells by (parameters, fold)."""

    def __init__(self, folder: str | Path, question: dict[str, str]) -> None:
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.path = self.folder / _FILE
        with failing_clearly(self.path):
            self._connection = sqlite3.connect(
                self.path, timeout=_PATIENCE, check_same_thread=False, isolation_level=None
            )
            self._connection.execute("PRAGMA journal_mode=WAL")
            self._at_stake = 0.0
            self._connection.execute(
                "CREATE TABLE IF NOT EXISTS question (name TEXT PRIMARY KEY, value TEXT)"
            )
            self._connection.execute(
                "CREATE TABLE IF NOT EXISTS cells (params TEXT, fold INTEGER, head TEXT, arrays BLOB, PRIMARY KEY (params, fold))"
            )
            different = self._different(question)
        if different:
            raise OtherQuestion(self.folder, different)

    @staticmethod
    def recorded_seed(folder: str | Path) -> int | None:
        """The seed of an earlier run in this folder, if there was one."""
        path = Path(folder) / _FILE
        if not path.exists():
            return None
        with (
            failing_clearly(path),
            contextlib.closing(sqlite3.connect(path, timeout=_PATIENCE)) as connection,
        ):
            if not connection.execute(
                "SELECT 1 FROM sqlite_master WHERE name = 'question'"
            ).fetchone():
                return None  # a run that was killed before it asked
            found = connection.execute("SELECT value FROM question WHERE name = 'seed'").fetchone()
            return None if found is None else int(found[0])

    def _different(self, question: dict[str, str]) -> list[str]:
        """Write the question, or compare it with the one that is there: the parts that differ."""
        with (
            self._transaction()
        ):  # of two processes that start together one writes, the other compares
            known = dict(self._connection.execute("SELECT name, value FROM question"))
            if not known:
                self._connection.executemany("INSERT INTO question VALUES (?, ?)", question.items())
                known = question
        return [name for name in question if known.get(name) != question[name]]

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        """All of it or nothing; SQLite may have gone back by itself, as it does where the disk is full."""
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._connection.execute("COMMIT")
        except BaseException:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            raise

    def load(self, params: str, fold: int) -> dict[str, Any] | None:
        """Return the stored result of this cell on this fold, or None."""
        with failing_clearly(self.path):
            asked = "SELECT head, arrays FROM cells WHERE params = ? AND fold = ?"
            row = self._connection.execute(asked, (params, fold)).fetchone()
            if row is None:
                return None
            found: dict[str, Any] = json.loads(row[0])
            with np.load(io.BytesIO(row[1]), allow_pickle=False) as arrays:
                found.update({name: arrays[name] for name in arrays.files})
            return found

    def save(
        self, cells: Iterable[tuple[str, int, dict[str, Any]]], seconds: float = math.inf
    ) -> None:
        """Make cells durable together, all of them or none; `seconds` of work are in them."""
        rows = []
        for params, fold, values in cells:
            arrays = {
                name: value for name, value in values.items() if isinstance(value, np.ndarray)
            }
            head = {name: value for name, value in values.items() if name not in arrays}
            buffer = io.BytesIO()
            np.savez(buffer, allow_pickle=False, **arrays)
            rows.append((params, fold, json.dumps(head), buffer.getvalue()))
        with failing_clearly(self.path):
            self._at_stake += seconds
            waits = (
                self._at_stake >= _AT_STAKE
            )  # until this and all that was saved before are on the disk
            self._connection.execute(f"PRAGMA synchronous={'FULL' if waits else 'NORMAL'}")
            with self._transaction():
                self._connection.executemany(
                    "INSERT OR REPLACE INTO cells VALUES (?, ?, ?, ?)", rows
                )
            self._at_stake = 0.0 if waits else self._at_stake

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
            digest.update(
                plain.tobytes()
                if part.dtype != object
                else "\x1f".join(plain.ravel().tolist()).encode()
            )
    return digest.hexdigest()
