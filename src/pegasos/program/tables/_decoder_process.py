"""The child process that decodes Parquet and HDF5: damaged files can stop these decoders, and then only the child dies.

It is run as a file and imports nothing of ours, so that it starts at once. Words go both ways as lines of JSON: it tells what the
file holds, is asked for parts, and answers each with the name of a file in a folder that its parent made.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
from typing import Any

_TOO_LARGE = "a slice of rows takes more memory than is allowed"


class RefusedError(Exception):
    """The file is sound, but not what we read."""


def _limit(allowed: int, seconds: int) -> None:
    """Bounds of memory and time, where the system has them: the base is what the decoders map before they read anything."""
    try:
        import resource
    except ImportError:
        return
    for name, bound in {
        "AS": 3 * 2**30 + 4 * allowed,
        "DATA": 2**29 + 4 * allowed,
        "CPU": seconds,
        "CORE": 0,
    }.items():
        with contextlib.suppress(ValueError, OSError, AttributeError):
            resource.setrlimit(getattr(resource, f"RLIMIT_{name}"), (bound, bound))


def _say(**words: Any) -> None:
    print(json.dumps(words), flush=True)


class Parquet:
    """A table; parts are slices of some columns."""

    def __init__(self, path: str) -> None:
        import polars as pl

        self.pl, self.lazy = pl, pl.scan_parquet(path, glob=False, cache=False)
        self.kinds = {name: self.kind(dtype) for name, dtype in self.lazy.collect_schema().items()}
        rows = int(self.lazy.select(pl.len()).collect().item())
        self.about = {"names": list(self.kinds), "kinds": list(self.kinds.values()), "rows": rows}

    def kind(self, dtype: Any) -> str:
        """number, single (in float32) or text, which dates are written as; with a question mark what is none of them."""
        if dtype == self.pl.Float32:
            return "single"
        if dtype.is_numeric() or dtype in (self.pl.Boolean, self.pl.Null):
            return "number"
        words = (self.pl.String, self.pl.Categorical, self.pl.Enum, self.pl.Date, self.pl.Datetime)
        return "text" if dtype in words else f"?{dtype}"

    def part(self, asked: dict[str, Any], path: str, allowed: int) -> None:
        frame = self.lazy.select(asked["columns"]).slice(asked["start"], asked["count"]).collect()
        if frame.estimated_size() > allowed:
            raise RefusedError(_TOO_LARGE)
        moments = self.pl.selectors.datetime().dt.convert_time_zone("UTC")
        frame = frame.with_columns(moments.dt.strftime("%Y-%m-%d %H:%M:%S"))
        types = {"text": self.pl.String, "single": self.pl.Float32, "number": self.pl.Float64}
        frame = frame.cast({name: types[self.kinds[name]] for name in asked["columns"]})
        frame.columns = [str(place) for place in range(frame.width)]
        frame.write_ipc(path, compression="uncompressed")


class Hdf5:
    """Datasets by path, at most one group deep; parts are slices of rows. Links out of the file are refused by name."""

    def __init__(self, path: str) -> None:
        import h5py

        self.h5py, self.file = h5py, h5py.File(path, "r", locking=False)
        self.arrays: dict[str, Any] = {}
        self.look(self.file, "", deeper=True)
        self.about = {"arrays": self.arrays}

    def look(self, group: Any, prefix: str, deeper: bool) -> None:
        for name in group:
            path, link = prefix + name, group.get(name, getlink=True)
            if len(self.arrays) > 1000:
                raise RefusedError("more than 1000 datasets")
            if not isinstance(link, self.h5py.HardLink):
                kind = "an external" if isinstance(link, self.h5py.ExternalLink) else "a soft"
                raise RefusedError(f"{path} is {kind} link, which is not followed")
            item = group[name]
            if isinstance(item, self.h5py.Group) and deeper:
                self.look(item, f"{path}/", deeper=False)
            elif isinstance(item, self.h5py.Dataset):
                if item.is_virtual:
                    raise RefusedError(
                        f"{path} is a virtual dataset, whose values are in other files"
                    )
                if item.external:
                    raise RefusedError(f"{path} keeps its values in another file")
                if item.dtype.kind not in "biufS":
                    raise RefusedError(
                        f"{path} is of type {item.dtype}; only numbers and words of fixed length are read"
                    )
                stored = item.id.get_storage_size()
                self.arrays[path] = {
                    "shape": list(item.shape or ()),
                    "itemsize": item.dtype.itemsize,
                    "stored": stored,
                }

    def part(self, asked: dict[str, Any], path: str, allowed: int) -> None:
        import numpy as np

        item = self.file[asked["array"]]
        count = max(0, min(asked["count"], item.shape[0] - asked["start"]))
        width = int(np.prod(item.shape[1:], dtype=object)) * item.dtype.itemsize
        if width * count > allowed:
            raise RefusedError(_TOO_LARGE)
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
        _say(
            error=str(error)[:500],
            refused=isinstance(error, RefusedError),
            missing=isinstance(error, ImportError),
        )


if __name__ == "__main__":
    main()
