"""Text of a file in chunks that end where a record ends, so that any file fits in memory."""

from __future__ import annotations

import codecs
import io
import itertools
from collections.abc import Iterator
from dataclasses import dataclass

from pegasos.program.tables.dataset import BadData
from pegasos.program.tables.messages import shown, size
from pegasos.program.tables.sources import Source

#: Maximum bytes of a record; a longer one is an unclosed quote, or no text at all.
LONGEST = 64 * 2**20
#: Maximum ratio of decompressed text to the memory limit for decoded values.
_SWELL = 8


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
