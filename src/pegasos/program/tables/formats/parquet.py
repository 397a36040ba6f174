"""Parquet tables, decoded in a child process."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import polars as pl

from pegasos.program.tables.cell_values import as_numbers, as_words
from pegasos.program.tables.column_roles import Roles, matched, roles
from pegasos.program.tables.column_tables import Table, chunk_of, dataset, label_chunk
from pegasos.program.tables.dataset import TEXT, BadData, Column, Dataset
from pegasos.program.tables.decoder import Decoder, used
from pegasos.program.tables.messages import shown, size
from pegasos.program.tables.read_options import MOST_COLUMNS, ReadOptions, Wanted
from pegasos.program.tables.source import Source

NAME = "parquet"
EXTENSIONS = (".parquet", ".pq")
_SLICE = 16 * 2**20


def sniff(head: bytes) -> bool:
    return head.startswith(b"PAR1")


def read(source: Source, options: ReadOptions) -> Dataset:
    """The whole table; single precision stays where all columns have it."""
    limit = options.allowed()
    with Decoder(source, "parquet", "Parquet", limit) as decoder:
        about = _about(decoder, source)
        parts = roles(about["names"], options, source.name)
        _readable(source, about, parts)
        if about["rows"] * len(parts.needed) * 4 > limit:
            raise BadData(
                f"{source.name}: {about['rows']} rows take more than {size(limit)}; give it more memory, or --drop columns."
            )
        frames, total = [], 0
        for frame in _slices(decoder, source, about, parts.needed, _SLICE):
            total += int(frame.estimated_size())
            if total > limit:
                raise BadData(f"{source.name} takes more than {size(limit)} once read; give it more memory, or --drop columns.")
            frames.append(frame)
    if not frames:
        raise BadData(f"{source.name} has no rows.")
    whole = pl.concat(frames)
    columns = {place: _checked(whole[str(place)], about["names"][place], source, place in parts.text) for place in parts.needed}
    return dataset(Table(source.name, about["names"], columns, _row), parts, options, [])


def _row(row: int) -> str:
    return f"row {row + 1}"


def _about(decoder: Decoder, source: Source) -> dict[str, Any]:
    about = decoder.describe()
    if len(about["names"]) > MOST_COLUMNS:
        raise BadData(
            f"{source.name} has {len(about['names'])} columns; a table may have {MOST_COLUMNS}. "
            "Write wide, sparse data as svmlight."
        )
    return about


def _readable(source: Source, about: dict[str, Any], parts: Roles) -> None:
    for place in parts.needed:
        kind, name = about["kinds"][place], about["names"][place]
        if kind.startswith("?"):
            raise BadData(
                f"{source.name}: column {shown(name)} is of type {shown(kind[1:])}, neither numbers nor words; "
                f"turn it into one of them, or leave it out with --drop {shown(name)}."
            )


def _slices(decoder: Decoder, source: Source, about: dict[str, Any], places: list[int], amount: int) -> Iterator[pl.DataFrame]:
    """Frames whose columns are named by their place."""
    names = [about["names"][place] for place in places]
    step = max(1, amount // (8 * max(1, len(places))))
    for start in range(0, about["rows"], step):
        with used(decoder.part(columns=names, start=start, count=step)) as path:
            try:
                frame = pl.read_ipc(path.read_bytes())
                frame.columns = [str(place) for place in places]
            except (Exception, pl.exceptions.PanicException) as error:
                raise BadData(f"{source.name} is damaged: its values cannot be read.") from error
        yield frame


def _checked(series: pl.Series, name: str, source: Source, text: bool, first: int = 0) -> pl.Series:
    """Numbers with NaN as missing, or words; infinite numbers are refused."""
    if series.dtype == pl.String:
        return as_words(series)
    series = series.fill_nan(None)
    infinite = series.is_infinite().fill_null(False)
    if infinite.any():
        row = int(infinite.arg_true()[0]) + first
        raise BadData(f"{source.name}, {_row(row)}, column {shown(name)}: the number is infinite.")
    return _words(series) if text else series


def _words(numbers: pl.Series) -> pl.Series:
    """Numbers as the words that a person would write: 7 rather than 7.0."""
    whole = numbers.cast(pl.Float64)
    if ((whole == whole.round()) & (whole.abs() < 2**53)).all():
        return numbers.cast(pl.Int64).cast(pl.String)
    return numbers.cast(pl.String)


def stream(source: Source, wanted: Wanted, options: ReadOptions) -> Iterator[Dataset]:
    """Slices of rows, decoded one after the other."""
    with Decoder(source, "parquet", "Parquet", options.allowed()) as decoder:
        about = _about(decoder, source)
        parts = matched(about["names"], True, wanted, options, source.name)
        _readable(source, about, parts)
        first = 0
        for frame in _slices(decoder, source, about, parts.needed, wanted.chunk):
            yield _chunk(source, about["names"], frame, parts, wanted, first)
            first += frame.height


def _chunk(source: Source, names: list[str], frame: pl.DataFrame, parts: Roles, wanted: Wanted, first: int) -> Dataset:
    def where(row: int) -> str:
        return f"{source.name}, {_row(row + first)}"

    series = []
    for place, column in zip(parts.features, wanted.columns, strict=True):
        found = _checked(frame[str(place)], column.name, source, column.kind == TEXT, first)
        series.append(_numeric(found, column, where).alias(column.name))
    y, name = None, None
    if parts.label is not None:
        name = names[parts.label]
        y = label_chunk(_checked(frame[str(parts.label)], name, source, False, first).alias(name), where)
    found_rows = chunk_of(series, y, name, wanted.frame, where)
    found_rows.name = source.name
    return found_rows


def _numeric(series: pl.Series, column: Column, where: Any) -> pl.Series:
    """A column as the model has it, also where the file holds its numbers as words."""
    if column.kind == TEXT:
        return series
    if series.dtype != pl.String:
        return series.cast(pl.Float64)
    found = as_numbers(series, False)
    for row in [*found.wrong[:1], *found.infinite[:1]]:
        raise BadData(f"{where(int(row))}, column {shown(column.name)}: {shown(series[int(row)])} is not a finite number.")
    return found.values
