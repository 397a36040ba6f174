"""Callbacks of scikit-learn, which came with version 1.9, during fits."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from pegasos.engine.runtime.interruption import deadline, listening

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:  # an older version

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Stand-in for a class that this version of scikit-learn lacks."""

    def with_callbacks(method: Any) -> Any:
        """Return the method itself."""
        return method


__all__ = ["CallbackSupportMixin", "reporting", "with_callbacks"]


@contextmanager
def reporting(estimator: Any, X: Any, y: Any) -> Iterator[None]:
    """Report a fit to the callbacks of an estimator: one task, with a subtask for each gap.

    Subtasks have the metadata "gap" and "tol". A callback that returns True at the end of one stops
    the fit, which returns its current predictors.
    """
    if not (hasattr(estimator, "_skl_callbacks") or hasattr(estimator, "_parent_callback_ctx")):
        yield
        return
    fit, stack = estimator._init_callback_context(max_subtasks=None), ExitStack()
    fit.call_on_fit_task_begin(estimator=estimator, X=X, y=y)

    def report(gap: float, tol: float) -> None:
        part = fit.subcontext(task_name="gap")
        part.call_on_fit_task_begin(estimator=estimator)
        reached = {"gap": gap, "tol": tol}
        if part.call_on_fit_task_end(estimator=estimator, metadata=reached):
            stack.enter_context(deadline(0.0))

    with stack, listening(report):
        yield
    fit.call_on_fit_task_end(estimator=estimator, X=X, y=y)
