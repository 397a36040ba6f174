"""Blocks of a page: text, numbers, code, tables, charts and pictures."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

from pegasos.program.files import as_csv
from pegasos.program.pages.vega import Spec
from pegasos.program.pages.wording import is_number, value_text
from pegasos.program.terminal.console import percent

#: Rows of the table behind a chart.
MOST_ROWS = 1000
#: Name, value, remark, and the length in 0..1 of a bar below the value, or None.
Tile = tuple[str, str, str, float | None]
_LATEX = {"\n": " ", "\\": r"\textbackslash{}", "λ": r"$\lambda$", "±": r"$\pm$"}
_LATEX |= {"×": r"$\times$", "~": r"\textasciitilde{}", "^": r"\^{}"}
_LATEX |= {mark: f"\\{mark}" for mark in "&%$#_{}"}
_MARKDOWN = {"\\": "\\\\", "|": "\\|", "\n": " ", "<": "&lt;"}


class Block:
    """Piece of a section; `kind` names its part of the template."""

    kind: str

    @staticmethod
    def kinds() -> dict[str, Any]:
        """Return the classes of blocks, by which files are read."""
        return {each.kind: each for each in Block.__subclasses__()}


@dataclass
class Text(Block):
    """Paragraph; a `warning` has a frame, and a `small` one is a remark."""

    text: str
    warning: bool = False
    small: bool = False
    kind: str = "text"


@dataclass
class Tiles(Block):
    """Most important numbers."""

    tiles: list[Tile]
    kind: str = "tiles"


@dataclass
class Facts(Block):
    """Names and values; empty values are left out."""

    facts: dict[str, Any]
    kind: str = "facts"

    def __post_init__(self) -> None:
        known = {name: each for name, each in self.facts.items() if each not in (None, "")}
        self.facts = {name: str(value) for name, value in known.items()}


@dataclass
class Code(Block):
    """Lines to copy."""

    title: str
    text: str
    kind: str = "code"


@dataclass
class Table(Block):
    """Rows under columns (key, title, format); columns without values are left out.

    A click on a value of column `picks` shows that cell.
    """

    name: str
    title: str
    columns: list[tuple[str, str, str]]
    rows: list[dict[str, Any]]
    folded: bool = False
    picks: str | None = None
    kind: str = "table"

    def __post_init__(self) -> None:
        filled = {key for row in self.rows for key, each in row.items() if each not in (None, "")}
        self.columns = [each for each in self.columns if each[0] in filled]
        # Numbers are aligned to the right.
        self.numbers = {key for row in self.rows for key, each in row.items() if is_number(each)}

    @property
    def look(self) -> str:
        """Style: `long` texts have lines of their own on narrow screens, many columns are dense."""
        longest = max((len(text) for row in self.rows for text, _ in self.cells(row)), default=0)
        many = len(self.columns)
        dense = many > 10 or (many > 8 and longest > 40)
        return " dense" * dense + " long" * (longest > 60)

    def cells(self, row: dict[str, Any]) -> list[tuple[str, bool]]:
        """Return the texts of a row, and whether each is in a column of numbers."""
        return [(shown(row.get(key), form), key in self.numbers) for key, _, form in self.columns]

    def as_files(self) -> dict[str, str]:
        """Return the table by suffix: CSV with all digits, Markdown, and a LaTeX tabular."""
        head = [title for _, title, _ in self.columns]
        lines = [[text for text, _ in self.cells(row)] for row in self.rows]
        exact = ({title: row.get(key) for key, title, _ in self.columns} for row in self.rows)

        def joined(marks: dict[str, str], between: str, line: list[str]) -> str:
            return between.join(
                text.translate({ord(mark): other for mark, other in marks.items()}) for text in line
            )

        pipes = [joined(_MARKDOWN, " | ", line) for line in (head, ["---"] * len(head), *lines)]
        first, *rest = (rf"{joined(_LATEX, ' & ', line)} \\" for line in (head, *lines))
        align = "".join("l" if form == "text" else "r" for _, _, form in self.columns)
        tabular = [rf"\begin{{tabular}}{{{align}}}", rf"{first} \hline", *rest, r"\end{tabular}"]
        markdown = "".join(f"| {line} |\n" for line in pipes)
        return {"csv": as_csv(exact), "md": markdown, "tex": "\n".join(tabular) + "\n"}


@dataclass
class Chart(Block):
    """Chart with its caption and the table behind it.

    `layout` is "full", "half" (two charts share a line), "fit" (as many as fit share a line) or
    "narrow" (it does not grow with the screen).
    """

    name: str
    title: str
    spec: Spec
    caption: str = ""
    table: Table | None = None
    layout: str = "full"
    kind: str = "chart"

    @classmethod
    def with_rows(
        cls, name: str, title: str, spec: Spec, caption: str = "", layout: str = "full"
    ) -> Chart:
        """Return a chart with its rows as a table, whose columns are those of the tooltip."""
        layers = (each["encoding"] for each in spec.get("layer", [spec]))
        hints: list[Spec] = next(each["tooltip"] for each in layers if "tooltip" in each)
        listed = []
        for hint in hints:
            number = "percent" if str(hint.get("format", "")).endswith("%") else "number"
            form = "text" if hint["type"] == "nominal" else number
            listed.append((hint["field"], hint["title"], form))
        rows = [{key: row.get(key) for key, _, _ in listed} for row in spec["data"]["values"]]
        return cls(name, title, spec, caption, Table(name, title, listed, rows[:MOST_ROWS]), layout)


@dataclass
class Gallery(Block):
    """Pictures with captions: (base64 of gray bytes, caption); `shape` is height, width."""

    title: str
    shape: tuple[int, int]
    pictures: list[tuple[str, str]]
    kind: str = "gallery"


@dataclass
class Panel(Block):
    """Confusion matrix, mistakes and command of a setting; `alone` if there is one setting only."""

    data: dict[str, Any]
    alone: bool = False
    figures: dict[str, Spec] = field(default_factory=dict)
    kind: str = "panel"


@dataclass
class Thresholds(Block):
    """Curves over thresholds with a slider; the script of the page draws them from `data`."""

    figures: dict[str, Spec]
    table: Table
    data: dict[str, Any]
    remark: str
    kind: str = "thresholds"


@dataclass
class Section:
    """Blocks below a heading."""

    name: str
    title: str
    blocks: list[Block]


def columns(form: str, **titles: str) -> list[tuple[str, str, str]]:
    """Return columns of one format, by key."""
    return [(key, title, form) for key, title in titles.items()]


def shown(value: Any, form: str = "number") -> str:
    """Return a value as a table shows it; "exact" keeps all digits."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    if is_number(value) and form == "percent":
        return percent(value)
    if isinstance(value, bool | float):
        return value_text(value, 12 if form == "exact" else 4)
    return f"{value:,}" if isinstance(value, int) and abs(value) > 9999 else str(value)
