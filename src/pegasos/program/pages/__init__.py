"""Pages that present the results of a tuning run, a study or a model.

pegasos.report(sweep).save("report.html")
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pegasos.program.pages.page import read_page, report, write_report

if TYPE_CHECKING:
    from pegasos.program.pages.play_page import play

__all__ = ["play", "read_page", "report", "write_report"]


def __getattr__(name: str) -> Any:
    """Import the page of `play`, which needs more libraries than reports, on first use."""
    if name != "play":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from pegasos.program.pages.play_page import play

    return play
