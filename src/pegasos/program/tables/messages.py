"""Words from files inside messages: harmless on a terminal, short, and with near matches."""

from __future__ import annotations

import difflib
import itertools
import unicodedata
from collections.abc import Iterable


def shown(value: object, width: int = 40) -> str:
    r"""A value in quotes, control characters escaped, cut where it is long.

    >>> print(shown("a\x1b[31m"), shown("x" * 50, width=5))
    'a\x1b[31m' 'xxxxx…'
    """
    return f"'{plain(value, width)}'"


def plain(value: object, width: int = 200) -> str:
    """The same without quotes, for names of files."""
    text = str(value)
    odd = {
        char
        for char in text[:width]
        if unicodedata.category(char)[0] == "C" or char in "\u2028\u2029"
    }
    table = {
        ord(char): char.encode("unicode_escape", "surrogatepass").decode("ascii") for char in odd
    }
    return text[:width].translate(table) + ("…" if len(text) > width else "")


def listed(names: Iterable[object], most: int = 8) -> str:
    """Some names with commas between them, and how many more there are.

    >>> listed("abcde", most=3)
    'a, b, c and 2 more'
    """
    every = list(names)
    head = ", ".join(plain(name, 40) for name in every[:most])
    return head + (f" and {len(every) - most} more" if len(every) > most else "")


def near(name: str, known: Iterable[str]) -> str:
    """A question that ends a message, where something of that name nearly exists."""
    every = {each.lower(): each for each in reversed(list(itertools.islice(known, 10_000)))}
    found = difflib.get_close_matches(name.lower(), every, n=1)
    return f" Did you mean {shown(every[found[0]])}?" if found else ""


def size(count: float) -> str:
    """Bytes as a person says them.

    >>> size(64_000_000)
    '64 MB'
    """
    for unit in ("bytes", "kB", "MB", "GB"):
        if count < 1000:
            return f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:.3g} TB"
