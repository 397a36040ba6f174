"""One page that shows what the numbers of a tuning run, a study or a model mean.

pegasos.report(sweep).save("report.html")
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from pegasos.program.pages.page import report, write_report
from pegasos.program.pages.run_folders import save_record

if TYPE_CHECKING:
    from pegasos.program.pages.play_page import play
    from pegasos.program.pages.recording import record_model, record_sweep

__all__ = [
    "play",
    "record_model",
    "record_sweep",
    "report",
    "save_record",
    "write_report",
]

_RECORDING = ("record_model", "record_sweep")
_HOMES = {"play": f"{__name__}.play_page", **dict.fromkeys(_RECORDING, f"{__name__}.recording")}


def __getattr__(name: str) -> Any:
    """Import what knows learners when it is first asked for: a page of records needs none."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
