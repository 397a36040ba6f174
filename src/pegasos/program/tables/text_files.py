"""Text files in chunks that end where a record ends, and the rows of svmlight and LIBSVM files."""

from __future__ import annotations

import codecs
import io
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import polars as pl

from pegasos.program.tables.columns import Roles
from pegasos.program.tables.dataset import Array, BadData, Column, ReadOptions
from pegasos.program.tables.labels import simplest
from pegasos.program.tables.messages import plain, shown, size
from pegasos.program.tables.sources import Source
from pegasos.program.tables.table import Block, TableFile

#: Maximum bytes of a record; a longer one is an unclosed quote, or no text at all.
LONGEST = 64 * 2**20
#: Maximum ratio of decompressed text to the memory limit for decoded values.
_SWELL = 8
_AMOUNT = 4 * 2**20


@dataclass(frozen=True)
class Chunk:
    """Whole records as UTF-8 with line feeds, and the line of the file on which they begin."""

    data: bytes
    line: int


def chunks(
    source: Source, encoding: str | None, amount: int, limit: int | None, quotes: bool = True
) -> Iterator[Chunk]:
    """Yield the text, about `amount` bytes at a time, cut at line ends outside quotes.

    The encoding is by default that of the byte order mark, else UTF-8. `limit` is the maximum
    number of bytes of decoded values: a compressed file may have a few times as many. Without
    `quotes`, every line end ends a record.
    """
    most = None if limit is None else _SWELL * limit
    rest: list[bytes] = []  # the beginning of a record, joined once its end is read
    held, inside, line = 0, False, 1
    for piece in _utf8(source, encoding, amount, most):
        cut, inside = _cut(piece, inside, quotes)
        if cut:
            data = b"".join([*rest, piece[:cut]])
            yield Chunk(data, line)
            line += data.count(b"\n")
            rest, held = [], 0
        rest.append(piece[cut:])
        held += len(piece) - cut
        if held > LONGEST:
            hint = " A quote may have been opened and never closed." if inside else ""
            long = f"the record is longer than {size(LONGEST)}"
            raise BadData(f"{source.name}, line {line}: {long}.{hint}")
    if held:
        yield Chunk(b"".join(rest), line)


def _utf8(source: Source, encoding: str | None, amount: int, most: int | None) -> Iterator[bytes]:
    """Yield the file as UTF-8 without byte order mark; raise BadData if it is not text."""
    is_utf16 = source.head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    name = encoding or ("utf-16" if is_utf16 else "utf-8")
    try:
        "".encode(name)  # refuses unknown names, and codecs that are not for text
        decoder = io.IncrementalNewlineDecoder(codecs.getincrementaldecoder(name)(), True)
    except (LookupError, ValueError) as error:
        known = f"there is no encoding called {shown(name)}; try utf-8, cp1252 or utf-16"
        raise BadData(f"{source.name}: {known}.") from error
    line = 1
    for piece in itertools.chain(source.pieces(amount, most), [b""]):
        try:
            text = decoder.decode(piece, final=not piece)
        except ValueError as error:
            if isinstance(error, UnicodeDecodeError):
                line += error.object.count(b"\n", 0, error.start)
            todo = "give the right one as --encoding" if encoding else "try --encoding cp1252"
            what = f"the text is not {name.upper()}; {todo}"
            raise BadData(f"{source.name}, line {line}: {what}.") from error
        if (zero := text.find("\0")) >= 0:
            line += text.count("\n", 0, zero)
            what = "a zero byte, which no text has. Is it UTF-16? Then use --encoding utf-16"
            raise BadData(f"{source.name}, line {line}: {what}.")
        yield (text.removeprefix("\ufeff") if line == 1 else text).encode("utf-8")
        line += text.count("\n")


def _cut(piece: bytes, inside: bool, quotes: bool) -> tuple[int, bool]:
    """Return the end of the last record of a piece (0: none), and whether it ends in a quote.

    `inside` says whether the piece begins in a quote.
    """
    ends_inside = quotes and inside != bool(piece.count(b'"') % 2)
    end, here = len(piece), ends_inside
    while (newline := piece.rfind(b"\n", 0, end)) >= 0:
        here = quotes and here != bool(piece.count(b'"', newline, end) % 2)
        if not here:
            return newline + 1, ends_inside
        end = newline
    return 0, ends_inside


class SvmlightFile(TableFile):
    """One file of sparse rows; columns are named by their index, from x1, or x0 if there is one."""

    header, typed, width = True, True, 1

    def __init__(
        self, source: Source, options: ReadOptions, expected: Sequence[str], limit: int | None
    ) -> None:
        self._source, self._encoding, self._limit = source, options.encoding, limit
        self.names = ["label"]
        self.notes = ["query ids (qid) are ignored"] * (b"qid:" in source.head)

    def roles(self, options: ReadOptions, name: str) -> Roles:
        """Return the role of the label, if labels are wanted."""
        note = "label: the number at the beginning of each line"
        return Roles([], 0, note=note) if options.labelled else Roles([])

    def match_roles(self, columns: list[Column], options: ReadOptions, name: str) -> Roles:
        """Return no roles of features: a line has its own indices, and the label comes first."""
        return Roles([], 0)

    def blocks(self, places: Sequence[int], amount: int) -> Iterator[Block]:
        """Yield labels and CSR rows, whose columns are the indices of the file."""
        limit = self._limit
        if limit is not None:
            amount = min(_AMOUNT, max(2**16, limit // 8))
        for chunk in chunks(self._source, self._encoding, amount, limit, quotes=False):
            X, y = _parsed(self._source, chunk, limit)
            if X.shape[0]:
                frame = pl.DataFrame({str(place): simplest(y) for place in places})
                share = len(chunk.data) / self._source.unpacked_bytes
                yield Block(frame, partial(_where, chunk), share, sparse=X)


def _where(chunk: Chunk, row: int) -> str:
    """Return the line of a row; blank lines and comments hold none."""
    lines = enumerate(chunk.data.split(b"\n"), chunk.line)
    held = (number for number, line in lines if line.partition(b"#")[0].strip())
    return f"line {next(itertools.islice(held, row, None))}"


def _parsed(source: Source, chunk: Chunk, limit: int | None) -> tuple[Any, Array]:
    """Return CSR rows and labels; errors name the first invalid line."""
    try:
        X, y = _load(chunk.data)
    except (ValueError, OverflowError) as error:
        lines, first, reason = chunk.data.split(b"\n"), 0, str(error)
        end = len(lines)
        while end - first > 1:
            middle = (first + end) // 2
            try:
                _load(b"\n".join(lines[first:middle]))
                first = middle
            except (ValueError, OverflowError) as earlier:
                end, reason = middle, str(earlier)
        what = f"{shown(lines[first].decode())} is not a label with pairs index:value"
        where = f"{source.name}, line {chunk.line + first}"
        raise BadData(f"{where}: {what} ({plain(reason)}).") from error
    if limit is not None and X.shape[1] * 8 > limit:
        most = f"a model of so many numbers would not fit into {size(limit)}"
        where = f"{source.name}, from line {chunk.line}"
        raise BadData(f"{where}: the index {X.shape[1] - 1} is too large: {most}.")
    return X, y


def _load(data: bytes) -> tuple[Any, Array]:
    from sklearn.datasets import load_svmlight_file

    X, y = load_svmlight_file(io.BytesIO(data), zero_based=True)
    if X.nnz and X.indices.min() < 0:
        raise ValueError("an index is too large")
    if not (np.isfinite(X.data).all() and np.isfinite(y).all()):
        raise ValueError("a number is not finite")
    return X, y
