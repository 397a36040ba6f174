"""File formats: their functions, their extensions, and how their first bytes are recognized."""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING

from pegasos.program.tables.dataset import BadData
from pegasos.program.tables.messages import listed, shown
from pegasos.program.tables.sources import REMEDY, Source, Sources

if TYPE_CHECKING:
    from pegasos.program.tables.table import TableFile

_JSON = (".json", ".jsonl", ".ndjson")
_NUMBER = rb"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
_PAIRS = rb"(?:,[^\s:,]*+)*+(?:\s++qid:\d++)?(?:\s++\d++:" + _NUMBER + rb")*+"
_SVMLIGHT_LINE = re.compile(rb"\s*+" + _NUMBER + _PAIRS + rb"\s*+(?:#.*)?")


#: Function of a module in this folder for each format; CSV comes last, as it accepts most text.
#: It takes (source, options, expected, limit) and returns a `TableFile`: `expected` are the names
#: that a header probably contains, `limit` is the maximum number of bytes of a table that is read
#: whole.
OPENERS = {
    "hdf5": "binary_files.open_hdf5",
    "npz": "binary_files.open_npz",
    "parquet": "binary_files.ParquetFile",
    "svmlight": "text_files.SvmlightFile",
    "csv": "csv_files.TextFile",
}
_EXTENSIONS = {
    "hdf5": (".h5", ".hdf5", ".hdf"),
    "npz": (".npz",),
    "parquet": (".parquet", ".pq"),
    "svmlight": (".svm", ".svmlight", ".libsvm", ".scale"),
    "csv": (".csv", ".tsv", ".tab", ".txt", ".dat", ".data"),
}


def find_format(head: bytes) -> str | None:
    """Return the format of a file that begins with these bytes."""
    if head.startswith(b"\x89HDF\r\n\x1a\n"):
        return "hdf5"
    if head.startswith(b"PAR1"):
        return "parquet"
    length = int.from_bytes(head[26:28], "little")  # of the name of a ZIP archive's first entry
    if head.startswith(b"PK\x03\x04") and head[30 : 30 + length].endswith(b".npy"):
        return "npz"
    if _begins_like_svmlight(head):
        return "svmlight"
    odd = sum(head.count(bytes([code])) for code in range(32) if code not in (9, 10, 12, 13))
    is_utf16 = head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    return "csv" if is_utf16 or (b"\0" not in head and odd <= len(head) // 100) else None


def _begins_like_svmlight(head: bytes) -> bool:
    """Return whether the first line with a colon is a label with pairs.

    Lines before it must be labels or comments.
    """
    for line in head.split(b"\n")[:50]:
        if line.strip() and not line.lstrip().startswith(b"#"):
            if b":" in line and len(line) == len(head) >= 2**16:
                line = line.rpartition(b" ")[0]  # the sample may end within a word
            if b":" in line or not _SVMLIGHT_LINE.fullmatch(line):
                return _SVMLIGHT_LINE.fullmatch(line) is not None
    return False


def find_opener(sources: Sources, asked: str | None = None) -> Callable[..., TableFile]:
    """Return the function that opens all files, by the requested or the detected format."""
    first, remedy = sources.files[0], "" if sources.is_single else f" {REMEDY}"
    if asked is not None and asked not in OPENERS:
        raise BadData(f"there is no format called {shown(asked)}; there are {listed(OPENERS)}.")
    found = [asked or _detect(source, remedy) for source in sources.files]
    for source, name in zip(sources.files, found, strict=True):
        if name != found[0]:
            kinds = f"{source.name} is {name}, and {first.name} is {found[0]}"
            raise BadData(f"{kinds}: the files of one table have one format.{remedy}")
    module, _, function = OPENERS[found[0]].partition(".")  # imports the libraries of the format
    opener: Callable[..., TableFile] = getattr(import_module(f"{__package__}.{module}"), function)
    return opener


def _detect(source: Source, remedy: str) -> str:
    """Return the format by content; CSV, which most text looks like, yields to the extension."""
    if source.head.lstrip()[:1] in (b"{", b"[") or source.extension in _JSON:
        how = "polars.read_json (or read_ndjson for a row per line) and write_csv do that"
        raise BadData(f"{source.name} is JSON, which is not read; {how}.")
    by_content = find_format(source.head)
    by_name = next((name for name, ends in _EXTENSIONS.items() if source.extension in ends), None)
    if by_content == "csv" and by_name == "svmlight":
        return by_name
    if found := by_content or by_name:
        return found
    zipped = source.head.startswith(b"PK")
    hint = " It is a ZIP archive, as spreadsheets are: save the sheet as CSV." if zipped else ""
    what = f"is in no format that is known; there are {listed(OPENERS)}.{hint}{remedy}"
    raise BadData(f"{source.name} {what}")
