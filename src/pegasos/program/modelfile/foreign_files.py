"""What a file that is no model might be instead, so that the error can help."""

from __future__ import annotations

_PICKLE = (
    "it is a Python pickle. pegasos never opens pickles, which can run any code; "
    "load it where it was made, if you trust it, and save it with pegasos.save"
)
_BEGINNINGS: list[tuple[bytes | tuple[bytes, ...], str]] = [
    ((b"\x80", b"(lp", b"(dp", b"ccopy"), _PICKLE),
    (b"PK", "it is a zip archive (npz, skops, a spreadsheet?), and a model is never one"),
    (b"\x1f\x8b", "it is compressed with gzip (a joblib pickle, or a model to unpack first?)"),
    (b"x\x9c", "it is compressed with zlib, as joblib does. pegasos never opens pickles; save with pegasos.save"),
    (b"BZh", "it is compressed with bzip2; unpack it first"),
    (b"\xfd7zXZ", "it is compressed with xz; unpack it first"),
    (b"\x93NUMPY", "it is a single NumPy array"),
    (b"\x89HDF", "it is an HDF5 file: data, not a model"),
    (b"PAR1", "it is a Parquet file: data, not a model"),
    (b"SQLite", "it is a SQLite database (the store of a sweep?)"),
    (b"<", "it is HTML or XML (a download page instead of the file?)"),
    (b"version http", "it is a pointer of Git LFS; fetch the file itself"),
    (b"{", "it is JSON or text, without the arrays of a model"),
]


def kind_of(beginning: bytes) -> str:
    """A clause about the file that begins with these bytes."""
    stripped = beginning.lstrip()
    for mark, kind in _BEGINNINGS:
        if beginning.startswith(mark) or (mark == b"<" and stripped.startswith(mark)):
            return kind
    if stripped and all(32 <= byte < 127 or byte in b"\t\r\n" for byte in beginning):
        return "it is text (a table?)"
    return "it is damaged, or of another kind"
