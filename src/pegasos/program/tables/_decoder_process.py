"""The child process that decodes Parquet and HDF5: damaged files can stop these decoders, and then only the child dies.

It is run as a file and imports nothing of ours, so that it starts at once. Words go both ways as lines of JSON: it tells what the
file holds, is asked for parts, and answers each with the name of a file in a folder that its parent made.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any


class RefusedError(Exception):
    """The file is sound, but not what we read."""


def _limit(allowed: int, seconds: int) -> None:
    """Bounds of memory and time, where the system has them: the base is what the decoders map before they read anything."""
    try:
        import resource
    except ImportError:
        return
    for name, bound in (
        ("RLIMIT_AS", 3 * 2**30 + 4 * allowed),
        ("RLIMIT_DATA", 2**29 + 4 * allowed),
        ("RLIMIT_CPU", seconds),
        ("RLIMIT_CORE", 0),
    ):
        try:
            resource.setrlimit(getattr(resource, name), (bound, bound))
        except (ValueError, OSError, AttributeError):
            continue


def _say(**words: Any) -> None:
    sys.stdout.write(json.dumps(words) + "\n")
    sys.stdout.flush()


class Parquet:
    """A table; parts are slices of some columns."""

    def __init__(self, path: str) -> None:
        import polars as pl

        self.lazy = pl.scan_parquet(path, glob=False, cache=False)
        self.schema = self.lazy.collect_schema()
        rows = int(self.lazy.select(pl.len()).collect().item())
        self.about = {"names": list(self.schema), "kinds": [_kind(dtype) for dtype in self.schema.values()], "rows": rows}

    def part(self, asked: dict[str, Any], path: str, allowed: int) -> None:
        import polars as pl

        frame = self.lazy.select(asked["columns"]).slice(asked["start"], asked["count"]).collect()
        if frame.estimated_size() > allowed:
            raise RefusedError("a slice of rows takes more memory than is allowed")
        kinds = {"text": pl.String, "single": pl.Float32, "number": pl.Float64}
        frame = frame.select(pl.col(name).cast(kinds[_kind(self.schema[name])]) for name in asked["columns"])
        frame.columns = [str(place) for place in range(frame.width)]
        frame.write_ipc(path, compression="uncompressed")


def _kind(dtype: Any) -> str:
    """number, single (in float32) or text; with a question mark what is none of them."""
    import polars as pl

    if dtype == pl.Float32:
        return "single"
    if dtype.is_numeric() or dtype in (pl.Boolean, pl.Null):
        return "number"
    return "text" if dtype in (pl.String, pl.Categorical, pl.Enum) else f"?{dtype}"


class Hdf5:
    """Datasets by path, at most one group deep; parts are slices of rows. Links out of the file are refused by name."""

    def __init__(self, path: str) -> None:
        import h5py

        self.h5py = h5py
        self.file = h5py.File(path, "r", locking=False)
        found: dict[str, Any] = {}
        for name in self.file:
            self._look(self.file, name, name, found, deeper=True)
        self.about = {"arrays": found}

    def _look(self, group: Any, name: str, path: str, found: dict[str, Any], deeper: bool) -> None:
        if len(found) > 1000:
            raise RefusedError("more than 1000 datasets")
        link = group.get(name, getlink=True)
        if not isinstance(link, self.h5py.HardLink):
            kind = "an external" if isinstance(link, self.h5py.ExternalLink) else "a soft"
            raise RefusedError(f"{path} is {kind} link, which is not followed")
        item = group[name]
        if isinstance(item, self.h5py.Group):
            if deeper:
                for each in item:
                    self._look(item, each, f"{path}/{each}", found, deeper=False)
        elif isinstance(item, self.h5py.Dataset):
            found[path] = self._about(item, path)

    def _about(self, item: Any, path: str) -> dict[str, Any]:
        if item.is_virtual:
            raise RefusedError(f"{path} is a virtual dataset, whose values are in other files")
        if item.external:
            raise RefusedError(f"{path} keeps its values in another file")
        if item.dtype.kind not in "biufS":
            raise RefusedError(f"{path} is of type {item.dtype}; only numbers and words of fixed length are read")
        stored = item.id.get_storage_size()
        return {"shape": list(item.shape or ()), "itemsize": item.dtype.itemsize, "stored": stored}

    def part(self, asked: dict[str, Any], path: str, allowed: int) -> None:
        import numpy as np

        item = self.file[asked["array"]]
        count = max(0, min(asked["count"], item.shape[0] - asked["start"]))
        width = int(np.prod(item.shape[1:], dtype=object)) * item.dtype.itemsize
        if width * count > allowed:
            raise RefusedError("a slice of rows takes more memory than is allowed")
        with open(path, "wb") as target:
            np.save(target, item[asked["start"] : asked["start"] + count], allow_pickle=False)


def main() -> None:
    """Describe the file, then answer what is asked until nothing more is."""
    asked = json.loads(sys.stdin.readline())
    _limit(asked["limit"], asked["seconds"])
    try:
        made: Any = {"parquet": Parquet, "hdf5": Hdf5}[asked["format"]](asked["path"])
        _say(**made.about)
        for count, line in enumerate(sys.stdin):
            target = os.path.join(asked["folder"], f"{count}.part")
            made.part(json.loads(line), target, asked["limit"])
            _say(file=target)
    except BaseException as error:  # panics of decoders are no Exceptions
        _say(error=str(error)[:500], refused=isinstance(error, RefusedError), missing=isinstance(error, ImportError))


if __name__ == "__main__":
    main()
