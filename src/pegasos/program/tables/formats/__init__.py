"""File formats, one module each; modules in this folder are discovered automatically."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Protocol, cast

from pegasos.program.tables.dataset import BadData
from pegasos.program.tables.messages import listed, shown
from pegasos.program.tables.read_options import Opening
from pegasos.program.tables.shards import REMEDY, Shards
from pegasos.program.tables.source import Source
from pegasos.program.tables.table import TableFile

_JSON = (".json", ".jsonl", ".ndjson")


class Format(Protocol):
    """Interface of a format module."""

    NAME: str
    EXTENSIONS: tuple[str, ...]

    def sniff(self, head: bytes) -> bool:
        """Return whether a file that begins with these bytes has the format."""

    def open_file(self, source: Source, expected: Sequence[str], how: Opening) -> TableFile:
        """Open a file.

        Parameters
        ----------
        source : Source
            The file.
        expected : sequence of str
            Names that a header probably contains.
        how : Opening
            Options and purpose.
        """


@cache
def formats() -> dict[str, Format]:
    """Return the formats by name; CSV comes last, since it accepts most text."""
    names = [found.name for found in iter_modules(__path__)]
    modules = [cast(Format, import_module(f"{__name__}.{name}")) for name in names]
    modules.sort(key=lambda module: (module.NAME == "csv", module.NAME))
    return {module.NAME: module for module in modules}


def choose_format(shards: Shards, asked: str | None = None) -> Format:
    """Return the common format of all files: the requested or the detected one."""
    first = shards.sources[0]
    remedy = f" {REMEDY}" if shards.of(first) else ""
    found = [_choose(source, asked, remedy) for source in shards.sources]
    for source, form in zip(shards.sources, found, strict=True):
        if form is not found[0]:
            kinds = f"{source.name} is {form.NAME}, and {first.name} is {found[0].NAME}"
            raise BadData(f"{kinds}: the files of one table have one format.{remedy}")
    return found[0]


def _choose(source: Source, asked: str | None, remedy: str) -> Format:
    """Return the format by content; CSV, which most text looks like, yields to the extension."""
    known = formats()
    if asked is not None:
        if asked not in known:
            raise BadData(f"there is no format called {shown(asked)}; there are {listed(known)}.")
        return known[asked]
    if source.head.lstrip()[:1] in (b"{", b"[") or source.extension in _JSON:
        how = "polars.read_json (or read_ndjson for a row per line) and write_csv do that"
        raise BadData(f"{source.name} is JSON, which is not read; {how}.")
    by_content = next((form for form in known.values() if form.sniff(source.head)), None)
    by_name = next((form for form in known.values() if source.extension in form.EXTENSIONS), None)
    is_text = by_content is known["csv"]
    if is_text and by_name is not None and by_name.NAME in ("svmlight", "csv"):
        return by_name  # a text file called .parquet is CSV
    if found := by_content or by_name:
        return found
    zipped = source.head.startswith(b"PK")
    hint = " It is a ZIP archive, as spreadsheets are: save the sheet as CSV." if zipped else ""
    what = f"is in no format that is known; there are {listed(known)}.{hint}{remedy}"
    raise BadData(f"{source.name} {what}")
