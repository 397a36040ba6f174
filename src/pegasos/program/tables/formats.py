"""File formats: their extensions, how their first bytes are recognized, and their modules."""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable
from importlib import import_module
from typing import Any, NamedTuple

from pegasos.program.tables.dataset import BadData
from pegasos.program.tables.messages import listed, shown
from pegasos.program.tables.sources import REMEDY, Source, Sources

_JSON = (".json", ".jsonl", ".ndjson")
_NUMBER = rb"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
_PAIRS = rb"(?:,[^\s:,]*+)*+(?:\s++qid:\d++)?(?:\s++\d++:" + _NUMBER + rb")*+"
_SVMLIGHT_LINE = re.compile(rb"\s*+" + _NUMBER + _PAIRS + rb"\s*+(?:#.*)?")


class Format(NamedTuple):
    """Format of files.

    `opener` is a function of a module in this folder. `opener(source, options, expected, limit)`
    returns a `TableFile`: `expected` are the names that a header probably contains, and `limit` is
    the maximum number of bytes of a table that is read whole.
    """

    name: str
    extensions: tuple[str, ...]
    #: Whether a file that begins with these bytes has the format.
    sniff: Callable[[bytes], bool]
    opener: str

    def open_file(self, *given: Any) -> Any:
        """Open a file; the module and its libraries are imported by the first call."""
        module, _, function = self.opener.partition(".")
        return getattr(import_module(f"{__package__}.{module}"), function)(*given)


def _begins_like_hdf5(head: bytes) -> bool:
    return head.startswith(b"\x89HDF\r\n\x1a\n")


def _begins_like_parquet(head: bytes) -> bool:
    return head.startswith(b"PAR1")


def _begins_like_npz(head: bytes) -> bool:
    """Return whether the bytes begin a ZIP archive whose first entry is an array."""
    length = int.from_bytes(head[26:28], "little")
    return head.startswith(b"PK\x03\x04") and head[30 : 30 + length].endswith(b".npy")


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


def _begins_like_text(head: bytes) -> bool:
    """Return whether the bytes have no zeros and few control characters."""
    odd = sum(head.count(bytes([code])) for code in range(32) if code not in (9, 10, 12, 13))
    return head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) or (
        b"\0" not in head and odd <= len(head) // 100
    )


_FORMATS = (
    Format("hdf5", (".h5", ".hdf5", ".hdf"), _begins_like_hdf5, "array_formats.open_hdf5"),
    Format("npz", (".npz",), _begins_like_npz, "array_formats.open_npz"),
    Format("parquet", (".parquet", ".pq"), _begins_like_parquet, "parquet_files.ParquetFile"),
    Format(
        "svmlight",
        (".svm", ".svmlight", ".libsvm", ".scale"),
        _begins_like_svmlight,
        "svmlight_files.SvmlightFile",
    ),
    Format(
        "csv",
        (".csv", ".tsv", ".tab", ".txt", ".dat", ".data"),
        _begins_like_text,
        "csv_files.TextFile",
    ),
)
#: The formats by name; CSV comes last, since it accepts most text.
FORMATS = {form.name: form for form in _FORMATS}


def choose_format(sources: Sources, asked: str | None = None) -> Format:
    """Return the common format of all files: the requested or the detected one."""
    first, remedy = sources.files[0], "" if sources.is_single else f" {REMEDY}"
    found = [_choose(source, asked, remedy) for source in sources.files]
    for source, form in zip(sources.files, found, strict=True):
        if form is not found[0]:
            kinds = f"{source.name} is {form.name}, and {first.name} is {found[0].name}"
            raise BadData(f"{kinds}: the files of one table have one format.{remedy}")
    return found[0]


def _choose(source: Source, asked: str | None, remedy: str) -> Format:
    """Return the format by content; CSV, which most text looks like, yields to the extension."""
    if asked is not None:
        if asked not in FORMATS:
            raise BadData(f"there is no format called {shown(asked)}; there are {listed(FORMATS)}.")
        return FORMATS[asked]
    if source.head.lstrip()[:1] in (b"{", b"[") or source.extension in _JSON:
        how = "polars.read_json (or read_ndjson for a row per line) and write_csv do that"
        raise BadData(f"{source.name} is JSON, which is not read; {how}.")
    known = list(FORMATS.values())
    by_content = next((form for form in known if form.sniff(source.head)), None)
    by_name = next((form for form in known if source.extension in form.extensions), None)
    is_text = by_content is FORMATS["csv"]
    if is_text and by_name is not None and by_name.name in ("svmlight", "csv"):
        return by_name  # a text file called .parquet is CSV
    if found := by_content or by_name:
        return found
    zipped = source.head.startswith(b"PK")
    hint = " It is a ZIP archive, as spreadsheets are: save the sheet as CSV." if zipped else ""
    what = f"is in no format that is known; there are {listed(FORMATS)}.{hint}{remedy}"
    raise BadData(f"{source.name} {what}")
