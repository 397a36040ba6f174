"""Anatomy of an estimator: the steps that prepare rows, and the learner at its end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pegasos.learners.one_vs_all import OneVsAllClassifier


@dataclass(frozen=True)
class Stage:
    """Step before the learner: a named transformer of the pipeline, or the outlier filter."""

    name: str
    part: Any

    @property
    def label(self) -> str:
        """Class name of the step, followed by those of its transformers if it has several."""
        name, parts = type(self.part).__name__, getattr(self.part, "transformers_", ())
        inner = [type(each).__name__ for key, each, _ in parts if key != "remainder"]
        return f"{name}({', '.join(inner)})" if inner else name

    @property
    def drops(self) -> bool:
        """Whether the step drops training rows instead of transforming all rows."""
        from pegasos.preprocessing import DropOutliers

        return isinstance(self.part, DropOutliers)


@dataclass(frozen=True)
class Anatomy:
    """Stages in order (without "passthrough"), the learner, and the names of its parameters.

    `prefix` precedes the learner's parameters in set_params; `weight_name` is the name that fit
    has for sample weights.
    """

    stages: tuple[Stage, ...]
    learner: OneVsAllClassifier
    prefix: str
    weight_name: str

    @property
    def transforms(self) -> bool:
        """Whether the learner sees transformed rows, which differ by fold."""
        return any(not stage.drops for stage in self.stages)


def anatomy(estimator: Any, fitted: bool = False) -> Anatomy:
    """Return the anatomy of a learner, alone, at the end of a Pipeline, or in DropOutliers.

    With `fitted` the parts are the fitted ones.
    """
    from sklearn.pipeline import Pipeline

    from pegasos.learners.one_vs_all import OneVsAllClassifier
    from pegasos.preprocessing import DropOutliers

    stages: list[Stage] = []
    inner, prefix, weight_name, name = estimator, "", "sample_weight", ""
    while not isinstance(inner, OneVsAllClassifier):
        if isinstance(inner, Pipeline):
            *steps, (name, last) = inner.steps
            present = [step for step in steps if not (step[1] is None or isinstance(step[1], str))]
            stages += [Stage(*step) for step in present]
            weight_name = weight_name if prefix else f"{name}__sample_weight"
            inner, prefix = last, f"{prefix}{name}__"
        elif isinstance(inner, DropOutliers):
            stages.append(Stage(name or "drop", inner))
            prefix = f"{prefix}estimator__"
            inner = inner.estimator_ if fitted else inner.estimator
        else:
            raise ValueError(
                "expected Pegasos, Perceptron or SDCA, alone, at the end of a Pipeline, or inside "
                f"DropOutliers; got {type(inner).__name__}. For other estimators use GridSearchCV."
            )
    return Anatomy(tuple(stages), inner, prefix, weight_name)
