"""Text of a file in pieces that end where a record ends, so that any size of file passes through little memory."""

from __future__ import annotations

import codecs
import itertools
from collections.abc import Iterator
from dataclasses import dataclass

from pegasos.program.tables.dataset import BadData
from pegasos.program.tables.messages import shown, size
from pegasos.program.tables.source import Source

#: A record longer than this is no record: a quote that is never closed, or no text at all.
LONGEST = 64 * 2**20
_MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}


@dataclass(frozen=True)
class Chunk:
    """Whole records as UTF-8, and the line of the file on which they begin."""

    data: bytes
    line: int


def _utf8(source: Source, encoding: str | None, amount: int, most: int | None) -> Iterator[bytes]:
    """The file as UTF-8, about `amount` bytes at a time; `most` bounds what a packed file may unpack to."""
    encoding = encoding or next(
        (name for mark, name in _MARKS.items() if source.head.startswith(mark)), None
    )
    pieces = source.pieces(amount, most)
    if encoding is None:  # taken for UTF-8, which is only checked
        yield from pieces
        return
    try:
        "".encode(encoding)  # refuses names that are unknown, and codecs that are not for text
        decoder = codecs.getincrementaldecoder(encoding)()
    except (LookupError, ValueError) as error:
        raise BadData(
            f"{source.name}: there is no encoding called {shown(encoding)}; try utf-8, cp1252 or utf-16."
        ) from error
    line = 1
    for piece in itertools.chain(pieces, [b""]):
        try:
            yield decoder.decode(piece, final=not piece).encode("utf-8")
        except ValueError as error:
            start = error.start if isinstance(error, UnicodeDecodeError) else 0
            where = line + piece[:start].count(b"\n")
            raise BadData(
                f"{source.name}, about line {where}: not {encoding}; give the right one as --encoding."
            ) from error
        line += piece.count(b"\n")


def chunks(
    source: Source, encoding: str | None, amount: int, most: int | None, quotes: bool = True
) -> Iterator[Chunk]:
    """Pieces cut at the last line end that is outside quotes."""
    longest = LONGEST if most is None else min(LONGEST, max(2**20, most))
    rest: list[bytes] = []  # begun records, joined only when their end has come
    held, odd, line, returns = 0, False, 1, None
    for piece in _utf8(source, encoding, amount, most):
        if returns is None:
            returns = (
                b"\n" not in piece and b"\r" in piece[:-1]
            )  # lines end as on very old machines
        if returns:
            piece = piece.replace(b"\r", b"\n")
        cut, odd = _cut(piece, odd, quotes)
        if cut:
            data = b"".join([*rest, piece[:cut]])
            yield _checked(source, Chunk(data, line))
            line += data.count(b"\n")
            rest, held = [piece[cut:]], len(piece) - cut
        else:
            rest.append(piece)
            held += len(piece)
        if held > longest:
            quote = " A quote may have been opened and never closed." if quotes and odd else ""
            raise BadData(
                f"{source.name}, line {line}: the record is longer than {size(longest)}.{quote}"
            )
    if held:
        yield _checked(source, Chunk(b"".join(rest), line))


def _cut(piece: bytes, odd: bool, quotes: bool) -> tuple[int, bool]:
    """Where the last record ends in a piece (0: nowhere), and whether the piece ends inside a quote (`odd`: began so)."""
    inside = quotes and odd != bool(piece.count(b'"') % 2)
    end, open_here = len(piece), inside
    while (newline := piece.rfind(b"\n", 0, end)) >= 0:
        open_here = quotes and open_here != bool(piece.count(b'"', newline, end) % 2)
        if not open_here:
            # quotes after the cut belong to the next record, so the state at the end of the piece stays what it is
            return newline + 1, inside
        end = newline
    return 0, inside


def _checked(source: Source, chunk: Chunk) -> Chunk:
    """The chunk, if it is UTF-8 without bytes that no text has; and without the mark that a file may begin with."""
    if chunk.line == 1:
        chunk = Chunk(chunk.data.removeprefix(codecs.BOM_UTF8), 1)
    try:
        chunk.data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = chunk.line + chunk.data.count(b"\n", 0, error.start)
        raise BadData(
            f"{source.name}, line {line}: the text is not UTF-8; try --encoding cp1252."
        ) from error
    if (zero := chunk.data.find(b"\0")) >= 0:
        line = chunk.line + chunk.data.count(b"\n", 0, zero)
        raise BadData(
            f"{source.name}, line {line}: a zero byte, which no text has. Is it UTF-16? Then use --encoding utf-16."
        )
    return chunk
