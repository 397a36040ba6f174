"""Mistakes of the call: what was asked for cannot be meant."""

from __future__ import annotations


class UsageError(ValueError):
    """A wrong option or value; the message says which, and what would be right."""
