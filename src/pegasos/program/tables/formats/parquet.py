"""Parquet tables, decoded in a child process."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import polars as pl

from pegasos.program.tables.column_roles import Roles, matched, roles
from pegasos.program.tables.column_tables import Table, chunk, dataset, settled
from pegasos.program.tables.dataset import BadData, Dataset
from pegasos.program.tables.decoder import Decoder
from pegasos.program.tables.messages import shown, size
from pegasos.program.tables.read_options import MOST_COLUMNS, TOO_WIDE, ReadOptions, Wanted
from pegasos.program.tables.source import Source

NAME = "parquet"
EXTENSIONS = (".parquet", ".pq")
_SLICE = 16 * 2**20


def sniff(head: bytes) -> bool:
    return head.startswith(b"PAR1")


def read(source: Source, options: ReadOptions) -> Dataset:
    """The whole table; single precision stays where all columns have it."""
    limit = options.allowed()
    too_large = BadData(f"{source.name} takes more than {size(limit)} once read; give it more memory, or --drop columns.")
    with Decoder(source, "parquet", "Parquet", limit) as decoder:
        file = _File(decoder, source)
        parts = roles(file.names, options, source.name)
        if file.rows * len(parts.needed) * 4 > limit:
            raise too_large
        frames, total = [], 0.0
        for frame in file.slices(parts, _SLICE):
            frames.append(frame)
            if (total := total + frame.estimated_size()) > limit:
                raise too_large
    if not frames:
        raise BadData(f"{source.name} has no rows.")
    table = _table(source, file.names, pl.concat(frames), parts, 0)
    columns = {place: settled(table, place, place in parts.text) for place in parts.needed}
    return dataset(replace(table, columns=columns), parts, options, [])


def stream(source: Source, wanted: Wanted, options: ReadOptions) -> Iterator[Dataset]:
    """Slices of rows, decoded one after the other."""
    with Decoder(source, "parquet", "Parquet", options.allowed()) as decoder:
        file = _File(decoder, source)
        parts, first = matched(file.names, True, wanted, options, source.name), 0
        for frame in file.slices(parts, wanted.chunk):
            yield chunk(_table(source, file.names, frame, parts, first), parts, wanted)
            first += frame.height


class _File:
    """What the decoder says of a file, and its rows."""

    def __init__(self, decoder: Decoder, source: Source) -> None:
        self._decoder, self._source = decoder, source
        about = decoder.describe()
        self.names, self._kinds, self.rows = about["names"], about["kinds"], about["rows"]
        if len(self.names) > MOST_COLUMNS:
            raise BadData(f"{source.name} has {len(self.names)} columns; {TOO_WIDE}")

    def slices(self, parts: Roles, amount: int) -> Iterator[pl.DataFrame]:
        """The columns that play a part, named by their place."""
        for place in parts.needed:
            kind, name = self._kinds[place], shown(self.names[place])
            if kind.startswith("?"):
                what = f"column {name} is of type {shown(kind[1:])}, neither numbers nor words"
                raise BadData(f"{self._source.name}: {what}; turn it into one of them, or leave it out with --drop {name}.")
        names = [self.names[place] for place in parts.needed]
        step = max(1, amount // (8 * max(1, len(names))))
        for start in range(0, self.rows, step):
            with self._decoder.part(columns=names, start=start, count=step) as path:
                try:
                    frame = pl.read_ipc(path.read_bytes())
                    frame.columns = [str(place) for place in parts.needed]
                except (Exception, pl.exceptions.PanicException) as error:
                    raise BadData(f"{self._source.name} is damaged: its values cannot be read.") from error
            yield frame


def _table(source: Source, names: list[str], frame: pl.DataFrame, parts: Roles, first: int) -> Table:
    columns = {place: frame[str(place)] for place in parts.needed}
    return Table(source.name, names, columns, lambda row: f"row {row + first + 1}")
