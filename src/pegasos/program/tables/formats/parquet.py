"""Parquet tables, decoded in a child process."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import polars as pl

from pegasos.program.tables.column_roles import Roles, matched, outlined, roles
from pegasos.program.tables.column_tables import Table, chunk, dataset, parts_and_kinds, settled
from pegasos.program.tables.dataset import BadData, Dataset, NoRows, TooLarge
from pegasos.program.tables.decoder import Decoder
from pegasos.program.tables.messages import shown, size
from pegasos.program.tables.read_options import MOST_COLUMNS, TOO_WIDE, Outline, ReadOptions, Wanted
from pegasos.program.tables.shards import Shards, same_columns
from pegasos.program.tables.source import Source

NAME = "parquet"
EXTENSIONS = (".parquet", ".pq")
_SLICE = 16 * 2**20
#: Bytes of the first rows, in which identifiers and dates are detected.
_FIRST_ROWS = 4 * 2**20
#: Approximate bytes per text in memory, and maximum size ratio of a slice of texts to numbers.
_WORD, _SWELL = 24, 4


def sniff(head: bytes) -> bool:
    """Return whether the bytes are the signature of Parquet."""
    return head.startswith(b"PAR1")


def read(shards: Shards, options: ReadOptions) -> Dataset:
    """Read the whole table; it is float32 if all columns are."""
    limit = options.allowed()
    too_large = TooLarge(
        f"{shards.name} takes more than {size(limit)} once read; give it more memory, or --drop columns."
    )
    frames: list[tuple[Source, pl.DataFrame]] = []
    names: list[str] = []
    counts, total = [], 0.0
    for source in shards.sources:
        with Decoder(source, "parquet", "Parquet", limit) as decoder:
            file = _File(decoder, source)
            if not names:
                names, parts = file.names, roles(file.names, options, shards.name)
            places = same_columns(names, file.names, source.name, shards.sources[0].name)
            counts.append(file.rows)
            if not file.rows:
                shards.skip(source, NoRows(f"{source.name} has no rows."))
            if sum(counts) * len(parts.needed) * 4 > limit:
                raise too_large
            for frame in file.slices({place: places[place] for place in parts.needed}, _SLICE):
                frames.append((source, frame))
                if (total := total + frame.estimated_size()) > limit:
                    raise too_large
    columns = {place: _joined(frames, place, names[place]) for place in parts.needed}
    table = Table(shards.name, names, columns, shards.rows_of(counts))
    columns = {place: settled(table, place, place in parts.text) for place in columns}
    return dataset(replace(table, columns=columns), parts, options, [])


def _joined(frames: list[tuple[Source, pl.DataFrame]], place: int, name: str) -> pl.Series:
    """Concatenate a column of all files: text or numbers.

    A part without any values has either type.
    """
    parts = [(source, frame[str(place)]) for source, frame in frames]
    full = [
        (source, series) for source, series in parts if series.null_count() < len(series)
    ] or parts
    first, words = full[0][0], full[0][1].dtype == pl.String
    for source, series in full:
        if (series.dtype == pl.String) != words:
            kinds = ("numbers", "words") if words else ("words", "numbers")
            what = f"column {shown(name)} holds {kinds[0]}, and {kinds[1]} in {first.name}"
            raise BadData(
                f"{source.name}: {what}; write it as one of them in all files, or leave it out with --drop {name}."
            )
    dtype = pl.String if words else pl.Float64
    if len({series.dtype for _, series in parts}) == 1:
        return pl.concat([series for _, series in parts])
    return pl.concat([series.cast(dtype) for _, series in parts])


def outline(shards: Shards, options: ReadOptions) -> Outline:
    """Describe a table by the schema and first rows of its first file.

    Other files are assumed to have as many rows per byte.
    """
    source = shards.sources[0]
    with Decoder(source, "parquet", "Parquet", options.allowed()) as decoder:
        file = _File(decoder, source)
        parts = roles(file.names, options, shards.name)
        frames = file.slices(
            {place: place for place in parts.needed}, min(_FIRST_ROWS, options.allowed() // _SWELL)
        )
        first = next(
            frames, pl.DataFrame(schema={str(place): file.dtype(place) for place in parts.needed})
        )
    table = _table(source, file.names, first, parts, 0)
    columns = {place: settled(table, place, place in parts.text) for place in parts.needed}
    parts, kinds, notes = parts_and_kinds(columns, file.names, parts)
    width = sum(
        _WORD if file.kinds[place] == "text" else 4 if file.kinds[place] == "single" else 8
        for place in parts.needed
    )
    total = sum(each.path.stat().st_size for each in shards.sources) / source.path.stat().st_size
    return outlined(file.names, parts, kinds, file.rows * width * total, notes)


def stream(shards: Shards, wanted: Wanted, options: ReadOptions) -> Iterator[Dataset]:
    """Yield slices of rows, decoded sequentially."""
    for source in shards.sources:
        with Decoder(source, "parquet", "Parquet", options.allowed()) as decoder:
            file = _File(decoder, source)
            parts, first = matched(file.names, True, wanted, options, source.name), 0
            for frame in file.slices({place: place for place in parts.needed}, wanted.chunk):
                yield chunk(_table(source, file.names, frame, parts, first), parts, wanted)
                first += frame.height


def _table(
    source: Source, names: list[str], frame: pl.DataFrame, parts: Roles, first: int
) -> Table:
    columns = {place: frame[str(place)] for place in parts.needed}
    return Table(source.name, names, columns, lambda row: f"row {row + first + 1}")


class _File:
    """Schema of a file from the decoder, and its rows."""

    def __init__(self, decoder: Decoder, source: Source) -> None:
        self._decoder, self._source = decoder, source
        about = decoder.describe()
        self.names, self.kinds, self.rows = about["names"], about["kinds"], about["rows"]
        if len(self.names) > MOST_COLUMNS:
            raise BadData(f"{source.name} has {len(self.names)} columns; {TOO_WIDE}")

    def dtype(self, place: int) -> type[pl.DataType]:
        """Return the type as which a column is read."""
        return {"text": pl.String, "single": pl.Float32}.get(self.kinds[place], pl.Float64)

    def slices(self, places: dict[int, int], amount: int) -> Iterator[pl.DataFrame]:
        """Yield slices of columns.

        `places` maps new column positions to positions in this file.
        """
        for place in places.values():
            kind, name = self.kinds[place], shown(self.names[place])
            if kind.startswith("?"):
                what = f"column {name} is of type {shown(kind[1:])}, neither numbers nor words"
                raise BadData(
                    f"{self._source.name}: {what}; turn it into one of them, or leave it out with --drop {name}."
                )
        names = [self.names[place] for place in places.values()]
        step = max(1, amount // (8 * max(1, len(names))))
        for start in range(0, self.rows, step):
            with self._decoder.part(columns=names, start=start, count=step) as path:
                try:
                    frame = pl.read_ipc(path.read_bytes())
                    frame.columns = [str(place) for place in places]
                except (Exception, pl.exceptions.PanicException) as error:
                    raise BadData(
                        f"{self._source.name} is damaged: its values cannot be read."
                    ) from error
            yield frame
