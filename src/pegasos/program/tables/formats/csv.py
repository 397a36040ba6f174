"""Tables of text: any usual separator, with or without names, quoted or not, packed or not."""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterator

import polars as pl

from pegasos.program.tables.cell_values import as_numbers, as_words
from pegasos.program.tables.column_roles import Roles, matched, roles
from pegasos.program.tables.column_tables import Table, chunk_of, dataset, label_chunk
from pegasos.program.tables.csv_columns import SWELL, Piece, TextTable, read_columns
from pegasos.program.tables.csv_layout import Layout
from pegasos.program.tables.dataset import TEXT, BadData, Column, Dataset
from pegasos.program.tables.messages import shown
from pegasos.program.tables.read_options import ReadOptions, Wanted
from pegasos.program.tables.source import Source

NAME = "csv"
EXTENSIONS = (".csv", ".tsv", ".tab", ".txt", ".dat", ".data")
_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def sniff(head: bytes) -> bool:
    """Anything without zero bytes and with few control characters may be text."""
    if head.startswith(_UTF16):
        return True
    odd = sum(head.count(bytes([code])) for code in range(32) if code not in (9, 10, 12, 13))
    return b"\0" not in head and odd <= len(head) // 100


def read(source: Source, options: ReadOptions) -> Dataset:
    """The whole table."""
    limit = options.allowed()
    found = TextTable(source, options, most=SWELL * limit)
    layout = found.find_layout()
    parts = roles(layout.names, options, source.name, layout.header)
    columns, notes = read_columns(found, parts, limit)
    return dataset(Table(source.name, layout.names, columns, found.where), parts, options, [*layout.notes, *notes])


def stream(source: Source, wanted: Wanted, options: ReadOptions) -> Iterator[Dataset]:
    """Chunks of rows; numbers and words as the model has them, whatever they look like."""
    found = TextTable(source, options, amount=wanted.chunk)
    layout = found.find_layout(expected=wanted.names)
    parts = matched(layout.names, layout.header, wanted, options, source.name)
    for piece in found.pieces(parts.needed):
        yield _chunk(source, layout, parts, wanted, piece)


def _chunk(source: Source, layout: Layout, parts: Roles, wanted: Wanted, piece: Piece) -> Dataset:
    def where(row: int) -> str:
        return f"{source.name}, line {piece.line(row)}"

    series = [
        _cast(piece.frame[str(place)], column, layout.commas, where)
        for place, column in zip(parts.features, wanted.columns, strict=True)
    ]
    y, name = None, None
    if parts.label is not None:
        name = layout.names[parts.label]
        words = piece.frame[str(parts.label)]
        numbers = as_numbers(words, layout.commas)
        y = label_chunk((as_words(words) if len(numbers.wrong) else numbers.values).alias(name), where)
    found = chunk_of(series, y, name, wanted.frame, where)
    found.name = source.name
    return found


def _cast(words: pl.Series, column: Column, commas: bool, where: Callable[[int], str]) -> pl.Series:
    """A column as the model has it."""
    if column.kind == TEXT:
        return as_words(words).alias(column.name)
    found = as_numbers(words, commas)
    for rows, what in ((found.wrong, "a number, as the model needs it"), (found.infinite, "a finite number")):
        if len(rows):
            row = int(rows[0])
            raise BadData(f"{where(row)}, column {shown(column.name)}: {shown(words[row])} is not {what}.")
    return found.values.alias(column.name)
