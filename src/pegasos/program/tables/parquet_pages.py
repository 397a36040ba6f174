"""Check of Parquet's page headers, whose false counts make polars abort for lack of memory."""

from __future__ import annotations

import mmap
from functools import lru_cache
from pathlib import Path
from typing import Any

#: Types of values in Thrift's compact protocol, in which Parquet writes its headers.
_TRUE, _FALSE, _DOUBLE, _BYTES, _LISTS, _STRUCT = 1, 2, 7, 8, (9, 10), 12


@lru_cache
def check_pages(path: Path, size: int, changed: int) -> None:
    """Raise ValueError if a page declares impossible sizes; size and time identify the file."""
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        footer, _ = _read(data, size - 8 - int.from_bytes(data[-8:-4], "little"), _STRUCT)
        for group in footer[4]:
            for column in (each[3] for each in group[1]):
                at = min(column[9], column.get(11, column[9]))  # of data, of a dictionary
                most = group[3] if len(column[3]) == 1 else column[5]  # lists have more than rows
                end = at + column[7]
                while at < end:
                    header, at = _read(data, at, _STRUCT)
                    page = header.get(5) or header.get(8) or header.get(7, {})
                    limit = header[2] if 7 in header else most  # a dictionary may be longer
                    if min(header[2], header[3]) < 0 or not 0 <= page.get(1, 0) <= limit:
                        raise ValueError("a page declares a size that it cannot have")
                    at += header[3]


def _read(data: Any, at: int, kind: int) -> tuple[Any, int]:
    """Return a value (None for text and fractions) that begins at a byte, and its end."""
    if kind in (_TRUE, _FALSE):
        return kind == _TRUE, at
    if kind == _DOUBLE:
        _ = data[at + 7]  # an IndexError beyond the end
        return None, at + 8
    if kind == _STRUCT:
        fields, number = dict[int, Any](), 0
        while head := data[at]:
            number, at = (number + (head >> 4), at + 1) if head >> 4 else _read(data, at + 1, 4)
            fields[number], at = _read(data, at, head & 15)
        return fields, at + 1
    if kind in _LISTS:
        head, items = data[at], list[Any]()
        count, at = (head >> 4, at + 1) if head >> 4 < 15 else _varint(data, at + 1)
        for _ in range(count):  # booleans of a list take a byte each
            item, at = _read(data, at, head & 15 if head & 15 > _FALSE else 4)
            items.append(item)
        return items, at
    number, at = _varint(data, at)
    return (None, at + number) if kind == _BYTES else ((number >> 1) ^ -(number & 1), at)


def _varint(data: Any, at: int) -> tuple[int, int]:
    number = shift = 0
    while (byte := data[at]) > 127:
        number |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if shift > 63:
            raise ValueError("a number has more than 64 bits")
    return number | byte << shift, at + 1
