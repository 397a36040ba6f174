"""Single charts of the pages for notebooks, as Altair charts: they can be joined, changed and saved like any other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_consistent_length

from pegasos.program.pages import mistakes, row_samples
from pegasos.program.pages.blocks import Chart as ChartBlock
from pegasos.program.pages.boundary_section import boundary_chart
from pegasos.program.pages.compared import compared, rates_of
from pegasos.program.pages.confusion_section import confusion_chart
from pegasos.program.pages.decision_section import rate_charts, rate_rows
from pegasos.program.pages.fitted_facts import check_shown
from pegasos.program.pages.fitted_facts import curves as recorded_curves
from pegasos.program.pages.grid_axes import Axis, axes_of, points_of
from pegasos.program.pages.grid_charts import Grid, view
from pegasos.program.pages.learning_section import curve_chart, learning_blocks
from pegasos.program.pages.vega import Spec
from pegasos.program.records.codec import to_json
from pegasos.program.records.decisions import RatesRecord, rates_of_model
from pegasos.program.tables.labels import label_texts
from pegasos.search.anatomy import anatomy
from pegasos.search.sweep import SweepCV

if TYPE_CHECKING:
    from altair import Chart, HConcatChart, LayerChart

Array = np.ndarray[Any, Any]

#: Pixels, where a page would take what it has.
WIDTH = 460


def boundary(model: Any, X: Any, y: Any) -> LayerChart:
    """What a model with two features answers where, and some rows X in the colours of their own classes y.

    Colours are the stronger the larger the lead is. Hinge models of two classes have their margins (dashed) and rings around
    support vectors. With more features it is the plane of the two first principal components through the mean.

    model: a fitted learner of pegasos, a pipeline that ends with one, or a SweepCV, whose best estimator is shown.

    >>> from pegasos import SDCA, load_set
    >>> X, y = load_set("moons", return_X_y=True)
    >>> boundary(SDCA(kernel="gaussian").fit(X, y), X, y).save("moons.html")  # doctest: +SKIP
    """
    estimator = _estimator(model)
    check_consistent_length(X, y)
    dataset = row_samples.as_dataset(X, y, {})
    assert dataset is not None
    classes = np.union1d(estimator.classes_, dataset.labels)
    codes = np.searchsorted(classes, dataset.labels)
    edge, reason = row_samples.boundary(
        estimator, dataset, codes, lambda labels: np.searchsorted(classes, labels)
    )
    if edge is None:
        raise ValueError(reason)
    return _altair(boundary_chart(edge, label_texts(classes).tolist()))


def heatmap(sweep: SweepCV, x: str | None = None, y: str | None = None) -> LayerChart:
    """Draw the cells of a fitted SweepCV, of the kind of kernel of its choice, over two parameters of the grid.

    Each place shows the best cell over all other parameters. The choice has a red frame, the simplest cell within one standard
    error of it an orange one.

    x, y: the parameters across and down, by their names ("lam"; where kernels differ in a number "gaussian variance").
    """
    grid = _grid(sweep)
    family = grid.family_of_choice()
    axes = axes_of(family)
    wanted = [_known(axes, name) for name in (x, y)]
    left = [axis for axis in view(axes) if axis not in wanted]
    across, down = (axis or left.pop(0) for axis in wanted)
    title = f"{grid.measure.name}{' in %' if grid.measure.percent else ''}: {grid.title(family)}"
    return _altair({**grid.heat(family, across, down), "title": title})


def confusion(y: Any, predicted: Any, *, rates: bool = False) -> LayerChart:
    """True classes down, predicted ones across; numbers are rows, with `rates` percent of the rows of the true class."""
    check_consistent_length(y, predicted)
    classes = np.union1d(y, predicted)
    truth, guess = (np.searchsorted(classes, np.asarray(each)) for each in (y, predicted))
    flat = mistakes.confusion(truth, guess, len(classes))
    return _altair(confusion_chart(flat, label_texts(classes).tolist(), rates))


def curves(
    thing: Any, X: Any = None, y: Any = None, *, along: str | None = None
) -> Chart | LayerChart | HConcatChart:
    """How it went on: the values of a sweep along a parameter of its grid, or how a model learned.

    Of a SweepCV a line for each value of another parameter, the best over all others, with bands of one deviation over folds;
    `along` names the parameter (by default λ, or the number of steps). Of a model fitted with `checkpoints` the error on rows
    X, y at each of them; without rows what it recorded itself: the loss of the drawn examples, or its objective with the
    certified bound below it, and the gap.
    """
    if isinstance(thing, SweepCV):
        return _altair(_sweep_curves(_grid(thing), along))
    learner = anatomy(_estimator(thing), fitted=True).learner
    if X is not None:
        return _altair(_staged_errors(thing, learner, X, y))
    blocks = learning_blocks(recorded_curves(learner), [])
    found = [block.spec for block in blocks if isinstance(block, ChartBlock)]
    if not found:
        method = getattr(getattr(learner, "plan_", None), "method", None)
        how = f" (it was solved by {method})" if method else ""
        raise ValueError(
            f"this {type(learner).__name__} recorded no curve{how}: fit it with `checkpoints`, and give rows X, y."
        )
    if len(found) == 1:
        return _altair(found[0])
    import altair

    return altair.hconcat(*map(_altair, found))


def roc(thing: Any, X: Any = None, y: Any = None) -> LayerChart:
    """Recall against false alarms over all thresholds, for two classes; the dot is the threshold in use.

    Of a model on rows X, y; of a SweepCV without rows out of fold, each row by a model that did not learn from it.
    """
    found = _rates(thing, X, y)
    return _altair(rate_charts(found, rate_rows(found))["roc"])


def precision_recall(thing: Any, X: Any = None, y: Any = None) -> LayerChart:
    """Precision against recall over all thresholds, for two classes; as `roc`."""
    found = _rates(thing, X, y)
    return _altair(rate_charts(found, rate_rows(found))["precision-recall"])


# -- parts -----------------------------------------------------------------------------------------------------------


def _altair(spec: Spec) -> Any:
    """A description of a chart as Altair's object."""
    try:
        import altair
    except ImportError:
        message = "pegasos.plot needs the package altair: pip install '.[plot]' in a clone"
        raise ModuleNotFoundError(message, name="altair") from None
    width = {"width": WIDTH} if spec.get("width") == "container" else {}
    return altair.Chart.from_dict(to_json({**spec, **width}))


def _estimator(model: Any) -> Any:
    """The model itself, or the choice of a sweep."""
    check_shown(
        model, "plots show a SweepCV, a learner of pegasos, or a pipeline that ends with one"
    )
    if not isinstance(model, SweepCV):
        return model
    if not hasattr(model, "best_estimator_"):
        raise ValueError(
            "this SweepCV has no best estimator, because refit=False: show a model that you fitted yourself."
        )
    return model.best_estimator_


def _grid(sweep: Any) -> Grid:
    if not isinstance(sweep, SweepCV):
        raise ValueError(
            f"a heatmap shows the cells of a SweepCV, not of a {type(sweep).__name__}."
        )
    check_shown(sweep, "")
    found = compared(sweep)
    return Grid(points_of(found.cells), found.measure, found.best, found.simplest)


def _known(axes: list[Axis], wanted: str | None) -> Axis | None:
    """Return the axis that is asked for; steps of a pipeline before a name are left out."""
    if wanted is None:
        return None
    for axis in axes:
        if axis.name in (wanted, wanted.rpartition("__")[2]):
            return axis
    names = ", ".join(repr(axis.name) for axis in axes) or "none"
    raise ValueError(f"{wanted!r} is no parameter that varies in this grid; those are {names}.")


def _sweep_curves(grid: Grid, wanted: str | None) -> Spec:
    family = grid.family_of_choice()
    axes = axes_of(family)
    along = _known(axes, wanted) or next((axis for axis in axes if axis.numeric), None)
    spec = None
    if along is not None and along.numeric:
        spec = grid.lines(family, along, next((axis for axis in axes if axis is not along), None))
    if spec is None:
        without = f": {wanted!r} has none" if wanted else ""
        raise ValueError(f"no parameter of this grid has numbers to draw a curve along{without}.")
    return spec


def _staged_errors(model: Any, learner: Any, X: Any, y: Any) -> Spec:
    """The error at each checkpoint of the learner, whose rows the steps before it prepare."""
    check_consistent_length(X, y)
    for stage in anatomy(_estimator(model), fitted=True).stages:
        X = X if stage.drops else stage.part.transform(X)
    scores = learner.staged_decision_function(X)
    errors = [float(np.mean(learner.labels_of(each) != np.asarray(y))) for each in scores]
    rows = [{"x": at, "y": error} for at, error in zip(learner.checkpoints_, errors, strict=True)]
    spec = curve_chart(rows, learner.declaration.unit, "error")
    if rows[-1]["x"] > 50 * rows[0]["x"]:
        spec["encoding"]["x"]["scale"] = {"type": "log", "nice": False}
    return spec


def _rates(thing: Any, X: Any, y: Any) -> RatesRecord:
    estimator = _estimator(thing)
    if len(estimator.classes_) != 2:
        raise ValueError(f"this curve is for two classes; there are {len(estimator.classes_)}.")
    if X is not None:
        check_consistent_length(X, y)
        classes, cut = estimator.classes_, anatomy(estimator, fitted=True).learner.threshold_
        truth = np.asarray(y)
        if not np.isin(truth, classes).all():
            raise ValueError(
                f"y has classes that the model does not know: {np.setdiff1d(truth, classes)[:5].tolist()}."
            )
        codes = np.searchsorted(classes, truth)
        return rates_of_model(estimator.decision_function(X), codes, classes, cut)
    if not isinstance(thing, SweepCV):
        raise ValueError("give rows X, y on which the model is judged.")
    found = rates_of(thing, getattr(thing, "threshold_", None))
    if found is None:
        raise ValueError("the scores of the choice were not kept in every fold: give rows X, y.")
    return found
