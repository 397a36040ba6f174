"""Tables of text: any usual separator, with or without names, quoted or not, packed or not."""

from __future__ import annotations

import codecs
from collections.abc import Iterator

from pegasos.program.tables.column_roles import matched, roles
from pegasos.program.tables.column_tables import Table, chunk, dataset
from pegasos.program.tables.csv_columns import SWELL, TextTable, read_columns
from pegasos.program.tables.dataset import Dataset
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
    table = Table(source.name, layout.names, columns, found.where, layout.commas)
    return dataset(table, parts, options, [*layout.notes, *notes])


def stream(source: Source, wanted: Wanted, options: ReadOptions) -> Iterator[Dataset]:
    """Chunks of rows; numbers and words as the model has them, whatever they look like."""
    found = TextTable(source, options, amount=wanted.chunk)
    layout = found.find_layout(expected=wanted.names)
    parts = matched(layout.names, layout.header, wanted, options, source.name)
    for piece in found.pieces(parts.needed):
        columns = {place: piece.frame[str(place)] for place in parts.needed}
        yield chunk(Table(source.name, layout.names, columns, piece.where, layout.commas), parts, wanted)
