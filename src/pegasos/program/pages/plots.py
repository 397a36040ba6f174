"""Single charts of the pages for notebooks, as Altair charts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_consistent_length

from pegasos.program.pages.decision_section import model_rates, rate_charts, search_rates
from pegasos.program.pages.fit_section import curve_chart, curves_of
from pegasos.program.pages.grid import NO_AXIS, Axis, Grid, axes_of, view
from pegasos.program.pages.grid_section import heatmap as grid_heatmap
from pegasos.program.pages.grid_section import lines
from pegasos.program.pages.labeled_rows import LabeledRows, as_dataset, check_shown
from pegasos.program.pages.panel_section import confusion_chart, confusion_counts
from pegasos.program.pages.plane_section import boundary_chart, find_boundary
from pegasos.program.pages.vega import Spec
from pegasos.program.records.codec import to_json
from pegasos.program.records.fitted import search_record
from pegasos.program.tables.labels import label_texts
from pegasos.search.anatomy import anatomy
from pegasos.search.sweep import SweepCV

if TYPE_CHECKING:
    from altair import Chart, HConcatChart, LayerChart

#: Width in pixels of charts that fill the width of a page.
WIDTH = 460


def boundary(model: Any, X: Any, y: Any) -> LayerChart:
    """Draw the predicted class over two features, and some rows in the colors of their classes.

    Colors are stronger where the score leads by more. Hinge models of two classes have their
    margins (dashed) and rings around support vectors. With more than two features the plane is
    that of the first two principal components through the mean.

    Parameters
    ----------
    model : learner, pipeline or SweepCV
        A fitted model; of a SweepCV its best estimator is shown.
    X, y : arrays or frames
        Rows and labels.

    Returns
    -------
    LayerChart
        Chart that Jupyter displays and `save` writes to a file.

    See Also
    --------
    pegasos.report : A page with this map and all other charts.

    Examples
    --------
    >>> from pegasos import SDCA, load_set
    >>> X, y = load_set("moons", return_X_y=True)
    >>> chart = boundary(SDCA(kernel="gaussian", random_state=0).fit(X, y), X, y)
    >>> type(chart).__name__
    'LayerChart'
    """
    estimator = _estimator(model)
    check_consistent_length(X, y)
    dataset = as_dataset(X, y, {})
    assert dataset is not None
    rows = LabeledRows(dataset, known=estimator.classes_)
    return _altair(boundary_chart(find_boundary(estimator, rows), rows.names))


def heatmap(sweep: SweepCV, x: str | None = None, y: str | None = None) -> LayerChart:
    """Draw the cells of a fitted SweepCV over two parameters, for the kind of kernel of its choice.

    Each place shows the best cell over all other parameters. The choice has a red frame, and the
    simplest cell within one standard error of it an orange one.

    Parameters
    ----------
    sweep : SweepCV
        A fitted search.
    x, y : str, optional
        Names of the parameters across and down, such as "lam" or, where kernels differ in a
        number, "gaussian variance".

    Returns
    -------
    LayerChart
        Chart that Jupyter displays and `save` writes to a file.

    See Also
    --------
    curves : Values along one parameter, with bands of one std.

    Examples
    --------
    >>> from pegasos import SDCA, SweepCV, load_set
    >>> X, y = load_set("moons", return_X_y=True)
    >>> grid = {"C": [0.1, 1, 10], "kernel": ["gaussian"], "tol": [1e-2, 1e-3]}
    >>> sweep = SweepCV(SDCA(random_state=0), grid, cv=3).fit(X, y)
    >>> type(heatmap(sweep, "C", "tol")).__name__
    'LayerChart'
    """
    grid = _grid(sweep)
    family = grid.family_of_choice()
    axes = axes_of(family)
    wanted = [_known(axes, name) for name in (x, y)]
    left = [axis for axis in view(axes) if axis not in wanted]
    across, down = (axis or left.pop(0) for axis in wanted)
    title = f"{grid.measure.name}{' in %' if grid.measure.percent else ''}: {grid.title(family)}"
    return _altair({**grid_heatmap(grid, family, across, down), "title": title})


def confusion(y: Any, predicted: Any, *, rates: bool = False) -> LayerChart:
    """Draw the confusion matrix: true classes down, predicted ones across.

    Parameters
    ----------
    y, predicted : array-like
        True and predicted labels.
    rates : bool, default=False
        Whether numbers are percent of the rows of the true class instead of rows.

    Returns
    -------
    LayerChart
        Chart that Jupyter displays and `save` writes to a file.

    See Also
    --------
    boundary : The predicted class over two features.

    Examples
    --------
    >>> chart = confusion(["a", "b", "b"], ["a", "b", "a"])
    >>> type(chart).__name__
    'LayerChart'
    """
    check_consistent_length(y, predicted)
    classes = np.union1d(y, predicted)
    truth, given = (np.searchsorted(classes, np.asarray(each)) for each in (y, predicted))
    flat = confusion_counts(truth, given, len(classes))
    return _altair(confusion_chart(flat, label_texts(classes).tolist(), rates))


def curves(
    thing: Any, X: Any = None, y: Any = None, *, along: str | None = None
) -> Chart | LayerChart | HConcatChart:
    """Draw values of a sweep along a parameter of its grid, or the convergence of a model.

    A SweepCV has a line for each value of another parameter, the best over all others, with bands
    of one std over folds. A model that was fitted with `checkpoints` has the error on rows X, y at
    each of them. Without rows its recorded curves are drawn: the loss of the drawn examples, or
    its objective with the certified lower bound, and the gap.

    Parameters
    ----------
    thing : SweepCV, learner or pipeline
        A fitted search or model.
    X, y : arrays or frames, optional
        Rows and labels for the errors of a model.
    along : str, optional
        Name of the parameter of a sweep, by default λ or the number of steps.

    Returns
    -------
    Chart, LayerChart or HConcatChart
        Chart that Jupyter displays and `save` writes to a file.

    See Also
    --------
    heatmap : Cells of a sweep over two parameters.

    Examples
    --------
    >>> from pegasos import SDCA, load_set
    >>> X, y = load_set("moons", return_X_y=True)
    >>> type(curves(SDCA("logistic", random_state=0).fit(X, y))).__name__
    'HConcatChart'
    """
    if isinstance(thing, SweepCV):
        grid = _grid(thing)
        family = grid.family_of_choice()
        axes = axes_of(family)
        chosen = _known(axes, along) or next((axis for axis in axes if axis.numeric), None)
        if chosen is None or not chosen.numeric:
            raise ValueError("no parameter of this grid has numbers to draw a curve along.")
        other = next((axis for axis in axes if axis is not chosen), NO_AXIS)
        return _altair(lines(grid, family, chosen, other))
    learner = anatomy(_estimator(thing), fitted=True).learner
    if X is not None:
        return _altair(_staged_errors(thing, learner, X, y))
    found = [chart.spec for chart in curves_of(learner)]
    if not found:
        method = getattr(getattr(learner, "plan_", None), "method", None)
        how = f" (it was solved by {method})" if method else ""
        raise ValueError(
            f"this {type(learner).__name__} recorded no curve{how}: "
            "fit it with `checkpoints`, and give rows X, y."
        )
    if len(found) == 1:
        return _altair(found[0])
    import altair

    return altair.hconcat(*map(_altair, found))


def roc(thing: Any, X: Any = None, y: Any = None) -> LayerChart:
    """Draw the recall against the false positive rate over all thresholds, for two classes.

    The dot is the threshold in use.

    Parameters
    ----------
    thing : SweepCV, learner or pipeline
        A fitted search or model.
    X, y : arrays or frames, optional
        Rows and labels; without them the rates of a SweepCV are out of fold.

    Returns
    -------
    LayerChart
        Chart that Jupyter displays and `save` writes to a file.

    See Also
    --------
    precision_recall : The precision against the recall.

    Examples
    --------
    >>> from pegasos import SDCA, load_set
    >>> X, y = load_set("moons", return_X_y=True)
    >>> type(roc(SDCA(random_state=0).fit(X, y), X, y)).__name__
    'LayerChart'
    """
    return _altair(rate_charts(_rates(thing, X, y))["roc"])


def precision_recall(thing: Any, X: Any = None, y: Any = None) -> LayerChart:
    """Draw the precision against the recall over all thresholds, for two classes.

    The dot is the threshold in use.

    Parameters
    ----------
    thing : SweepCV, learner or pipeline
        A fitted search or model.
    X, y : arrays or frames, optional
        Rows and labels; without them the rates of a SweepCV are out of fold.

    Returns
    -------
    LayerChart
        Chart that Jupyter displays and `save` writes to a file.

    See Also
    --------
    roc : The recall against the false positive rate.

    Examples
    --------
    >>> from pegasos import SDCA, load_set
    >>> X, y = load_set("moons", return_X_y=True)
    >>> type(precision_recall(SDCA(random_state=0).fit(X, y), X, y)).__name__
    'LayerChart'
    """
    return _altair(rate_charts(_rates(thing, X, y))["precision-recall"])


# -- parts -----------------------------------------------------------------------------------------


def _altair(spec: Spec) -> Any:
    """Return a chart as an Altair object."""
    try:
        import altair
    except ImportError:
        message = "pegasos.plot needs the package altair: pip install '.[plot]' in a clone"
        raise ModuleNotFoundError(message, name="altair") from None
    width = {"width": WIDTH} if spec.get("width") == "container" else {}
    return altair.Chart.from_dict(to_json({**spec, **width}))


def _estimator(model: Any) -> Any:
    """Return the model itself, or the choice of a sweep."""
    what = "plots show a SweepCV, a learner of pegasos, or a pipeline that ends with one"
    check_shown(model, what)
    if not isinstance(model, SweepCV):
        return model
    if not hasattr(model, "best_estimator_"):
        raise ValueError(
            "this SweepCV has no best estimator, because refit=False: "
            "show a model that you fitted yourself."
        )
    return model.best_estimator_


def _grid(sweep: Any) -> Grid:
    if not isinstance(sweep, SweepCV):
        name = type(sweep).__name__
        raise ValueError(f"a heatmap shows the cells of a SweepCV, not of a {name}.")
    check_shown(sweep, "")
    return Grid.of(search_record(sweep))


def _known(axes: list[Axis], wanted: str | None) -> Axis | None:
    """Return the axis of a name; steps of a pipeline before it are left out."""
    if wanted is None:
        return None
    for axis in axes:
        if axis.name in (wanted, wanted.rpartition("__")[2]):
            return axis
    names = ", ".join(repr(axis.name) for axis in axes) or "none"
    raise ValueError(f"{wanted!r} is no parameter that varies in this grid; those are {names}.")


def _staged_errors(model: Any, learner: Any, X: Any, y: Any) -> Spec:
    """Return the error at each checkpoint of a learner."""
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


def _rates(thing: Any, X: Any, y: Any) -> dict[str, Any]:
    estimator = _estimator(thing)
    classes = estimator.classes_
    if len(classes) != 2:
        raise ValueError(f"this curve is for two classes; there are {len(classes)}.")
    if X is not None:
        check_consistent_length(X, y)
        truth, cut = np.asarray(y), anatomy(estimator, fitted=True).learner.threshold_
        if not np.isin(truth, classes).all():
            unknown = np.setdiff1d(truth, classes)[:5].tolist()
            raise ValueError(f"y has classes that the model does not know: {unknown}.")
        codes = np.searchsorted(classes, truth)
        return model_rates(estimator.decision_function(X), codes, classes, cut)
    if not isinstance(thing, SweepCV):
        raise ValueError("give rows X, y on which the model is evaluated.")
    found = search_rates(thing, getattr(thing, "threshold_", None))
    if found is None:
        raise ValueError("the search lacks scores of some fold: give rows X, y to evaluate.")
    return found
