"""Text of a file in chunks that end where a record ends, so that any file fits in memory."""

from __future__ import annotations

import codecs
import itertools
from collections.abc import Iterator
from dataclasses import dataclass

from pegasos.program.tables.dataset import BadData
from pegasos.program.tables.messages import shown, size
from pegasos.program.tables.source import Source

#: Maximum bytes of a record; a longer one is an unclosed quote, or no text at all.
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


def chunks(
    source: Source, encoding: str | None, amount: int, most: int | None, quotes: bool = True
) -> Iterator[Chunk]:
    """Yield the text, about `amount` bytes at a time, cut at line ends outside quotes.

    Parameters
    ----------
    source : Source
        The file.
    encoding : str or None
        Its encoding; by default that of its byte order mark, else UTF-8.
    amount : int
        Approximate number of bytes of a chunk.
    most : int or None
        Maximum number of bytes that a compressed file may decompress to.
    quotes : bool
        Whether line ends inside quotes belong to a field.
    """
    longest = LONGEST if most is None else min(LONGEST, max(2**20, most))
    rest: list[bytes] = []  # the beginning of a record, joined once its end is read
    held, inside, line, returns = 0, False, 1, None
    for piece in _utf8(source, encoding, amount, most):
        if returns is None:  # whether lines end as on old Macintosh computers
            returns = b"\n" not in piece and b"\r" in piece[:-1]
        if returns:
            piece = piece.replace(b"\r", b"\n")
        cut, inside = _cut(piece, inside, quotes)
        if cut:
            data = b"".join([*rest, piece[:cut]])
            yield _checked(source, Chunk(data, line))
            line += data.count(b"\n")
            rest, held = [], 0
        rest.append(piece[cut:])
        held += len(piece) - cut
        if held > longest:
            hint = " A quote may have been opened and never closed." if inside else ""
            raise BadData(
                f"{source.name}, line {line}: the record is longer than {size(longest)}.{hint}"
            )
    if held:
        yield _checked(source, Chunk(b"".join(rest), line))


def _utf8(source: Source, encoding: str | None, amount: int, most: int | None) -> Iterator[bytes]:
    """Yield the file as UTF-8; text without a declared encoding is checked later."""
    marked = (name for mark, name in _MARKS.items() if source.head.startswith(mark))
    encoding = encoding or next(marked, None)
    pieces = source.pieces(amount, most)
    if encoding is None:
        yield from pieces
        return
    try:
        "".encode(encoding)  # refuses unknown names, and codecs that are not for text
        decoder = codecs.getincrementaldecoder(encoding)()
    except (LookupError, ValueError) as error:
        known = f"there is no encoding called {shown(encoding)}; try utf-8, cp1252 or utf-16"
        raise BadData(f"{source.name}: {known}.") from error
    line = 1
    for piece in itertools.chain(pieces, [b""]):
        try:
            yield decoder.decode(piece, final=not piece).encode("utf-8")
        except ValueError as error:
            start = error.start if isinstance(error, UnicodeDecodeError) else 0
            where = line + piece[:start].count(b"\n")
            todo = f"not {encoding}; give the right one as --encoding"
            raise BadData(f"{source.name}, about line {where}: {todo}.") from error
        line += piece.count(b"\n")


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


def _checked(source: Source, chunk: Chunk) -> Chunk:
    """Return a chunk without byte order mark; refuse bytes that UTF-8 text does not have."""
    if chunk.line == 1:
        chunk = Chunk(chunk.data.removeprefix(codecs.BOM_UTF8), 1)
    wrong = None
    try:
        chunk.data.decode("utf-8")
    except UnicodeDecodeError as error:
        wrong = error.start, "the text is not UTF-8; try --encoding cp1252"
    if wrong is None and (zero := chunk.data.find(b"\0")) >= 0:
        wrong = zero, "a zero byte, which no text has. Is it UTF-16? Then use --encoding utf-16"
    if wrong is not None:
        line = chunk.line + chunk.data.count(b"\n", 0, wrong[0])
        raise BadData(f"{source.name}, line {line}: {wrong[1]}.")
    return chunk
