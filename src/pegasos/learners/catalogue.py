"""Declaration of each learner, in one place: command line, help, model files, the search and pages read it here.

Nothing heavy is imported, so that help and completion can read it too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

#: Values of the parameter `multiclass`: a predictor for each class, or for each pair of classes.
ONE_VS_REST, ONE_VS_ONE = "one-vs-rest", "one-vs-one"


@dataclass(frozen=True)
class Model:
    """A learner under one name on the command line: the parameters that the name fixes, and its formulas for people."""

    name: str
    step: str
    objective: str
    in_scikit_learn: str
    fixed: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Declaration:
    """A learner: its models, what its parameters mean to others, and what a model file keeps of a fitted one.

    options       the name of each setting on the command line, and the parameter that it sets
    shared        parameters all values of which come from one walk
    stops         the parameters that end a walk, the one that is counted first; `unit` is what they and n_iter_ count
    draws         parameters that decide which examples are drawn: learners that agree in them can walk in step
    tolerance     the parameter that ends a walk early by its certificate, if there is one: a stop is then a limit
    usual_limit   that limit where nothing is said
    """

    learner: str
    models: tuple[Model, ...]
    options: Mapping[str, str]
    shared: tuple[str, ...]
    stops: tuple[str, ...]
    unit: str
    draws: tuple[str, ...]
    tolerance: str | None = None
    usual_limit: int | None = None
    #: Whether the rule reads its own dual coefficient, so that they are kept for linear predictors too.
    keeps_coefficients: bool = False
    #: Whether fit_intercept may be "free", an intercept that is not regularized.
    free_intercept: bool = False
    #: Values on the command line and in Python, for settings in which they differ.
    translations: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    #: Epochs, or numbers of passes, that a search tries where nothing is asked for.
    usual_epochs: tuple[int, ...] = ()
    fitted_numbers: tuple[str, ...] = ()
    fitted_arrays: tuple[str, ...] = ()
    #: Iteration, objective and bound, again and again (points x 3); files of earlier versions are without it.
    fitted_course: str | None = None

    @property
    def losses(self) -> tuple[str, ...]:
        """The values that the parameter `loss` may have."""
        return tuple(model.fixed["loss"] for model in self.models)

    @property
    def module(self) -> str:
        return f"pegasos.learners.{self.learner.lower()}"


#: Other names of losses.
LOSS_ALIASES = {"log_loss": "logistic"}
_EVERY = {
    "kernel": "kernel",
    "class_weight": "class_weight",
    "intercept": "fit_intercept",
    "memory": "memory",
    "seed": "random_state",
}
_HINGE = "λ/2 |w|² + mean max(0, 1 - y w·x)"
_LOGISTIC = "λ/2 |w|² + mean log(1 + exp(-y w·x))"
_CLIP, _NEWTON = "a = clip(a + (1 - y s)/K(x,x), 0, C)", "Newton steps on one a of the dual"

PERCEPTRON = Declaration(
    learner="Perceptron",
    models=(Model("perceptron", "y s <= 0: w += y x", "none", "Perceptron"),),
    options={
        **_EVERY,
        "epochs": "epochs",
        "average": "average",
        "learning_rate": "learning_rate",
        "sampling": "shuffle",
    },
    translations={"sampling": {"permutation": True, "in-order": False}},
    shared=("epochs",),
    stops=("epochs",),
    unit="epochs",
    draws=("shuffle",),
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
    options=_EVERY
    | {
        name: name
        for name in ("lam", "n_iter", "epochs", "average", "batch_size", "sampling", "projection")
    },
    shared=("lam", "C", "n_iter", "epochs"),
    stops=("n_iter", "epochs"),
    unit="steps",
    draws=("sampling", "draws", "batch_size"),
    usual_epochs=(1, 5, 20),
    fitted_numbers=("lam_",),
    fitted_arrays=("loss_curve_", "loss_curve_steps_"),
)
SDCA = Declaration(
    learner="SDCA",
    models=(
        Model(
            "sdca",
            _CLIP,
            "as pegasos, with a certificate",
            "LinearSVC(loss='hinge'), SVC",
            {"loss": "hinge"},
        ),
        Model(
            "sdca-logistic",
            _NEWTON,
            "as pegasos-logistic, with a certificate",
            "LogisticRegression",
            {"loss": "logistic"},
        ),
    ),
    options={
        **_EVERY,
        "lam": "lam",
        "epochs": "max_epochs",
        "tol": "tol",
        "sampling": "sampling",
        "multiclass": "multiclass",
    },
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
    """The class of a learner, imported when it is needed."""
    return getattr(import_module(declaration.module), declaration.learner)


def make_learner(model: str, settings: Mapping[str, Any]) -> Any:
    """The learner of a model's name with these settings; a setting that it does not have is refused."""
    declaration, made = MODELS[model]
    for name in settings:
        if name not in declaration.options:
            raise ValueError(
                f"the model {model} has no setting {name!r}; it has {', '.join(sorted(declaration.options))}."
            )
    values = {
        declaration.options[name]: (
            declaration.translations[name][value] if name in declaration.translations else value
        )
        for name, value in settings.items()
    }
    return learner_class(declaration)(**made.fixed).set_params(**values)


def model_of(learner: Any) -> Model:
    """The model that a learner is."""
    declaration: Declaration = learner.declaration
    return next(
        model
        for model in declaration.models
        if all(
            LOSS_ALIASES.get(given := getattr(learner, name), given) == value
            for name, value in model.fixed.items()
        )
    )
