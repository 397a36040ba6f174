"""A saved model with fewer support vectors: the curve first, and a file only when somebody has named a size."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from pegasos.program.errors import UsageError
from pegasos.program.jobs import outputs
from pegasos.program.jobs.model_cards import SavedModel, fingerprint
from pegasos.program.modelfile import save
from pegasos.program.records.codec import to_json
from pegasos.program.records.runs import ErrorCount
from pegasos.program.tables.dataset import Dataset, take
from pegasos.program.tables.named_sets import SETS
from pegasos.program.tables.row_hashes import hash_rows
from pegasos.program.terminal import console
from pegasos.program.terminal.options import ReadingOptions
from pegasos.shrinking import Curve, Point, Shrinking, kernel_learner, shrinking_curve, usual_counts

#: With fewer new rows than these their errors tell nothing: some of the model's own are set aside instead.
_FEW_ROWS = 50


@dataclass(frozen=True)
class ShrinkRecord:
    """What `shrink` answers: the curve, and the file that was written, if one was."""

    model: str
    data: str
    support_vectors: int
    curve: Curve
    keep: int | None = None
    price: float | None = None
    written: str | None = None
    bytes: int | None = None


def shrink(
    path: str,
    data: str | None,
    keep: int | None,
    out: str | None,
    most: float | None,
    seed: int,
    reading: ReadingOptions,
    show: Callable[[ShrinkRecord], None],
) -> ShrinkRecord:
    """Count errors against support vectors and `show` them; then, and with `keep`, write the smaller model."""
    saved = SavedModel.open(path)
    estimator = saved.model.estimator
    try:
        count = len(kernel_learner(estimator).support_)
    except ValueError as error:
        raise UsageError(f"{path}: {error}") from None
    if keep is None and (out is not None or most is not None):
        raise UsageError(
            "-o and --at-most are for a model that is written: say with --keep how large it is to be."
        )
    if keep is not None and not 1 <= keep < count:
        raise UsageError(
            f"--keep must be between 1 and {count - 1}: the model has {count} support vectors. Got {keep}."
        )
    target = (
        None
        if keep is None
        else out or str(Path(path).with_name(f"{Path(path).stem}-{keep}.model"))
    )
    dataset, source = _dataset(saved, data, reading)
    if target is not None:
        outputs.check_file(target, path, source, what="a model")
    y = saved.classes_of(dataset)
    known = saved.known_rows(dataset)
    known = np.ones(len(y), dtype=bool) if known is None else known
    if not known.any():
        raise UsageError(
            f"{path} was not trained on rows of {source}: give the rows that it was trained on."
        )
    own, new = take(dataset, np.flatnonzero(known)), take(dataset, np.flatnonzero(~known))
    test = (new.X, y[~known]) if len(new) >= _FEW_ROWS else None
    counts = sorted({*usual_counts(count), *([] if keep is None else [keep])})
    with console.working(f"counting errors of {len(counts)} sizes"):
        curve = shrinking_curve(
            estimator,
            own.X,
            y[known],
            sample_weight=own.weights,
            test=test,
            counts=counts,
            random_state=seed,
        )
    found = ShrinkRecord(path, source, count, curve)
    if keep is not None and any(each.support_vectors == keep for each in curve.points):
        found = replace(found, keep=keep, price=curve.price(keep))
    show(found)  # the price is told before it is paid
    if keep is None or target is None:
        return found
    if most is not None and found.price is None:
        fewer = f"fitted without the rows set aside, the model has only {curve.before.support_vectors} support vectors"
        raise UsageError(
            f"nothing is written: {fewer}, so that the price of {keep} is not known. Give a smaller --keep."
        )
    if most is not None and found.price is not None and found.price > most:
        what = (
            f"{100 * found.price:.2f} % more rows are wrong, and --at-most allows {100 * most:g} %"
        )
        raise UsageError(f"nothing is written: with {keep} support vectors {what}.")
    with console.working(f"refitting {keep} support vectors to {len(own)} rows"):
        small = Shrinking(estimator, own.X, y[known], keep, own.weights).model(keep)
    _save(saved, small, target, curve, keep)
    return replace(found, written=target, bytes=Path(target).stat().st_size)


def _dataset(saved: SavedModel, data: str | None, reading: ReadingOptions) -> tuple[Dataset, str]:
    """The rows that were given, or those that the card names, if they are still the same."""
    card = saved.card.data
    if data is not None:
        return saved.labelled_rows(data, reading), data
    if card is None or not (card.name in SETS or Path(card.name).exists()):
        where = "its file does not say which" if card is None else f"{card.name} is not here"
        raise UsageError(
            f"the rows that the model was trained on are needed, and {where}: give them as DATA."
        )
    dataset = saved.labelled_rows(card.name, reading)
    if fingerprint(hash_rows(dataset.X, dataset.y)) != card.fingerprint:
        raise UsageError(
            f"{card.name} is not what it was when the model was trained: give the rows of training as DATA."
        )
    return dataset, card.name


def _save(saved: SavedModel, model: Any, target: str, curve: Curve, keep: int) -> None:
    """The smaller model with the card of the whole one, but for what was found on held-out rows and who wrote it."""
    point: Point | None = next(
        (each for each in curve.points if each.support_vectors == keep), None
    )
    errors = {}
    if point is not None:
        mistakes = round(point.error.error * curve.rows)
        errors = {"test": ErrorCount.counted(curve.rows, mistakes)}
    card = replace(
        saved.card,
        errors=errors,
        figures={},
        honest=None,
        value=None,
        command=console.command_line(),
        created=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        seconds=None,
    )
    Path(target).parent.mkdir(parents=True, exist_ok=True)
    save(model, target, card=to_json(card), rows=saved.model.rows)
