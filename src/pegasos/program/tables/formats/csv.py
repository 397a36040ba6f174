"""Delimited text with any common separator, with or without header, quotes and compression."""

from __future__ import annotations

import codecs
from collections.abc import Iterator, Sequence
from functools import partial

from pegasos.program.tables.csv_layout import SAMPLE_BYTES, find_layout
from pegasos.program.tables.csv_records import line_of, parse
from pegasos.program.tables.dataset import NoRows
from pegasos.program.tables.read_options import Opening
from pegasos.program.tables.source import Source
from pegasos.program.tables.table import Block, TableFile
from pegasos.program.tables.text_chunks import Chunk, chunks

NAME = "csv"
EXTENSIONS = (".csv", ".tsv", ".tab", ".txt", ".dat", ".data")
#: Maximum ratio of decompressed text to the memory limit for decoded values.
_SWELL = 8


def sniff(head: bytes) -> bool:
    """Return whether the bytes have no zeros and few control characters."""
    odd = sum(head.count(bytes([code])) for code in range(32) if code not in (9, 10, 12, 13))
    return head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) or (
        b"\0" not in head and odd <= len(head) // 100
    )


class TextFile(TableFile):
    """One file of delimited text."""

    def __init__(self, source: Source, expected: Sequence[str], how: Opening) -> None:
        self._source, self._encoding = source, how.options.encoding
        self._most = None if how.limit is None else _SWELL * how.limit
        expected = expected or (how.wanted.names if how.wanted else ())
        beginning = next(self._chunks(SAMPLE_BYTES), None)
        if beginning is None:
            raise NoRows(f"{source.name} holds nothing but blank lines.")
        found = find_layout(source.name, beginning, expected)
        self._separator, self.names, self.header, self.notes = found

    def _chunks(self, amount: int) -> Iterator[Chunk]:
        found = chunks(self._source, self._encoding, amount, self._most)
        return (chunk for chunk in found if chunk.data.strip())

    def blocks(self, places: Sequence[int], amount: int) -> Iterator[Block]:
        """Yield the rows of some columns as text."""
        skipped, commas = int(self.header), self._separator != ","
        for chunk in self._chunks(amount):
            frame = parse(self._source.name, chunk, self._separator, len(self.names), places)
            frame = frame.slice(skipped)
            if frame.height:
                where = partial(self._where, chunk, skipped)
                share = len(chunk.data) / self._source.unpacked_bytes
                yield Block(frame, where, share, commas)
            skipped = 0

    def _where(self, chunk: Chunk, skipped: int, row: int) -> str:
        return f"line {line_of(chunk, self._separator, row + skipped)}"


open_file = TextFile
