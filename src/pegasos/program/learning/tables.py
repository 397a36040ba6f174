"""Training tables of any size, in memory or read in passes, and the models fitted to them."""

from __future__ import annotations

import datetime
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pegasos.estimates import Figure
from pegasos.learners.catalogue import ONE_VS_ONE, SDCA
from pegasos.metrics import Metric
from pegasos.program.datasets import load_or_outline
from pegasos.program.modelfile import save
from pegasos.program.pipelines import Recipe
from pegasos.program.records.codec import to_json
from pegasos.program.records.fitted import CardData, CardSplit, ModelCard
from pegasos.program.records.runs import ErrorCount, WholeRecord
from pegasos.program.tables.dataset import Array, Column, Dataset, Outline
from pegasos.program.terminal import console
from pegasos.program.terminal.options import LearningOptions, ReadingOptions, RunningOptions


@dataclass(frozen=True)
class Choice:
    """Setting that a search chose, and what is needed to fit it to all rows.

    `learned_rows` is the number of rows of the search without outliers; `metric` is
    None for a scorer of scikit-learn, `until` is the time at which results are wanted, and `client`
    is that of a Dask cluster.
    """

    search: Any
    metric: Metric | None
    recipe: Recipe
    learning: LearningOptions
    learned_rows: int
    refit_all: bool
    until: float | None
    client: Any


@dataclass(frozen=True)
class Learned:
    """A fitted model, its errors, and the rows that it was trained on.

    Errors are those of a model trained on `fitted_rows` training rows; `estimator` is the model to
    keep, trained on `saved_rows` rows, which may include test rows if `refits`: `classes` counts
    them by class, and `learned` without outliers. `hashes` has one of each row, or is None for lack
    of memory; `fingerprint` is that of all rows of the table. `whole` says how the choice of a
    search on a sample was fitted to all rows.
    """

    estimator: Any
    errors: dict[str, ErrorCount]
    classes: dict[str, int]
    learned: int
    hashes: Array | None
    fitted_rows: int
    saved_rows: int
    fingerprint: str = "not kept"
    figures: dict[str, Figure] = field(default_factory=dict)
    refits: bool = False
    whole: WholeRecord | None = None


class TrainingTable(ABC):
    """Rows to learn from, split into training and test rows."""

    name: str
    running: RunningOptions
    #: Columns of the features, and whether rows are a frame with their names.
    columns: list[Column]
    frame: bool
    label: str | None
    image: tuple[int, int] | None = None
    rows: int
    training_rows: int
    #: Distinct labels of the training rows, and how test rows were set aside.
    classes: Array
    split_kind: str
    test_share: float | None
    #: Training rows to compare settings on, all or a sample, and their positions in the table.
    search_rows: tuple[Dataset, Array]
    #: The share of memory and time for a search; the rest is for the fit to all rows.
    search_share = 1.0

    @abstractmethod
    def fit(self, learner: Any, client: Any, **steps: Any) -> Learned:
        """Fit a learner to the training rows, and count its errors.

        `client` is that of a Dask cluster, or None; `steps` are the arguments of `make_recipe`.
        """

    @abstractmethod
    def finish(self, choice: Choice) -> Learned:
        """Return the model of a choice for all rows, and its errors without the test rows."""

    def test_sample(self, most: int) -> Dataset | None:
        """Return about `most` test rows; None if they are not in memory."""
        return None

    @property
    def test_rows(self) -> int:
        """Number of rows that are set aside."""
        return self.rows - self.training_rows

    def save(self, learned: Learned, path: str, **found: Any) -> None:
        """Write the model with a card; `found` are further entries of the card."""
        counts = self.training_rows, self.test_rows, learned.learned
        card = ModelCard(
            columns=self.columns,
            frame=self.frame,
            label=self.label,
            image=self.image,
            data=CardData(self.name, self.rows, learned.fingerprint),
            classes=learned.classes,
            split=CardSplit(self.split_kind, self.running.seed, self.test_share, *counts),
            errors=learned.errors,
            **found,
            command=console.command_line(),
            created=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        )
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        save(learned.estimator, path, card=to_json(card), rows=learned.hashes)


def why_not_in_passes(learning: LearningOptions, model: str | None = None) -> str | None:
    """Return why a model cannot be fitted in passes over the rows; None if it can.

    Without a model only the steps before it are checked.
    """
    if learning.drop_outliers is not None:
        return "--drop-outliers needs all rows at once"
    if ONE_VS_ONE in (learning.multiclass or ""):
        return f"--multiclass {ONE_VS_ONE} needs all rows at once"
    names = [each.name for each in SDCA.models]
    exact = learning.kernel and not learning.landmarks
    if model is not None and (model not in names or exact):
        return f"in passes {' and '.join(names)} learn, without a kernel or with --landmarks"
    return None


def open_table(
    data: str,
    reading: ReadingOptions,
    running: RunningOptions,
    learning: LearningOptions,
    most: int,
    model: str | None = None,
) -> TrainingTable:
    """Open a file or named set: in memory if it fits, else read in passes.

    The first pass draws a sample of at most `most` rows for a search; `model` is the only model to
    fit, if there is one. Options that need all rows in memory are refused.
    """
    found = load_or_outline(data, reading, running.memory)
    if isinstance(found, Outline):
        from pegasos.program.learning.passes import TableInPasses

        table = TableInPasses(data, reading, running, found)
        table.scan(learning, most, model)
        return table
    from pegasos.program.learning.in_memory import TableInMemory

    return TableInMemory(found, running)
