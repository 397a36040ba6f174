"""A table of text whole: one walk finds which columns are numbers and keeps them, a second one fetches the words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import polars as pl

from pegasos.program.tables.cell_values import as_numbers, as_words
from pegasos.program.tables.column_roles import Roles
from pegasos.program.tables.csv_chunks import Chunk, chunks
from pegasos.program.tables.csv_layout import Layout
from pegasos.program.tables.csv_parse import line_of, parse
from pegasos.program.tables.dataset import BadData
from pegasos.program.tables.messages import listed, shown, size
from pegasos.program.tables.read_options import ReadOptions
from pegasos.program.tables.source import Source

_AMOUNT = 8 * 2**20
#: Text of a packed file may be this many times as long as what it decodes to.
_SWELL = 8
#: From this share of numbers on, a word among them is taken for a mistake.
_MOSTLY = 0.95


@dataclass
class Piece:
    """Some rows as words, with the way back to their lines."""

    frame: pl.DataFrame
    chunk: Chunk
    skipped: int
    layout: Layout

    def line(self, row: int) -> int:
        return line_of(self.chunk, self.layout, row + self.skipped)


def walk(
    source: Source, layout: Layout, encoding: str | None, keep: list[int], most: int | None = None, amount: int = _AMOUNT
) -> Iterator[Piece]:
    """The table piece by piece, columns `keep` only."""
    first = True
    for chunk in chunks(source, encoding, amount, most):
        if not chunk.data.strip():
            continue
        frame = parse(source, chunk, layout, keep, first)
        skipped = int(first and layout.header)
        first = False
        if frame.height:
            yield Piece(frame, chunk, skipped, layout)


@dataclass
class Tally:
    """What a column held so far; the first odd values with their lines."""

    numbers: int = 0
    wrong: int = 0
    first_wrong: tuple[int, str] | None = None
    infinite: tuple[int, str] | None = None
    commas: bool = False

    def add(self, words: pl.Series, plain: pl.Series, commas: bool, piece: Piece) -> pl.Series:
        found = as_numbers(words, commas, plain)
        self.numbers += len(found.values) - found.values.null_count()
        self.wrong += len(found.wrong)
        self.commas |= found.commas
        if len(found.wrong) and self.first_wrong is None:
            self.first_wrong = piece.line(int(found.wrong[0])), words[int(found.wrong[0])]
        if len(found.infinite) and self.infinite is None:
            self.infinite = piece.line(int(found.infinite[0])), words[int(found.infinite[0])]
        return found.values


class Survey:
    """The columns of one file, read within a limit of bytes."""

    def __init__(self, source: Source, layout: Layout, roles: Roles, options: ReadOptions) -> None:
        self.source, self.layout, self.roles, self.options = source, layout, roles, options
        self.limit = options.allowed()
        self.used = 0

    def columns(self) -> tuple[dict[int, pl.Series], list[str]]:
        """All columns that play a part, and notes."""
        maybe = [place for place in self.roles.needed if place not in self.roles.text]
        tallies, found = self._numbers(maybe)
        notes = self._judge(tallies)
        words = [place for place in self.roles.needed if place not in found]
        found.update(self._words(words))
        return found, notes

    def _walk(self, keep: list[int]) -> Iterator[Piece]:
        return walk(self.source, self.layout, self.options.encoding, keep, _SWELL * self.limit)

    def _spend(self, count: int) -> None:
        self.used += count
        if self.used > self.limit:
            raise BadData(
                f"{self.source.name} takes more than {size(self.limit)} once read; give it more memory, or --drop columns."
            )

    def _numbers(self, keep: list[int]) -> tuple[dict[int, Tally], dict[int, pl.Series]]:
        """Tallies of columns, and the values of those that hold nothing but numbers and gaps."""
        tallies = {place: Tally() for place in keep}
        parts: list[pl.DataFrame] = []
        for piece in self._walk(keep):
            plain = piece.frame.cast(pl.Float64, strict=False)
            clean = plain.select(pl.all().is_finite().all(ignore_nulls=False)).row(0)  # null where something is missing
            for place, all_finite in zip(keep, clean, strict=True):
                if all_finite:
                    tallies[place].numbers += plain.height
                else:
                    name = str(place)
                    better = tallies[place].add(piece.frame[name], plain[name], self.layout.commas, piece)
                    plain = plain.with_columns(better.alias(name))
            good = [str(place) for place in keep if not tallies[place].wrong]
            self._spend(plain.height * len(good) * 8)
            parts = [*(part.select(good) for part in parts), plain.select(good)]
        whole = pl.concat(parts, rechunk=False) if parts else pl.DataFrame()
        return tallies, {int(name): whole[name] for name in whole.columns}

    def _words(self, keep: list[int]) -> dict[int, pl.Series]:
        if not keep:
            return {}
        parts = []
        for piece in self._walk(keep):
            part = piece.frame.select([as_words(piece.frame[str(place)]) for place in keep])
            self._spend(int(part.estimated_size()))
            parts.append(part)
        whole = pl.concat(parts) if parts else pl.DataFrame(schema={str(place): pl.String for place in keep})
        return {place: whole[str(place)] for place in keep}

    def _judge(self, tallies: dict[int, Tally]) -> list[str]:
        """Refuse columns that are numbers but for a few words, and infinite numbers."""
        commas = []
        for place, tally in tallies.items():
            name = self.layout.names[place]
            if tally.wrong and place in self.roles.features and tally.first_wrong is not None:
                total = tally.numbers + tally.wrong
                if tally.numbers >= max(20, _MOSTLY * total):
                    line, word = tally.first_wrong
                    raise BadData(
                        f"{self.source.name}, line {line}, column {shown(name)}: {shown(word)} is not a number, but "
                        f"{tally.numbers} of {total} values there are. Correct it or leave it empty; "
                        f"if these are categories, say --text {name}."
                    )
            elif not tally.wrong and tally.infinite is not None:
                line, word = tally.infinite
                raise BadData(f"{self.source.name}, line {line}, column {shown(name)}: {shown(word)} is not a finite number.")
            if tally.commas and not tally.wrong:
                commas.append(name)
        return [f"commas are read as decimal points in {listed(commas)}"] if commas else []
