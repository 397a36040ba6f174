"""What a page is made of: text, notes, facts, code, tables, charts, pictures; each knows how it is written into files."""

from __future__ import annotations

import csv
import io
import math
from dataclasses import dataclass
from typing import Any, ClassVar

from pegasos.program.pages.wording import is_number, percent, value_text

Tile = tuple[str, str, str, float | None]


@dataclass
class Block:
    """One piece of a section; `kind` names its part of the template."""

    kind: ClassVar[str]

    def charts(self) -> dict[str, Any]:
        """The charts in it, by name, for files."""
        return {}

    def tables(self) -> list[Table]:
        return []


@dataclass
class Text(Block):
    """A paragraph; with `warning` in a frame, with `small` as a remark."""

    kind: ClassVar[str] = "text"
    text: str
    warning: bool = False
    small: bool = False


@dataclass
class Tiles(Block):
    """Numbers that come first: (name, value, remark), and for a bar below the value its length in 0..1, or None."""

    kind: ClassVar[str] = "tiles"
    tiles: list[Tile]


@dataclass
class Facts(Block):
    """Names and values."""

    kind: ClassVar[str] = "facts"
    facts: dict[str, Any]

    def __post_init__(self) -> None:
        self.facts = {
            name: str(value) for name, value in self.facts.items() if value not in (None, "")
        }


@dataclass
class Code(Block):
    """Lines to copy."""

    kind: ClassVar[str] = "code"
    title: str
    text: str


@dataclass
class Table(Block):
    """Rows under columns (key, title, format).

    `filter_by` is the column whose values select rows; a click on a value of column `picks` shows that cell.
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
        self.columns = [
            each
            for each in self.columns
            if any(row.get(each[0]) not in (None, "") for row in self.rows)
        ]
        self._numbers = {
            key for key, _, _ in self.columns if any(is_number(row.get(key)) for row in self.rows)
        }

    def tables(self) -> list[Table]:
        return [self]

    @property
    def choices(self) -> list[str]:
        """The values of the column by which rows can be picked."""
        found = list(
            dict.fromkeys(str(row.get(self.filter_by)) for row in self.rows if self.filter_by)
        )
        return found if len(found) > 1 else []

    @property
    def is_long(self) -> bool:
        """Whether it holds sentences: on a narrow screen these stand one below the other."""
        return any(len(text) > 60 for row in self.rows for text, _ in self.cells(row))

    @property
    def is_dense(self) -> bool:
        """Whether its columns stand close to each other: many, or some with many words."""
        wordy = len(self.columns) > 8 and any(
            len(text) > 40 for row in self.rows for text, _ in self.cells(row)
        )
        return wordy or len(self.columns) > 10

    def numeric(self, key: str) -> bool:
        """Whether a column holds numbers: then all of it, its title too, stands to the right."""
        return key in self._numbers

    def cells(self, row: dict[str, Any]) -> list[tuple[str, bool]]:
        """The texts of a row, and which stand in columns of numbers."""
        return [(shown(row.get(key), form), self.numeric(key)) for key, _, form in self.columns]

    def as_csv(self) -> str:
        """Values as they are."""
        file = io.StringIO()
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([title for _, title, _ in self.columns])
        writer.writerows(
            [
                ["" if row.get(key) is None else row[key] for key, _, _ in self.columns]
                for row in self.rows
            ]
        )
        return file.getvalue()

    def as_markdown(self) -> str:
        """Values as the page shows them."""
        lines = [
            "| " + " | ".join(_bar(title) for _, title, _ in self.columns) + " |",
            "|" + "---|" * len(self.columns),
        ]
        lines += [
            "| " + " | ".join(_bar(text) for text, _ in self.cells(row)) + " |" for row in self.rows
        ]
        return "\n".join(lines) + "\n"

    def as_latex(self) -> str:
        """A tabular that needs no package."""
        aligned = "".join("r" if form != "text" else "l" for _, _, form in self.columns)
        body = [" & ".join(_latex(title) for _, title, _ in self.columns) + r" \\ \hline"]
        body += [
            " & ".join(_latex(text) for text, _ in self.cells(row)) + r" \\" for row in self.rows
        ]
        return "\n".join([rf"\begin{{tabular}}{{{aligned}}}", *body, r"\end{tabular}"]) + "\n"


@dataclass
class Chart(Block):
    """A chart with its caption and the table behind it.

    `half`: two of them share a line; `fit`: as many share a line as fit; `narrow`: it does not grow with the screen.
    """

    kind: ClassVar[str] = "chart"
    name: str
    title: str
    spec: dict[str, Any]
    caption: str = ""
    table: Table | None = None
    half: bool = False
    fit: bool = False
    narrow: bool = False

    def charts(self) -> dict[str, Any]:
        """Return the chart with its title, which the page has in the caption."""
        return {self.name: {**self.spec, "title": self.title}}

    def tables(self) -> list[Table]:
        return [] if self.table is None else [self.table]


@dataclass
class Gallery(Block):
    """Pictures with captions: (base64 of grey bytes, caption); `shape` is height, width."""

    kind: ClassVar[str] = "gallery"
    title: str
    shape: tuple[int, int]
    pictures: list[tuple[str, str]]


@dataclass
class Panel(Block):
    """Confusion matrix, mistakes and command line of a setting; `data` are for the script; `alone`: there is one setting only."""

    kind: ClassVar[str] = "panel"
    figures: dict[str, Any]
    data: dict[str, Any]
    alone: bool = False

    def charts(self) -> dict[str, Any]:
        return self.figures


@dataclass
class Thresholds(Block):
    """Curves over thresholds with a slider, which the page draws; `data` is what its script needs besides them."""

    kind: ClassVar[str] = "thresholds"
    figures: dict[str, Any]
    table: Table
    data: dict[str, Any]
    remark: str

    def charts(self) -> dict[str, Any]:
        return self.figures

    def tables(self) -> list[Table]:
        return [self.table]


@dataclass
class Section:
    """A heading and what stands under it."""

    name: str
    title: str
    blocks: list[Block]


def columns(form: str, **titles: str) -> list[tuple[str, str, str]]:
    """Columns of one format, by key."""
    return [(key, title, form) for key, title in titles.items()]


def shown(value: Any, form: str = "number") -> str:
    """A value as a person reads it."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    if is_number(value) and form == "percent":
        return percent(value)
    if isinstance(value, bool | float):
        return value_text(value, 4)
    return f"{value:,}" if isinstance(value, int) and abs(value) > 9999 else str(value)


def _bar(text: str) -> str:
    return text.replace("\\", "\\\\").replace("|", "\\|").replace("\n", " ").replace("<", "&lt;")


_LATEX = {
    "\\": r"\textbackslash{}",
    "λ": r"$\lambda$",
    "±": r"$\pm$",
    "×": r"$\times$",
    "~": r"\textasciitilde{}",
    "^": r"\^{}",
}
_LATEX |= {mark: f"\\{mark}" for mark in "&%$#_{}"}


def _latex(text: str) -> str:
    return "".join(_LATEX.get(mark, mark) for mark in text.replace("\n", " "))
