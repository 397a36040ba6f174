"""The one error of model files."""

from __future__ import annotations

import reprlib
from typing import Any


class BadModel(ValueError):  # noqa: N818 (the name says it)
    """A file that is not a whole model of ours, or a model that no file of ours can hold."""


def short(value: Any) -> str:
    """A value as it may stand in a message: whatever a file holds, a line of it is enough."""
    return reprlib.repr(value)
