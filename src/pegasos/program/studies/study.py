"""What a study declares: data, experiments, printed numbers, claims to check, what to show, and how to do better."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from pegasos.program.records.studies import Better
    from pegasos.program.studies.results import Context

Array = np.ndarray[Any, Any]
#: What one result is: experiment, split, decoding, kernel, lam, n_iter, a step of the pipeline, ... See Results.
Key = dict[str, Any]


@dataclass(frozen=True)
class Experiment:
    """One reading of a protocol: a pipeline and a grid on splits, decoded in one or more ways.

    `splits(y, seed)` gives pairs of training and test rows. Each cell of the grid gives an error on the test rows (and on the
    training rows, if `training`) for each decoding: "argmax", "first" (the first class whose score is positive, else the first
    class), "absolute" (the greatest |score|). `tags` go into every result.
    """

    name: str
    estimator: Any
    grid: Any
    splits: Callable[[Array, int], list[tuple[Array, Array]]]
    decodings: tuple[str, ...] = ("argmax",)
    training: bool = False
    tags: dict[str, Any] = field(default_factory=dict)
    #: What the rows are called on which errors are counted.
    split_name: str = "test"


@dataclass(frozen=True)
class Emulation:
    """What a report's own program did, written down again: a fault that none of our learners has.

    `run(dataset, seed)` answers rows with the fields split, error, rows, and whatever tells them apart.
    """

    name: str
    run: Callable[[Any, int], list[dict[str, Any]]]


@dataclass(frozen=True)
class Number:
    """A printed number: an error, on how many rows it was counted, and the results that may be the same thing.

    `readings`: the name of a reading (as written, as in its program, ...) and the key of its result. All numbers of a `group` are
    judged by the one reading that fits the group best. `half_unit`: half of the last printed digit.
    """

    fields: dict[str, Any]
    error: float
    rows: int
    readings: dict[str, Key]
    group: str = "all"
    half_unit: float = 0.0005
    #: Why it differs, where that is known and shown elsewhere in the study.
    reason: str = ""


@dataclass(frozen=True)
class Check:
    """A claim of the report: its words (ours), and a function that looks at the results and answers (verdict, evidence)."""

    claim: str
    look: Callable[[Context], tuple[str, str]]


@dataclass(frozen=True)
class Extra:
    """Something shown around the numbers: a function that answers a dictionary for JSON, with `text` (Markdown) for the findings.

    It is computed once a run folder. `slow` ones are left out with --quick.
    """

    name: str
    title: str
    make: Callable[[Context], dict[str, Any]]
    slow: bool = False


@dataclass(frozen=True)
class Study:
    """A report as a declaration."""

    name: str
    title: str
    data: str
    stand_in: str | None
    protocol: str
    experiments: tuple[Experiment, ...]
    emulations: tuple[Emulation, ...] = ()
    numbers: Callable[[], list[Number]] = list
    checks: tuple[Check, ...] = ()
    extras: tuple[Extra, ...] = ()
    #: The best that this project reaches, beside the report's best.
    surpass: Callable[[Context], list[Better]] | None = None
    findings: str = ""
    #: How many times the noise a printed number may lie away from ours.
    tolerance: float = 2.0
    #: Brings rows into the form that the protocol starts from, such as pixels in [0, 1].
    prepare: Callable[[Any], Any] = lambda dataset: dataset
