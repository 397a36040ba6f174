"""Values from files inside messages: short, and without control characters."""

from __future__ import annotations

import difflib
import itertools
import unicodedata
from collections.abc import Iterable


def shown(value: object, width: int = 40) -> str:
    r"""Return a value in quotes, shortened, with control characters escaped.

    >>> print(shown("a\x1b[31m"), shown("x" * 50, width=5))
    'a\x1b[31m' 'xxxxx…'
    """
    return f"'{plain(value, width)}'"


def plain(value: object, width: int = 200) -> str:
    """Return a value shortened, with control characters escaped."""
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
    """Return the first names separated by commas, and the number of the others.

    >>> listed("abcde", most=3)
    'a, b, c and 2 more'
    """
    every = list(names)
    head = ", ".join(plain(name, 40) for name in every[:most])
    return head + (f" and {len(every) - most} more" if len(every) > most else "")


def near(name: str, known: Iterable[str]) -> str:
    """Return the question "Did you mean ...?" if a known name is similar, else nothing."""
    every = {each.lower(): each for each in reversed(list(itertools.islice(known, 10_000)))}
    found = difflib.get_close_matches(name.lower(), every, n=1)
    return f" Did you mean {shown(every[found[0]])}?" if found else ""


def size(count: float) -> str:
    """Return a number of bytes with a unit.

    >>> size(64_000_000)
    '64 MB'
    """
    for unit in ("bytes", "kB", "MB", "GB"):
        if count < 1000:
            return f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:.3g} TB"
