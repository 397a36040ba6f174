"""Pages and charts of fitted objects: which ones can be shown."""

from __future__ import annotations

from typing import Any

from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from pegasos.program.pages.labeled_rows import as_dataset
from pegasos.program.pages.page import Page
from pegasos.search.anatomy import anatomy
from pegasos.search.sweep import SweepCV


def check_shown(thing: Any, what: str) -> None:
    """Raise an error for objects that are not fitted or not of pegasos; `what` can be shown."""
    if not isinstance(thing, SweepCV):
        try:
            thing = anatomy(thing).learner
        except ValueError as error:
            raise ValueError(f"{what}. {error}") from None
    try:
        check_is_fitted(thing, "cv_results_" if isinstance(thing, SweepCV) else "classes_")
    except NotFittedError:
        name = type(thing).__name__
        text = f"this {name} is not fitted yet, so there is nothing to show: call fit first."
        raise NotFittedError(text) from None


def report_fitted(thing: Any, X: Any, y: Any, facts: dict[str, Any]) -> Page:
    """Return the page of a fitted search, learner or pipeline."""
    what = "report shows a SweepCV, a learner of pegasos, a folder of a run or a model file"
    check_shown(thing, what)
    dataset = as_dataset(X, y, facts)
    if isinstance(thing, SweepCV):
        from pegasos.program.pages.sweep_page import report_search

        return report_search(thing, dataset, **facts)
    from pegasos.program.pages.model_page import report_model

    return report_model(thing, dataset, **facts)
