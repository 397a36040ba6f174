"""Warnings at the line of the user's code."""

from __future__ import annotations

import sys
import warnings


def warn_user(warning: Warning) -> None:
    """Warn at the line of the user's code that called pegasos, possibly through scikit-learn."""
    level, frame, inside = 2, sys._getframe(1), ("pegasos", "sklearn")
    while frame.f_back and frame.f_globals.get("__name__", "").split(".")[0] in inside:
        level, frame = level + 1, frame.f_back
    warnings.warn(warning, stacklevel=level)
