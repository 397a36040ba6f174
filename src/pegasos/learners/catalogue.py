"""Declaration of each learner, for command line, help, model files, the search and pages.

Nothing heavy is imported, so that help and completion can read it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

#: Values of `multiclass`: a predictor for each class, or for each pair of classes.
ONE_VS_REST, ONE_VS_ONE = "one-vs-rest", "one-vs-one"
#: Other names of losses.
LOSS_ALIASES = {"log_loss": "logistic"}


@dataclass(frozen=True)
class Model:
    """Learner under a name on the command line, which fixes some parameters, and its formulas."""

    name: str
    step: str
    objective: str
    in_scikit_learn: str
    fixed: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Declaration:
    """Properties of a learner; a walk is one run of its update rule."""

    #: Name of the class.
    learner: str
    #: Its names on the command line.
    models: tuple[Model, ...]
    #: Names of settings on the command line, and the parameters that they set.
    options: Mapping[str, str]
    #: Parameters all values of which come from one walk.
    shared: tuple[str, ...]
    #: Parameters that end a walk (the one that is counted first), and what they and n_iter_ count.
    stops: tuple[str, ...]
    unit: str
    #: Parameters that decide which examples are drawn; learners with equal ones walk in step.
    draws: tuple[str, ...]
    #: Parameter that ends a walk early by its certificate; then stops are limits, by default this.
    tolerance: str | None = None
    usual_limit: int | None = None
    #: Whether linear predictors keep dual coefficients, which the update rule reads.
    keeps_coefficients: bool = False
    #: Whether fit_intercept may be "free".
    free_intercept: bool = False
    #: Values on the command line and in Python, for settings in which they differ.
    translations: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    #: Share of the last steps whose mean predicts by default; None for an optimum.
    usual_average: float | None = None
    #: Epochs that a search tries by default.
    usual_epochs: tuple[int, ...] = ()
    #: Fitted attributes in model files; the course (points x 3) is absent from old files.
    fitted_numbers: tuple[str, ...] = ()
    fitted_arrays: tuple[str, ...] = ()
    fitted_course: str | None = None

    @property
    def losses(self) -> tuple[str, ...]:
        """Values of the parameter `loss`."""
        return tuple(model.fixed["loss"] for model in self.models)


_HINGE = "λ/2 |w|² + mean max(0, 1 - y w·x)"
_LOGISTIC = "λ/2 |w|² + mean log(1 + exp(-y w·x))"
_EVERY = {name: name for name in ("kernel", "class_weight", "memory")}
_EVERY |= {"intercept": "fit_intercept", "seed": "random_state"}
_PERCEPTRON = {name: name for name in ("epochs", "average", "learning_rate")}
_PEGASOS = ("lam", "n_iter", "epochs", "average", "batch_size", "sampling", "projection")
_SDCA = {"lam": "lam", "epochs": "max_epochs"} | {n: n for n in ("tol", "sampling", "multiclass")}

PERCEPTRON = Declaration(
    learner="Perceptron",
    models=(Model("perceptron", "y s <= 0: w += y x", "none", "Perceptron"),),
    options={**_EVERY, **_PERCEPTRON, "sampling": "shuffle"},
    translations={"sampling": {"permutation": True, "in-order": False}},
    shared=("epochs",),
    stops=("epochs",),
    unit="epochs",
    draws=("shuffle",),
    usual_average=1.0,
    usual_epochs=(1, 3, 10, 30, 100),
    fitted_arrays=("loss_curve_", "mistakes_"),
)
PEGASOS = Declaration(
    learner="Pegasos",
    models=(
        Model(
            "pegasos",
            "w = (1 - 1/t) w + [y s < 1] y x/(λ t)",
            _HINGE,
            "SGDClassifier(loss='hinge')",
            {"loss": "hinge"},
        ),
        Model(
            "pegasos-logistic",
            "w = (1 - 1/t) w + σ(-y s) y x/(λ t)",
            _LOGISTIC,
            "SGDClassifier(loss='log_loss')",
            {"loss": "logistic"},
        ),
    ),
    options={**_EVERY, **{name: name for name in _PEGASOS}},
    shared=("lam", "C", "n_iter", "epochs"),
    stops=("n_iter", "epochs"),
    unit="steps",
    draws=("sampling", "draws", "batch_size"),
    usual_average=0.5,
    usual_epochs=(1, 5, 20),
    fitted_numbers=("lam_",),
    fitted_arrays=("loss_curve_", "loss_curve_steps_"),
)
SDCA = Declaration(
    learner="SDCA",
    models=(
        Model(
            "sdca",
            "a = clip(a + (1 - y s)/K(x,x), 0, C)",
            "as pegasos, with a certificate",
            "LinearSVC(loss='hinge'), SVC",
            {"loss": "hinge"},
        ),
        Model(
            "sdca-logistic",
            "Newton steps on one a of the dual",
            "as pegasos-logistic, with a certificate",
            "LogisticRegression",
            {"loss": "logistic"},
        ),
    ),
    options={**_EVERY, **_SDCA},
    shared=("lam", "C", "max_epochs"),
    stops=("max_epochs",),
    unit="epochs",
    draws=("sampling",),
    tolerance="tol",
    usual_limit=1000,
    keeps_coefficients=True,
    free_intercept=True,
    fitted_numbers=("lam_", "gap_"),
    fitted_arrays=("gap_curve_", "objective_", "dual_objective_"),
    fitted_course="objective_curve_",
)

#: All learners, and all models by their name on the command line.
DECLARATIONS = (PERCEPTRON, PEGASOS, SDCA)
MODELS = {
    model.name: (declaration, model) for declaration in DECLARATIONS for model in declaration.models
}


def learner_class(declaration: Declaration) -> Any:
    """Import and return the class of a learner."""
    name = declaration.learner
    return getattr(import_module(f"pegasos.learners.{name.lower()}"), name)


def make_learner(model: str, settings: Mapping[str, Any]) -> Any:
    """Return the learner of a model name with these settings; refuse settings it does not have."""
    declaration, made = MODELS[model]
    for name in settings:
        if name not in declaration.options:
            known = ", ".join(sorted(declaration.options))
            raise ValueError(f"the model {model} has no setting {name!r}; it has {known}.")
    values = {
        declaration.options[name]: (
            declaration.translations[name][value] if name in declaration.translations else value
        )
        for name, value in settings.items()
    }
    return learner_class(declaration)(**made.fixed).set_params(**values)


def model_of(learner: Any) -> Model:
    """Return the declared model of a learner."""
    models: tuple[Model, ...] = learner.declaration.models
    loss = getattr(learner, "loss", None)
    loss = LOSS_ALIASES.get(loss, loss) if isinstance(loss, str) else loss
    return next(model for model in models if model.fixed.get("loss") == loss)
