"""What a person can ask for before a file is read."""

from __future__ import annotations

from dataclasses import dataclass

from pegasos.engine.runtime.memory import total_bytes
from pegasos.program.tables.dataset import Column

#: A table wider than this is refused: such data are nearly always sparse.
MOST_COLUMNS = 100_000
#: How many times shorter packed text is taken to be.
PACKED = 4
TOO_WIDE = f"a table may have {MOST_COLUMNS} columns. Write wide, sparse data as svmlight."


@dataclass(frozen=True)
class ReadOptions:
    """Which column plays which part, and how much is allowed.

    A column is given by its name, or by its position counted from 1 (negative: from the end); a name wins over a position.
    """

    label: str | None = None
    drop: tuple[str, ...] = ()
    group: str | None = None
    weight: str | None = None
    #: Columns that are words although they look like numbers.
    text: tuple[str, ...] = ()
    #: Columns that are features although they look like identifiers.
    number: tuple[str, ...] = ()
    #: Refuse text columns, missing numbers and missing labels instead of noting them.
    strict: bool = False
    encoding: str | None = None
    #: Bytes that the decoded data may take; None: half of the machine's memory.
    limit: int | None = None
    #: False: a label may be absent, and no column is taken by its place alone.
    labelled: bool = True
    #: Name of a format, where the content should not decide.
    format: str | None = None
    #: Columns that predictions carry along as they are, such as an identifier.
    keep: tuple[str, ...] = ()

    def allowed(self) -> int:
        """The limit in bytes."""
        return total_bytes() // 2 if self.limit is None else self.limit


@dataclass(frozen=True)
class Outline:
    """What the first rows of a table tell about all of it: the parts of its columns, and about how many bytes it would take."""

    columns: list[Column]
    label: str | None
    weight: str | None
    group: str | None
    bytes: float
    notes: list[str]
    #: Whether rows are sparse: then the columns are known when all rows were read.
    sparse: bool = False


@dataclass(frozen=True)
class Wanted:
    """What a model needs of each chunk of rows."""

    columns: list[Column]
    #: True: always a frame; False: an array without gaps.
    frame: bool = False
    #: Name of the label when the model was trained; taken along where the file has it.
    label_name: str | None = None
    #: Whether to leave out rows without a label.
    labelled: bool = False
    #: About how many bytes of the file, or of decoded numbers, make a chunk.
    chunk: int = 8 * 2**20

    @property
    def names(self) -> list[str]:
        return [column.name for column in self.columns]
