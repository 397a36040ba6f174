"""File formats, one module each; modules in this folder are discovered automatically."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Protocol, cast

from pegasos.program.tables.dataset import BadData, Dataset
from pegasos.program.tables.messages import listed, shown
from pegasos.program.tables.read_options import ReadOptions, Wanted
from pegasos.program.tables.shards import REMEDY, Shards
from pegasos.program.tables.source import Source

_JSON = (".json", ".jsonl", ".ndjson")


class Format(Protocol):
    """Interface of a format module."""

    NAME: str
    EXTENSIONS: tuple[str, ...]

    def sniff(self, head: bytes) -> bool:
        """Return whether a file that begins with these bytes has the format."""

    def read(self, shards: Shards, options: ReadOptions) -> Dataset:
        """Read the whole table from all its files."""

    def stream(self, shards: Shards, wanted: Wanted, options: ReadOptions) -> Iterator[Dataset]:
        """Yield chunks of rows for a model."""


@cache
def formats() -> dict[str, Format]:
    """Return the formats by name; CSV comes last, since it accepts most text."""
    modules = [
        cast(Format, import_module(f"{__name__}.{found.name}")) for found in iter_modules(__path__)
    ]
    return {
        module.NAME: module
        for module in sorted(modules, key=lambda module: (module.NAME == "csv", module.NAME))
    }


def chosen(shards: Shards, asked: str | None = None) -> Format:
    """Return the common format of all files."""
    found = [
        _chosen(source, asked, f" {REMEDY}" if shards.of(source) else "")
        for source in shards.sources
    ]
    for source, form in zip(shards.sources, found, strict=True):
        if form is not found[0]:
            kinds = f"{source.name} is {form.NAME}, and {shards.sources[0].name} is {found[0].NAME}"
            raise BadData(f"{kinds}: the files of one table have one format. {REMEDY}")
    return found[0]


def _chosen(source: Source, asked: str | None, todo: str) -> Format:
    """Return the requested format, or the one detected from content and extension.

    The extension decides if the content is ambiguous.
    """
    known = formats()
    if asked is not None:
        if asked not in known:
            raise BadData(f"there is no format called {shown(asked)}; there are {listed(known)}.")
        return known[asked]
    if source.head.lstrip()[:1] in (b"{", b"[") or source.extension in _JSON:
        what = (
            "in Python, polars.read_json (or read_ndjson for a row per line) and write_csv do that"
        )
        raise BadData(f"{source.name} is JSON, which is not read: write it as CSV; {what}.")
    by_content = next((module for module in known.values() if module.sniff(source.head)), None)
    by_name = next(
        (module for module in known.values() if source.extension in module.EXTENSIONS), None
    )
    if by_content and (
        by_content.NAME != "csv" or by_name is None or by_name.NAME not in ("svmlight", "csv")
    ):
        return by_content  # the content of a text file named .parquet decides
    if by_name is not None:
        return by_name
    hint = (
        " It is a ZIP archive, as spreadsheets are: save the sheet as CSV."
        if source.head.startswith(b"PK")
        else ""
    )
    raise BadData(
        f"{source.name} is in no format that is known; there are {listed(known)}.{hint}{todo}"
    )
