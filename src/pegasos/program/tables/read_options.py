"""Options of readers, and the first description of a table."""

from __future__ import annotations

from dataclasses import dataclass

from pegasos.engine.runtime.memory import total_bytes
from pegasos.program.tables.dataset import Column

#: Wider tables are refused: such data are nearly always sparse.
MOST_COLUMNS = 100_000
TOO_WIDE = f"a table may have {MOST_COLUMNS} columns. Write wide, sparse data as svmlight."


@dataclass(frozen=True)
class ReadOptions:
    """Roles of columns, and limits.

    A column is given by its name, else by its position: from 1, or negative from the end.
    """

    label: str | None = None
    drop: tuple[str, ...] = ()
    group: str | None = None
    weight: str | None = None
    #: Columns read as categories although they look like numbers.
    text: tuple[str, ...] = ()
    #: Columns read as features although they look like identifiers.
    number: tuple[str, ...] = ()
    #: Refuse text columns, missing numbers and missing labels instead of noting them.
    strict: bool = False
    encoding: str | None = None
    #: Maximum bytes of the decoded data; by default half of the machine's memory.
    limit: int | None = None
    #: If False, a label is optional, and the last column is not taken as one.
    labelled: bool = True
    #: Name of the format, detected by default.
    format: str | None = None
    #: Columns copied to predictions, such as an identifier.
    keep: tuple[str, ...] = ()

    def allowed(self) -> int:
        """Return the limit in bytes."""
        return total_bytes() // 2 if self.limit is None else self.limit


@dataclass(frozen=True)
class Outline:
    """Description of a table from its first rows: roles of columns, and estimated bytes."""

    columns: list[Column]
    label: str | None
    weight: str | None
    group: str | None
    bytes: float
    notes: list[str]
    #: Whether rows are sparse; then the columns are known only after all rows were read.
    sparse: bool = False


@dataclass(frozen=True)
class Wanted:
    """Blocks of rows as a model needs them."""

    columns: list[Column]
    #: Whether rows are always a frame; otherwise an array without gaps.
    frame: bool = False
    #: Name of the label in training, which is read if the file has it.
    label_name: str | None = None
    #: Whether to leave out rows without a label.
    labelled: bool = False
    #: Approximate bytes of the file, or of decoded numbers, of a block.
    chunk: int = 8 * 2**20

    @property
    def names(self) -> list[str]:
        """Names of the columns."""
        return [column.name for column in self.columns]


@dataclass(frozen=True)
class Opening:
    """How a file is opened: options, and the purpose of reading it."""

    options: ReadOptions
    #: Maximum bytes of the decoded values of a table that is read whole.
    limit: int | None = None
    #: Columns of a model, if rows are read for one.
    wanted: Wanted | None = None
