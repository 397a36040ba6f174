"""Read the numbers that the reports print."""

from __future__ import annotations

import csv
from pathlib import Path

FOLDER = Path(__file__).parent / "printed"


def read_printed(name: str) -> list[dict[str, str]]:
    """Return the rows of one CSV file of printed numbers, as text."""
    with (FOLDER / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))
