"""Reduce the support vectors of a saved model: the error at each size, and a smaller file."""

from __future__ import annotations

import datetime
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from pegasos.program.errors import UsageError
from pegasos.program.tables.dataset import Dataset, take
from pegasos.program.terminal import console
from pegasos.program.terminal.options import ModelFile, ReadingOptions, Seed, option

if TYPE_CHECKING:
    from pegasos.program.saved_models import SavedModel
    from pegasos.shrinking import Curve

#: With fewer new rows than this their error is too noisy: a part of the training rows is held out.
_FEW_ROWS = 50


def command(
    model: ModelFile,
    reading: ReadingOptions,
    data: Annotated[
        str | None,
        typer.Argument(metavar="DATA", help="Training rows. Default: the model's own data."),
    ] = None,
    keep: Annotated[int | None, option("N", "Write a model with N support vectors.", min=1)] = None,
    out: Annotated[
        str | None, option("FILE", "Smaller model. Default: MODEL-N.model.", "--out", "-o")
    ] = None,
    at_most: Annotated[
        float | None,
        option(
            "SHARE",
            "Write nothing if the test error rises by more than this, such as 0.005.",
            min=0,
            max=1,
        ),
    ] = None,
    seed: Seed = 0,
) -> dict[str, Any]:
    """Reduce the support vectors of a kernel model.

    Examples
    --------
      pegasos shrink my.model                       show the error at every size; write nothing
      pegasos shrink my.model --keep 200            also write my-200.model
      pegasos shrink my.model my.csv --keep 200 --at-most 0.005 -o small.model

    The support vectors that contribute most are kept, and the objective is solved exactly for them.
    Errors are measured on rows of DATA that are not training rows; if there are none, on a fifth of
    the rows, held out from both models. The written model is fitted to all training rows. A model
    trained with --weight needs this option here, too.
    """
    from pegasos.program.saved_models import SavedModel
    from pegasos.shrinking import Shrinking, shrinking_curve, usual_counts

    saved = SavedModel.open(model)
    estimator = saved.model.estimator
    count = _check_counts(model, estimator, keep, writes=out is not None or at_most is not None)
    dataset, source = _load_training_rows(saved, data, reading)
    target = out or str(Path(model).with_name(f"{Path(model).stem}-{keep}.model"))
    if keep is not None:
        console.check_output(target, model, source, what="a model")
    y, known = saved.classes_of(dataset), saved.known_rows(dataset)
    known = np.ones(len(y), dtype=bool) if known is None else known
    if not known.any():
        raise UsageError(f"{model} was not trained on rows of {source}: give its training rows.")
    own, new = take(dataset, np.flatnonzero(known)), take(dataset, np.flatnonzero(~known))
    counts = sorted({*usual_counts(count), *([] if keep is None else [keep])})
    with console.working(f"measuring the error at {len(counts)} sizes"):
        curve = shrinking_curve(
            estimator,
            own.X,
            y[known],
            sample_weight=own.weights,
            test=(new.X, y[~known]) if len(new) >= _FEW_ROWS else None,
            counts=counts,
            random_state=seed,
        )
    found: dict[str, Any] = {
        "model": model,
        "data": source,
        "support_vectors": count,
        "curve": curve,
        "keep": keep,
    }
    found |= {"price": None, "written": None, "bytes": None}
    if not console.state.as_json:
        _show_curve(found)  # before a refusal because of the price
    if keep is None:
        return found
    if any(each.support_vectors == keep for each in curve.points):
        found["price"] = curve.price(keep)
    if at_most is not None:
        _check_price(curve, found["price"], keep, at_most)
    with console.working(f"refitting {keep} support vectors to {len(own)} rows"):
        small = Shrinking(estimator, own.X, y[known], keep, own.weights).model(keep)
    _save(saved, small, target, curve, keep)
    return found | {"written": target, "bytes": Path(target).stat().st_size}


def _check_counts(path: str, estimator: Any, keep: int | None, writes: bool) -> int:
    """Return the number of support vectors; refuse options that do not fit it."""
    from pegasos.shrinking import kernel_learner

    try:
        count = len(kernel_learner(estimator).support_)
    except ValueError as error:
        raise UsageError(f"{path}: {error}") from None
    if keep is None and writes:
        raise UsageError("-o and --at-most need --keep N, the size of the model to write.")
    if keep is not None and not 1 <= keep < count:
        raise UsageError(
            f"--keep must be between 1 and {count - 1}: the model has {count} support vectors. "
            f"Got {keep}."
        )
    return count


def _check_price(curve: Curve, price: float | None, keep: int, most: float) -> None:
    """Refuse a size whose test error is unknown, or rises by more than `most`."""
    if price is None:
        raise UsageError(
            "nothing is written: fitted without the held-out rows, the model has only "
            f"{curve.before.support_vectors} support vectors, so the error with {keep} is "
            "unknown. Give a smaller --keep."
        )
    if price > most:
        raise UsageError(
            f"nothing is written: with {keep} support vectors the error rises by "
            f"{100 * price:.2f} %, and --at-most allows {100 * most:g} %."
        )


def _load_training_rows(
    saved: SavedModel, data: str | None, reading: ReadingOptions
) -> tuple[Dataset, str]:
    """Load the given rows, or those named by the model's card if they are unchanged."""
    from pegasos.program.saved_models import fingerprint
    from pegasos.program.tables.named_sets import SETS
    from pegasos.program.tables.row_hashes import hash_rows

    card = saved.card.data
    if data is not None:
        return saved.labelled_rows(data, reading), data
    if card is None or not (card.name in SETS or Path(card.name).exists()):
        why = "the model file names none" if card is None else f"{card.name} does not exist"
        raise UsageError(f"give the training rows of the model as DATA: {why}.")
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

    smaller = [each for each in curve.points if each.support_vectors == keep]
    mistakes = [round(each.error.error * curve.rows) for each in smaller]
    errors = {"test": ErrorCount.counted(curve.rows, mistakes[0])} if mistakes else {}
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


def _show_curve(found: dict[str, Any]) -> None:
    """Print the error at each number of support vectors; the full model comes last."""
    curve: Curve = found["curve"]
    before, percent = curve.before, console.percent
    kind = "held out from both models" if curve.set_aside else "that are not training rows"
    console.heading(f"{found['model']}: error on {curve.rows} rows of {found['data']} {kind}", "")
    rows = []
    for each in (*curve.points, before):
        error, share = each.error, each.support_vectors / before.support_vectors
        interval = f"{percent(error.low)} to {percent(error.high)}"
        changes = (f"{100 * (error.error - before.error.error):+.2f} %", each.worse, each.better)
        numbers = (each.support_vectors, percent(share), percent(error.error), interval)
        rows.append((*numbers, *(("", "", "") if each is before else changes)))
    head = ("support vectors", "share", "error", "95 % interval")
    console.table((*head, "change", "newly wrong", "newly right"), rows, left=0)


def show(found: dict[str, Any]) -> None:
    """Print which file was written; the curve is printed before it."""
    if found["written"] is None:
        console.show("", "Nothing was written; --keep N writes a model of that size.")
        return
    price = "" if found["price"] is None else f", error {100 * found['price']:+.2f} %"
    size = f"{found['bytes'] / 1e6:.2f} MB, {found['keep']} support vectors"
    console.show("", f"written: {found['written']}, {size}{price}")
