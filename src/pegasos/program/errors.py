"""Errors that the program reports as a message and an exit code.

They are defined here because the modules that raise them are slow to import.
"""

from __future__ import annotations

import reprlib
from typing import Any


class BadData(ValueError):  # noqa: N818 - people read it as "bad data"
    """Unusable data; the message names file, row and column, and a remedy."""


class BadModel(ValueError):  # noqa: N818 - matches "bad model" in messages
    """Unusable model file, or a model that cannot be saved; the message says why and what to do."""


class NotAModel(BadModel):
    """File of another type, such as a table or a pickle."""


class UsageError(ValueError):
    """Invalid option or value; the message says what is valid."""


def short(value: Any) -> str:
    """Return a value abbreviated for a message."""
    return reprlib.repr(value)
