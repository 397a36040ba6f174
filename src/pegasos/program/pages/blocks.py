"""Blocks of a page: text, numbers, code, tables, charts and pictures."""

from __future__ import annotations

import csv
import io
import math
from dataclasses import dataclass
from typing import Any, ClassVar

from pegasos.program.pages.values import is_number, percent, value_text
from pegasos.program.pages.vega import Spec

#: Rows of the table behind a chart.
MOST_ROWS = 1000
#: Name, value, remark, and the length in 0..1 of a bar below the value, or None.
Tile = tuple[str, str, str, float | None]


@dataclass
class Block:
    """Piece of a section; `kind` names its part of the template."""

    kind: ClassVar[str]

    def charts(self) -> dict[str, Any]:
        """Return the charts for files, by name."""
        return getattr(self, "figures", {})

    def tables(self) -> list[Table]:
        """Return the tables for files."""
        table = getattr(self, "table", None)
        return [] if table is None else [table]


@dataclass
class Text(Block):
    """Paragraph; a `warning` has a frame, and a `small` one is a remark."""

    kind: ClassVar[str] = "text"
    text: str
    warning: bool = False
    small: bool = False


@dataclass
class Tiles(Block):
    """Most important numbers."""

    kind: ClassVar[str] = "tiles"
    tiles: list[Tile]


@dataclass
class Facts(Block):
    """Names and values; empty values are left out."""

    kind: ClassVar[str] = "facts"
    facts: dict[str, Any]

    def __post_init__(self) -> None:
        known = {name: each for name, each in self.facts.items() if each not in (None, "")}
        self.facts = {name: str(value) for name, value in known.items()}


@dataclass
class Code(Block):
    """Lines to copy."""

    kind: ClassVar[str] = "code"
    title: str
    text: str


@dataclass
class Table(Block):
    """Rows under columns (key, title, format); columns without values are left out.

    `filter_by` is the column whose values select rows; a click on a value of column `picks` shows
    that cell.
    """

    kind: ClassVar[str] = "table"
    name: str
    title: str
    columns: list[tuple[str, str, str]]
    rows: list[dict[str, Any]]
    filter_by: str | None = None
    folded: bool = False
    picks: str | None = None

    def __post_init__(self) -> None:
        filled = {key for row in self.rows for key, each in row.items() if each not in (None, "")}
        self.columns = [each for each in self.columns if each[0] in filled]
        self._numbers = {key for row in self.rows for key, each in row.items() if is_number(each)}

    def tables(self) -> list[Table]:
        """Return the table itself."""
        return [self]

    @property
    def choices(self) -> list[str]:
        """Values of the column that selects rows."""
        if self.filter_by is None:
            return []
        found = list(dict.fromkeys(str(row.get(self.filter_by)) for row in self.rows))
        return found if len(found) > 1 else []

    @property
    def is_long(self) -> bool:
        """Whether it has sentences, which need a line of their own on a narrow screen."""
        return self._longest > 60

    @property
    def is_dense(self) -> bool:
        """Whether it has many columns, or several with long texts."""
        return len(self.columns) > 10 or (len(self.columns) > 8 and self._longest > 40)

    @property
    def _longest(self) -> int:
        return max((len(text) for row in self.rows for text, _ in self.cells(row)), default=0)

    def numeric(self, key: str) -> bool:
        """Tell whether a column has numbers, which are aligned to the right."""
        return key in self._numbers

    def cells(self, row: dict[str, Any]) -> list[tuple[str, bool]]:
        """Return the texts of a row, and whether each is in a column of numbers."""
        return [(shown(row.get(key), form), self.numeric(key)) for key, _, form in self.columns]

    def as_csv(self) -> str:
        """Return the table as CSV, numbers with all digits."""
        lines: list[list[Any]] = [[title for _, title, _ in self.columns]]
        lines += [[row.get(key) for key, _, _ in self.columns] for row in self.rows]
        file = io.StringIO()
        csv.writer(file, lineterminator="\n").writerows(lines)  # which leaves None empty
        return file.getvalue()

    def as_markdown(self) -> str:
        """Return the table in Markdown."""
        lines = [[_markdown(title) for _, title, _ in self.columns], ["---"] * len(self.columns)]
        lines += [[_markdown(text) for text, _ in self.cells(row)] for row in self.rows]
        return "".join(f"| {' | '.join(line)} |\n" for line in lines)

    def as_latex(self) -> str:
        """Return the table as a LaTeX tabular that needs no package."""
        aligned = "".join("r" if form != "text" else "l" for _, _, form in self.columns)
        body = [" & ".join(_latex(title) for _, title, _ in self.columns) + r" \\ \hline"]
        body += [
            " & ".join(_latex(each) for each, _ in self.cells(row)) + r" \\" for row in self.rows
        ]
        return "\n".join([rf"\begin{{tabular}}{{{aligned}}}", *body, r"\end{tabular}"]) + "\n"


@dataclass
class Chart(Block):
    """Chart with its caption and the table behind it.

    `layout` is "full", "half" (two charts share a line), "fit" (as many as fit share a line) or
    "narrow" (it does not grow with the screen).
    """

    kind: ClassVar[str] = "chart"
    name: str
    title: str
    spec: dict[str, Any]
    caption: str = ""
    table: Table | None = None
    layout: str = "full"

    @classmethod
    def with_rows(
        cls, name: str, title: str, spec: Spec, caption: str = "", layout: str = "full"
    ) -> Chart:
        """Return a chart with its rows as a table, whose columns are those of the tooltip."""
        hints: list[Spec] = next(
            each["encoding"]["tooltip"]
            for each in spec.get("layer", [spec])
            if "tooltip" in each["encoding"]
        )
        listed = [(hint["field"], hint["title"], _form(hint)) for hint in hints]
        keys = [hint["field"] for hint in hints]
        rows = [{key: row.get(key) for key in keys} for row in spec["data"]["values"]]
        return cls(name, title, spec, caption, Table(name, title, listed, rows[:MOST_ROWS]), layout)

    def charts(self) -> dict[str, Any]:
        """Return the chart with its title, which the page shows in the caption."""
        return {self.name: {**self.spec, "title": self.title}}


@dataclass
class Gallery(Block):
    """Pictures with captions: (base64 of gray bytes, caption); `shape` is height, width."""

    kind: ClassVar[str] = "gallery"
    title: str
    shape: tuple[int, int]
    pictures: list[tuple[str, str]]


@dataclass
class Panel(Block):
    """Confusion matrix, mistakes and command of a setting; `alone` if there is one setting only."""

    kind: ClassVar[str] = "panel"
    figures: dict[str, Any]
    data: dict[str, Any]
    alone: bool = False


@dataclass
class Thresholds(Block):
    """Curves over thresholds with a slider; the script of the page draws them from `data`."""

    kind: ClassVar[str] = "thresholds"
    figures: dict[str, Any]
    table: Table
    data: dict[str, Any]
    remark: str


KINDS = {each.kind: each for each in Block.__subclasses__()}


@dataclass
class Section:
    """Blocks below a heading."""

    name: str
    title: str
    blocks: list[Block]


def _form(hint: Spec) -> str:
    """Return the format of a table for a field of a tooltip."""
    if hint["type"] == "nominal":
        return "text"
    return "percent" if str(hint.get("format", "")).endswith("%") else "number"


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


def _markdown(text: str) -> str:
    return text.replace("\\", "\\\\").replace("|", "\\|").replace("\n", " ").replace("<", "&lt;")


_LATEX = str.maketrans(
    {
        "\n": " ",
        "\\": r"\textbackslash{}",
        "λ": r"$\lambda$",
        "±": r"$\pm$",
        "×": r"$\times$",
        "~": r"\textasciitilde{}",
        "^": r"\^{}",
        **{mark: f"\\{mark}" for mark in "&%$#_{}"},
    }
)


def _latex(text: str) -> str:
    return text.translate(_LATEX)
