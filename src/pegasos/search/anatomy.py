"""The one reading of a pipeline: what happens to rows before the learner sees them, and the learner."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pegasos.learners.one_vs_all import OneVsAllClassifier


@dataclass(frozen=True)
class Stage:
    """A step before the learner: a transformer under its name in the pipeline, or the outlier filter."""

    name: str
    part: Any

    @property
    def label(self) -> str:
        """Class name of the step, followed by those of its transformers if it treats columns differently."""
        name, parts = type(self.part).__name__, getattr(self.part, "transformers_", ())
        inner = [type(each).__name__ for key, each, _ in parts if key != "remainder"]
        return f"{name}({', '.join(inner)})" if inner else name

    @property
    def drops(self) -> bool:
        """Whether it drops training rows instead of transforming all of them."""
        from pegasos.preprocessing import DropOutliers

        return isinstance(self.part, DropOutliers)


@dataclass(frozen=True)
class Anatomy:
    """The stages in order ("passthrough" is none), the learner, and how the whole calls its parts.

    `prefix` stands before the names of the learner's parameters in set_params, `weight_name` is what fit calls weights of rows.
    """

    stages: tuple[Stage, ...]
    learner: OneVsAllClassifier
    prefix: str
    weight_name: str

    @property
    def transforms(self) -> bool:
        """Whether rows change before the learner sees them, so that each fold has rows of its own."""
        return any(not stage.drops for stage in self.stages)

    @property
    def outlier_threshold(self) -> float | None:
        """The threshold of the outlier filter, if there is one."""
        return next((float(stage.part.threshold) for stage in self.stages if stage.drops), None)


def class_probabilities(model: Any, X: Any, scores: Any) -> Any:
    """Return the probabilities of a model for rows whose decision values are known; None if it has none."""
    learner = anatomy(model, fitted=True).learner
    if not learner.has_probabilities:
        return None
    return model.predict_proba(X) if learner.couples_pairs else learner.probabilities_of(scores)


def anatomy(estimator: Any, fitted: bool = False) -> Anatomy:
    """Read a learner, alone, at the end of a Pipeline or inside DropOutliers; with `fitted` its fitted parts."""
    from sklearn.pipeline import Pipeline

    from pegasos.learners.one_vs_all import OneVsAllClassifier
    from pegasos.preprocessing import DropOutliers

    stages: list[Stage] = []
    inner, prefix, weight_name, name = estimator, "", "sample_weight", ""
    while not isinstance(inner, OneVsAllClassifier):
        if isinstance(inner, Pipeline):
            *steps, (name, last) = inner.steps
            stages += [
                Stage(each, part)
                for each, part in steps
                if part is not None and not isinstance(part, str)
            ]
            if not prefix:
                weight_name = f"{name}__sample_weight"
            inner, prefix = last, f"{prefix}{name}__"
        elif isinstance(inner, DropOutliers):
            stages.append(Stage(name or "drop", inner))
            inner, prefix = (
                (inner.estimator_ if fitted else inner.estimator),
                f"{prefix}estimator__",
            )
        else:
            raise ValueError(
                f"expected Pegasos, Perceptron or SDCA, alone, at the end of a Pipeline, or inside DropOutliers; "
                f"got {type(inner).__name__}. For other estimators use GridSearchCV."
            )
    return Anatomy(tuple(stages), inner, prefix, weight_name)
