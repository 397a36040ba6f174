"""Model files with their cards, as evaluate, predict, show and report read them."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder

from pegasos.learners.catalogue import model_of
from pegasos.program.datasets import check_source, load_named, read_options
from pegasos.program.errors import BadModel, NotAModel, UsageError
from pegasos.program.modelfile import Model, read_model
from pegasos.program.records.fitted import ModelCard
from pegasos.program.scoring import probabilities_of, scores_of
from pegasos.program.tables.accumulators import joined
from pegasos.program.tables.columns import places_of
from pegasos.program.tables.dataset import (
    DATES,
    NUMBER,
    TEXT,
    BadData,
    Column,
    Dataset,
    holds_words,
)
from pegasos.program.tables.labels import checked_weights, label_texts, unlabelled_note
from pegasos.program.tables.messages import near
from pegasos.program.tables.named_sets import SETS
from pegasos.program.tables.reading import stream
from pegasos.program.tables.row_hashes import hash_rows, split_known
from pegasos.program.terminal import console
from pegasos.program.terminal.options import ReadingOptions
from pegasos.search.anatomy import anatomy

Array = np.ndarray[Any, Any]


def fingerprint(hashes: Array) -> str:
    """Return a text for a set of rows in any order."""
    return hashlib.sha256(np.sort(hashes).astype("<u8").tobytes()).hexdigest()


@dataclass(frozen=True)
class SavedModel:
    """A loaded model file: the model, and the columns that it takes."""

    path: str
    model: Model
    memory: str | None = None

    @classmethod
    def open(cls, path: str, memory: str | None = None) -> SavedModel:
        """Load a file, or raise BadModel."""
        try:
            return cls(path, read_model(path, limit=memory), memory)
        except FileNotFoundError:
            folder = Path(path).parent
            beside = sorted(each.name for each in folder.iterdir()) if folder.is_dir() else []
            raise BadModel(f"{path!r} does not exist.{near(Path(path).name, beside)}") from None
        except OSError as error:
            raise BadModel(f"{path!r} cannot be read: {error.strerror or error}.") from None
        except NotAModel as error:
            raise NotAModel(f"{error} MODEL comes first, then DATA.") from None

    @cached_property
    def card(self) -> ModelCard:
        """The card in the file."""
        return ModelCard.read(self.model.card)

    @cached_property
    def columns(self) -> list[Column]:
        """The columns that the model takes.

        Those of a file written in Python have names if the estimator has.
        """
        listed, model = self.card.columns, self.model
        if listed is None and not isinstance(model.card.get("columns"), list):
            names = model.feature_names or [f"x{place + 1}" for place in range(model.n_features)]
            words = {name for name, _ in self._words()}
            return [Column(name, TEXT if name in words else NUMBER) for name in names]
        if listed is None or not all(column.kind in (NUMBER, TEXT, *DATES) for column in listed):
            raise BadModel(f"{self.path!r}: its list of columns is damaged.")
        if len(listed) != model.n_features:
            takes = f"its first step takes {model.n_features}"
            raise BadModel(f"{self.path!r}: it lists {len(listed)} columns, but {takes}.")
        return listed

    @cached_property
    def learner(self) -> Any:
        """The learner at the end of the pipeline."""
        return anatomy(self.model.estimator, fitted=True).learner

    @cached_property
    def class_texts(self) -> list[str]:
        """The classes of the model as texts."""
        return label_texts(self.model.classes).tolist()

    def scores(self, rows: Dataset) -> Array:
        """Return the finite scores of rows; an error names the row or the model as its cause."""
        return scores_of(self.model.estimator, rows, repr(self.path))

    def check_probabilities(self, remedy: str) -> None:
        """Raise UsageError if the model has no probabilities."""
        if not self.learner.has_probabilities:
            raise UsageError(
                f"this model ({model_of(self.learner).name}) has no probabilities; logistic models "
                f"and models chosen by `pegasos tune` have them: {remedy}."
            )

    def probabilities(self, rows: Dataset, scores: Array) -> Any:
        """Return the class probabilities of rows with these scores, or None without any."""
        return probabilities_of(self.model.estimator, rows, scores)

    def rows(
        self, data: str, reading: ReadingOptions, keep: tuple[str, ...] = (), labelled: bool = False
    ) -> Iterator[Dataset]:
        """Yield rows of a file or set in parts, with the model's columns and those to `keep`.

        With `labelled`, rows without a label are left out and counted in a note.
        """
        rows, left_out, label = 0, 0, self.card.label
        if data in SETS:
            parts = iter([self._named_set(data, reading)])
        else:
            check_source(data)
            options = replace(read_options(reading, self.memory, labelled=False), keep=keep)
            parts = stream(
                data,
                self.columns,
                options,
                frame=self.wants_frame,
                label_name=label,
                labelled=labelled,
            )
        for part in parts:
            for note in part.notes:
                console.say(note)
            rows, left_out = rows + len(part) + part.unlabelled, left_out + part.unlabelled
            if len(part):
                yield part
        for note in unlabelled_note(left_out, rows, label or "y", data, reading.strict):
            console.say(note)

    @property
    def wants_frame(self) -> bool:
        """Whether the model takes a table with column names, for its encoder."""
        return self._encoder() is not None if self.card.columns is None else self.card.frame

    def _named_set(self, data: str, reading: ReadingOptions) -> Dataset:
        """Return a named set with the columns of the model."""
        dataset, names = load_named(data, reading), [column.name for column in self.columns]
        X = dataset.X[:, places_of(names, [column.name for column in dataset.columns], data)]
        if self.wants_frame:
            import polars

            X = polars.DataFrame(np.asarray(X, dtype=np.float64), schema=names)
        return replace(dataset, X=X, columns=self.columns, notes=[])

    def labelled_rows(self, data: str, reading: ReadingOptions) -> Dataset:
        """Return all rows of a file or set with their labels, and weights if requested."""
        weight = () if reading.weight is None else (reading.weight,)
        parts = list(self.rows(data, reading, weight, labelled=True))
        if not parts:
            raise BadData(f"{data} has no rows.")
        if any(part.y is None for part in parts):
            raise BadData(f"{data} has no labels: say with --label which column holds them.")
        tests = [part.test for part in parts if part.test is not None]
        return replace(
            parts[0],
            X=joined([part.X for part in parts]),
            y=np.concatenate([part.labels for part in parts]),
            test=np.concatenate(tests) if tests else None,
            image=self.card.image or parts[0].image,
            columns=self.columns,
            kept={},
            weights=None if reading.weight is None else _weights(parts, data, reading.weight),
        )

    def known_rows(self, dataset: Dataset) -> Array | None:
        """Return which rows the model was trained on; None if the file has no hashes."""
        if self.model.rows is None:
            return None
        return split_known(hash_rows(dataset.X, dataset.y), self.model.rows, order=dataset.test)

    def classes_of(self, dataset: Dataset) -> Array:
        """Return the labels of rows as classes of the model, or raise BadData."""
        known = {text: code for code, text in enumerate(self.class_texts)}
        codes = np.array([known.get(text, -1) for text in label_texts(dataset.labels).tolist()])
        if (codes < 0).any():
            row = int((codes < 0).argmax())
            label = dataset.labels[row]
            classes = f"which has {', '.join(known)}"
            raise BadData(f"{dataset.at(row)}: {label!r} is no class of the model, {classes}.")
        return self.model.classes[codes]

    def _encoder(self) -> ColumnTransformer | None:
        """Return the encoder of columns by name, if the model begins with one."""
        stages = anatomy(self.model.estimator, fitted=True).stages
        first = stages[0].part if stages else None
        return first if isinstance(first, ColumnTransformer) else None

    def unseen_words(self, rows: Dataset) -> Iterator[tuple[str, list[str]]]:
        """Yield columns with categories unknown to the model, and these categories by row."""
        if not rows.has_frame:
            return
        for name, known in self._words():
            if name in rows.X.columns and holds_words(rows.X[name]):
                words = rows.X[name].drop_nulls()
                yield name, words.filter(~words.is_in(known)).to_list()

    def _words(self) -> Iterator[tuple[str, list[str]]]:
        """Yield the columns of categories, and the categories in training."""
        encoder, names = self._encoder(), self.model.feature_names or []
        for _, step, columns in [] if encoder is None else encoder.transformers_:
            last = step.steps[-1][1] if isinstance(step, Pipeline) else step
            if not isinstance(last, OneHotEncoder | OrdinalEncoder):
                continue
            if not any(each.dtype.kind in "OU" for each in last.categories_):
                continue
            for each, known in zip(columns, last.categories_, strict=True):
                if isinstance(each, str) or names:
                    name = each if isinstance(each, str) else names[each]
                    yield name, [word for word in known.tolist() if isinstance(word, str)]


def _weights(parts: list[Dataset], data: str, name: str) -> Array:
    """Return the weights that are kept with the rows of a table."""
    if not parts[0].kept:
        named = "--weight is for tables that have them (CSV, Parquet)"
        raise BadData(f"{data} has no named columns: {named}.")
    weights = [each for part in parts for values in part.kept.values() for each in values]
    with contextlib.suppress(ValueError):  # text is refused with the column's name
        weights = [float("nan" if each is None else each) for each in weights]
    return checked_weights(weights, name, data, lambda row: f"row {row + 1}")


def steps_of(estimator: Any) -> list[str]:
    """Return the names of the steps of a pipeline, the learner last."""
    parts = anatomy(estimator, fitted=True)
    steps = [
        f"{stage.label}({stage.part.threshold:g})" if stage.drops else stage.label
        for stage in parts.stages
    ]
    return [*steps, type(parts.learner).__name__]
