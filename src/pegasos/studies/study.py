"""Declaration of a study."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pegasos.studies.running import Run


@dataclass(frozen=True)
class Study:
    """Protocol on one data set.

    Parameters
    ----------
    name : str
        Short name; the default folder of its results.
    title : str
        Heading of its page.
    data : str
        A named set or a file.
    protocol : str
        Description of the protocol, in one paragraph.
    run : callable
        Called with a `Run`; runs the protocol and adds numbers, claims and figures.
    """

    name: str
    title: str
    data: str
    protocol: str
    run: Callable[[Run], None]
