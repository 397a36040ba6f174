"""scikit-learn's callbacks, where this version of it has them: one task for each finished unit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

Method = TypeVar("Method", bound=Callable[..., Any])

try:
    from sklearn.callback import with_callbacks
except ImportError:  # before scikit-learn 1.9

    def with_callbacks(method: Method) -> Method:
        return method


class Hooks:
    """Tells the estimator's callbacks when the sweep begins, when units are done, and when it ends."""

    def __init__(self, estimator: Any, X: Any, y: Any, units: int) -> None:
        begin = getattr(estimator, "_init_callback_context", None)
        self._about = {"estimator": estimator, "X": X, "y": y}
        self._context = None if begin is None else begin(max_subtasks=units)
        if self._context is not None:
            self._context.call_on_fit_task_begin(**self._about)

    def unit_done(self) -> None:
        if self._context is not None:
            task = self._context.subcontext(task_name="unit")
            task.call_on_fit_task_begin(**self._about)
            task.call_on_fit_task_end(**self._about)

    def end(self) -> None:
        if self._context is not None:
            self._context.call_on_fit_task_end(**self._about)


__all__ = ["Hooks", "with_callbacks"]
