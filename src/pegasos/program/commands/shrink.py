"""Reduce the number of support vectors of a saved model: the error curve, and a smaller file on request."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pegasos.program.errors import UsageError
from pegasos.program.terminal import console
from pegasos.program.terminal.options import ModelFile, OutputOptions, ReadingOptions, option

if TYPE_CHECKING:
    from pegasos.program.saved_models import SavedModel
    from pegasos.program.tables.dataset import Dataset
    from pegasos.shrinking import Curve

PLACE = 62
SHORT = "Reduce the support vectors of a kernel model, and show what that costs."

#: With fewer new rows than this their error is too noisy: a part of the training rows is set aside.
_FEW_ROWS = 50


@dataclass(frozen=True)
class ShrinkRecord:
    """Result of `shrink`: the curve, and the file if one was written."""

    model: str
    data: str
    support_vectors: int
    curve: Curve
    keep: int | None = None
    price: float | None = None
    written: str | None = None
    bytes: int | None = None


def command(
    model: ModelFile,
    reading: ReadingOptions,
    talking: OutputOptions,
    data: Annotated[
        str | None,
        typer.Argument(
            metavar="[DATA]",
            help="The rows of training. Default: those that the model's card names.",
        ),
    ] = None,
    keep: Annotated[
        int | None,
        option("N", "Support vectors to keep. Without it only the curve is shown.", min=1),
    ] = None,
    out: Annotated[
        str | None, option("FILE", "The smaller model. Default: MODEL-N.model.", "--out", "-o")
    ] = None,
    at_most: Annotated[
        float | None,
        option(
            "SHARE",
            "Write nothing if the held-out error rises by more than this, such as 0.005.",
            min=0,
            max=1,
        ),
    ] = None,
    seed: Annotated[
        int, option("N", "Seed of the rows that are set aside.", min=0, max=2**32 - 1)
    ] = 0,
) -> None:
    """Reduce the support vectors of a kernel model: smaller and faster, with the error at each size.

    \b
    Examples:
      pegasos shrink my.model                       show the error at every size; write nothing
      pegasos shrink my.model --keep 200            also write my-200.model
      pegasos shrink my.model my.csv --keep 200 --at-most 0.005 -o small.model

    The support vectors that carry most of the predictor are kept, and the model's objective is solved exactly for them. Errors
    are measured on rows of DATA that are not training rows; if all are, a fifth is set aside, and both models are fitted without
    it for the measurement. The written model uses all training rows. A model trained with --weight needs it here, too.
    """
    from pegasos.program.views import give

    show = (lambda found: None) if talking.as_json else _show
    found = shrink(model, data, keep, out, at_most, seed, reading, show)
    give(found, talking.as_json, lambda: _show_file(found))


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
    """Measure errors against support vectors and `show` them; with `keep` write the smaller model."""
    import numpy as np

    from pegasos.program.saved_models import SavedModel
    from pegasos.program.tables.dataset import take
    from pegasos.shrinking import Shrinking, shrinking_curve, usual_counts

    saved = SavedModel.open(path)
    estimator = saved.model.estimator
    count = _check_counts(path, estimator, keep, out, most)
    dataset, source = _load_training_rows(saved, data, reading)
    target = None if keep is None else _target(path, keep, out, source)
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
    with console.working(f"measuring the error at {len(counts)} sizes"):
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
    show(found)  # before a refusal because of the price
    if keep is None or target is None:
        return found
    if most is not None:
        _check_price(found, keep, most)
    with console.working(f"refitting {keep} support vectors to {len(own)} rows"):
        small = Shrinking(estimator, own.X, y[known], keep, own.weights).model(keep)
    _save(saved, small, target, curve, keep)
    return replace(found, written=target, bytes=Path(target).stat().st_size)


def _check_counts(
    path: str, estimator: Any, keep: int | None, out: str | None, most: float | None
) -> int:
    """Return the number of support vectors; refuse options that do not fit it."""
    from pegasos.shrinking import kernel_learner

    try:
        count = len(kernel_learner(estimator).support_)
    except ValueError as error:
        raise UsageError(f"{path}: {error}") from None
    if keep is None and (out is not None or most is not None):
        raise UsageError("-o and --at-most need --keep N, the size of the model to write.")
    if keep is not None and not 1 <= keep < count:
        raise UsageError(
            f"--keep must be between 1 and {count - 1}: the model has {count} support vectors. Got {keep}."
        )
    return count


def _target(path: str, keep: int, out: str | None, source: str) -> str:
    from pegasos.program.terminal import outputs

    target = out or str(Path(path).with_name(f"{Path(path).stem}-{keep}.model"))
    outputs.check_file(target, path, source, what="a model")
    return target


def _check_price(found: ShrinkRecord, keep: int, most: float) -> None:
    """Refuse a size whose held-out error is unknown, or rises by more than `most`."""
    if found.price is None:
        raise UsageError(
            "nothing is written: fitted without the rows set aside, the model has only "
            f"{found.curve.before.support_vectors} support vectors, so that the error with {keep} is unknown. "
            "Give a smaller --keep."
        )
    if found.price > most:
        raise UsageError(
            f"nothing is written: with {keep} support vectors {100 * found.price:.2f} % more rows are wrong, "
            f"and --at-most allows {100 * most:g} %."
        )


def _load_training_rows(
    saved: SavedModel, data: str | None, reading: ReadingOptions
) -> tuple[Dataset, str]:
    """Load the given rows, or those that the model's card names if they are unchanged."""
    from pegasos.program.saved_models import fingerprint
    from pegasos.program.tables.named_sets import SETS
    from pegasos.program.tables.row_hashes import hash_rows

    card = saved.card.data
    if data is not None:
        return saved.labelled_rows(data, reading), data
    if card is None or not (card.name in SETS or Path(card.name).exists()):
        where = "its file does not name them" if card is None else f"{card.name} is not here"
        raise UsageError(
            f"the training rows of the model are needed, and {where}: give them as DATA."
        )
    dataset = saved.labelled_rows(card.name, reading)
    if fingerprint(hash_rows(dataset.X, dataset.y)) != card.fingerprint:
        raise UsageError(
            f"{card.name} has changed since the model was trained: give the training rows as DATA."
        )
    return dataset, card.name


def _save(saved: SavedModel, model: Any, target: str, curve: Curve, keep: int) -> None:
    """Write the smaller model with the card of the original, its errors and command replaced."""
    from pegasos.program.modelfile import save
    from pegasos.program.records.codec import to_json
    from pegasos.program.records.runs import ErrorCount

    errors = {}
    for point in curve.points:
        if point.support_vectors == keep:
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


def _show(found: ShrinkRecord) -> None:
    curve, before = found.curve, found.curve.before
    kind = (
        "set aside; the model was fitted without them"
        if curve.set_aside
        else "that are not training rows"
    )
    console.heading(f"{found.model}: error on {curve.rows} rows of {found.data} {kind}", "")
    rows = [
        (
            each.support_vectors,
            f"{each.support_vectors / before.support_vectors:.1%}".replace("%", " %"),
            console.percent(each.error.error),
            f"{console.percent(each.error.low)} to {console.percent(each.error.high)}",
            "" if each is before else f"{100 * (each.error.error - before.error.error):+.2f} %",
            "" if each is before else f"{each.worse} : {each.better}",
        )
        for each in (*curve.points, before)
    ]
    console.table(
        ("support vectors", "share", "error", "95 % interval", "more", "newly wrong : newly right"),
        rows,
        left=0,
    )


def _show_file(found: ShrinkRecord) -> None:
    if found.written is not None and found.bytes is not None:
        price = (
            ""
            if found.price is None
            else f", {100 * found.price:+.2f} % more rows wrong than before"
        )
        console.show(
            "",
            f"written: {found.written}, {found.bytes / 1e6:.2f} MB, {found.keep} support vectors{price}",
        )
    else:
        console.show("", "Nothing was written; --keep N writes a model of that size.")
