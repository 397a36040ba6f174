"""Errors that the program turns into a message and an exit code; they stand here because their packages are heavy to import."""

from __future__ import annotations

import reprlib
from typing import Any


class BadModel(ValueError):  # noqa: N818 - people read "bad model"
    """A model file that cannot be used, or a model that no file can hold; the message says why and what to do."""


class NotAModel(BadModel):
    """A file that is something else than a model, such as a table or a pickle."""


class UsageError(ValueError):
    """A wrong option or value; the message says which, and what would be right."""


def short(value: Any) -> str:
    """A value as it may stand in a message: whatever a file holds, a line of it is enough."""
    return reprlib.repr(value)
