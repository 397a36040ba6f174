"""Hostile files: false sizes, decompression bombs, binary data as text."""

from __future__ import annotations

import bz2
import gzip
import io
import random
import zipfile
from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import polars as pl


def parquet_bytes(frame: pl.DataFrame, **options: object) -> bytes:
    buffer = io.BytesIO()
    frame.write_parquet(buffer, **options)  # type: ignore[arg-type]
    return buffer.getvalue()


def npz_bytes(compressed: bool, **arrays: object) -> bytes:
    buffer = io.BytesIO()
    (np.savez_compressed if compressed else np.savez)(buffer, **arrays)  # type: ignore[arg-type]
    return buffer.getvalue()


def hdf5_bytes(fill: Callable[[h5py.File], object], folder: Path) -> bytes:
    path = folder / "claims.h5"
    with h5py.File(path, "w") as file:
        fill(file)
    return path.read_bytes()


def _lying(shape: str, dtype: str = "<f8") -> bytes:
    """Return an npz file whose X declares a false shape."""
    header = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}, }}"
    text = header.ljust(117) + "\n"
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr(
            "X.npy",
            b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode() + b"\0" * 64,
        )
        archive.writestr(
            "y.npy",
            b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode() + b"\0" * 64,
        )
    return buffer.getvalue()


def hostile(folder: Path) -> dict[str, bytes]:
    """Return hostile files by name."""
    linked = folder / "links.h5"
    with h5py.File(linked, "w") as file:
        file["X"], file["y"] = h5py.ExternalLink("/etc/passwd", "x"), [0, 1]
    big = pl.DataFrame({"a": np.zeros(30_000_000), "y": np.arange(30_000_000) % 2})
    return {
        "noise.csv": random.Random(1).randbytes(5000),
        "noise": random.Random(2).randbytes(5000),
        "ragged.csv": b"a,b,y\n1,2,0\n1,2\n1,2,3,4\n",
        "latin.csv": "a,b,y\nä,ö,0\nü,ß,1\n".encode("cp1252"),
        "half.csv": b"\xff\xfea\x00,\x00y\x00\n",
        "huge.csv": b"a,y\n" + b"1e999,0\n2,1\n" * 20,
        "nan.csv": b"a,y\n" + b"nan,0\nnan,1\n" * 20,
        "wide.csv": b",".join([b"1"] * 1_000_000) + b"\n",
        "wide.svm": b"1 1:2 1000000000000000:3\n0 1:2\n",
        "wider.svm": b"1 1:2 99999999999999999999999999:3\n0 1:2\n",
        "high.svm": b"1 1:2 2000000000:3\n0 1:2\n",
        "empty.csv": b"",
        "blank.csv": b"\n\n\n",
        "header.csv": b"a,b,y\n",
        "single.csv": b"a,y\n1,0\n2,0\n",
        "line.csv": b"1" * 70_000_000,
        "zeros.csv": b"a,y\n1,\x00\n",
        "open.csv": b'a,b,y\n1,"x,0\n' + b"2,y,1\n" * 200_000,
        "quotes.csv": b'"' * 3_000_001,
        "odd.csv": b"a,b,y\n" + b',"""x,"' * 300_000,
        "commas.csv": b"," * 3_000_000,
        "bomb.csv.gz": gzip.compress(b"0," * 200_000_000, mtime=0),
        "lines.csv.gz": gzip.compress(b"\n" * 800_000_000, 1, mtime=0),
        "rows.csv.gz": gzip.compress(b"0,1\n1,0\n" * 30_000_000, 1, mtime=0),
        "rows.svm.gz": gzip.compress(b"1 1:1\n0 1:1\n" * 10_000_000, 1, mtime=0),
        "bomb.csv.bz2": bz2.compress(b"\0" * 500_000_000),
        "bomb.npz": npz_bytes(True, X=np.zeros((20_000_000, 4)), y=np.zeros(20_000_000)),
        "lying.npz": _lying("(1000000000000, 1000000)"),
        "negative.npz": _lying("(-8, -1)"),
        "object.npz": _lying("(8,)", "|O"),
        "deep.npz": _lying("(" + "1," * 20 + ")"),
        "noise.parquet": b"PAR1" + random.Random(3).randbytes(3000) + b"PAR1",
        "bomb.parquet": parquet_bytes(big, row_group_size=30_000_000),
        "links.h5": linked.read_bytes(),
        "swollen.h5": hdf5_bytes(lambda file: _swollen(file, (10_000_000, 1000)), folder),
        "claims.h5": hdf5_bytes(lambda file: _swollen(file, (2**40, 2**10)), folder),
        "packed.h5.gz": gzip.compress(linked.read_bytes(), mtime=0),
        "sheet.xlsx": b"PK\x03\x04" + b"\0" * 22 + b"\x08\0\0\0sheet.xml",
    }


def _swollen(file: h5py.File, shape: tuple[int, int]) -> None:
    file.create_dataset("X", shape=shape, dtype="f8", chunks=(1000, 100), compression="gzip")
    file["y"] = np.arange(10)
