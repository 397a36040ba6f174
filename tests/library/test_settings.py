"""Test the identity of a setting, and that folds do not share what differs between them."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, KFold, ShuffleSplit, StratifiedKFold
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MinMaxScaler,
    PolynomialFeatures,
    StandardScaler,
)

from pegasos import SDCA, Pegasos, Perceptron, SweepCV
from pegasos.kernels import Exponential, Gaussian, Kernel, Laplacian, Polynomial
from pegasos.learners.catalogue import DECLARATIONS, MODELS, learner_class, make_learner, model_of
from pegasos.preprocessing import DropOutliers
from pegasos.program.terminal.grammar import kernel_option, parse_kernels
from pegasos.program.terminal.reproduction import command_line, python_lines
from pegasos.search import schedule
from pegasos.search.anatomy import anatomy
from pegasos.search.settings import FrozenDict, Opaque, Part, Setting, Stop, freeze

pytestmark = pytest.mark.filterwarnings(
    "ignore::pegasos.search.grid.SweepWarning",
    "ignore::sklearn.exceptions.ConvergenceWarning",
    "ignore::pegasos.engine.kernels.standard.CollapsedKernelWarning",
)


def growing_spread(rows: int = 300) -> tuple[Any, Any]:
    """Return rows whose spread grows, so that unshuffled folds differ in scale."""
    random = np.random.default_rng(0)
    X = random.normal(size=(rows, 4)) * np.linspace(0.2, 5, rows)[:, None]
    y = (X[:, 0] * X[:, 1] + 0.3 * random.normal(size=rows) > 0).astype(int)
    return X, y


def assert_equal_searches(
    estimator: Any, grid: Any, X: Any, y: Any, cv: Any, n_jobs: int = 2
) -> SweepCV:
    sweep = SweepCV(estimator, grid, cv=cv, refit=False, n_jobs=n_jobs).fit(X, y)
    alone = GridSearchCV(estimator, grid, cv=cv, refit=False).fit(X, y)
    for key, values in alone.cv_results_.items():
        if key.startswith(("mean_test", "std_test", "split", "rank_")):
            np.testing.assert_array_equal(sweep.cv_results_[key], values, err_msg=key)
    return sweep


# every fold has its own widths


@pytest.mark.parametrize(
    "kernel",
    [
        Gaussian("0.5 scale"),
        Gaussian("scale"),
        "gaussian",
        Exponential("2 scale"),
        Laplacian(" 1e0scale "),
    ],
)
def test_widths_relative_to_the_data_are_those_of_each_folds_training_rows(kernel: Any) -> None:
    X, y = growing_spread()
    grid = {"kernel": [kernel], "lam": [1e-3, 1e-1], "n_iter": [200]}
    assert_equal_searches(Pegasos(random_state=0), grid, X, y, KFold(3))


def test_two_functions_are_two_kernels_even_under_one_name() -> None:
    X, y = growing_spread(90)
    one, other = (
        (lambda X, Z: (X @ Z.T) ** 2),
        (lambda X, Z: np.exp(-((X[:, None] - Z[None]) ** 2).sum(-1))),
    )
    sweep = assert_equal_searches(
        Perceptron(random_state=0), {"kernel": [one, other], "epochs": [3]}, X, y, KFold(3)
    )
    assert sweep.settings_[0] != sweep.settings_[1]
    assert sweep.settings_[0].key() != sweep.settings_[1].key()


@pytest.mark.parametrize(
    "estimator",
    [
        Pipeline([("scale", "passthrough"), ("learner", Pegasos(random_state=0))]),
        Pipeline(
            [("scale", None), ("expand", "passthrough"), ("learner", Pegasos(random_state=0))]
        ),
        DropOutliers(
            Pipeline([("scale", "passthrough"), ("learner", Pegasos(random_state=0))]), threshold=50
        ),
    ],
)
def test_passthrough_changes_no_rows_so_that_folds_share_their_distances(
    estimator: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = []
    whole = schedule.base_values
    monkeypatch.setattr(
        schedule, "base_values", lambda kernel, X: made.append(kernel) or whole(kernel, X)
    )
    prefix = anatomy(estimator).prefix
    X, y = growing_spread(120)
    grid = {f"{prefix}kernel": [Gaussian(2.0), Gaussian(8.0)], f"{prefix}n_iter": [50]}
    SweepCV(estimator, grid, cv=3, refit=False).fit(X, y)
    assert len(made) == 1
    scaled = make_pipeline(StandardScaler(), Pegasos(random_state=0))
    SweepCV(
        scaled,
        {"pegasos__kernel": [Gaussian(2.0), Gaussian(8.0)], "pegasos__n_iter": [50]},
        cv=3,
        refit=False,
    ).fit(X, y)
    assert len(made) == 1 + 3


KERNELS_TRIED = st.sampled_from(
    [
        *(
            kind(width)
            for kind in (Gaussian, Exponential, Laplacian)
            for width in (0.7, 5.0, "scale", "0.3 scale", "4 scale")
        ),
        Polynomial(2),
        Polynomial(3, 0.5),
        "rbf",
        None,
    ]
)
STEPS_TRIED = st.lists(
    st.sampled_from(["passthrough", None, StandardScaler(), MinMaxScaler()]), max_size=3
)
SPLITTERS = st.sampled_from(
    [
        KFold(3),
        KFold(4, shuffle=True, random_state=1),
        StratifiedKFold(3),
        ShuffleSplit(2, test_size=0.3, random_state=2),
    ]
)


@settings(
    max_examples=25, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
@given(
    kernels=st.lists(KERNELS_TRIED, min_size=1, max_size=3),
    steps=STEPS_TRIED,
    drop=st.sampled_from([None, 2.5]),
    learner=st.sampled_from(
        [
            Pegasos(random_state=0, n_iter=60),
            Perceptron(random_state=0, epochs=2),
            SDCA(random_state=0, max_epochs=3),
        ]
    ),
    cv=SPLITTERS,
    n_jobs=st.integers(1, 3),
)
def test_every_cell_equals_grid_search(
    kernels: Any, steps: Any, drop: Any, learner: Any, cv: Any, n_jobs: int
) -> None:
    X, y = growing_spread(80)
    estimator = (
        Pipeline([*((f"s{place}", step) for place, step in enumerate(steps)), ("learner", learner)])
        if steps
        else learner
    )
    estimator = estimator if drop is None else DropOutliers(estimator, threshold=drop)
    grid = {f"{anatomy(estimator).prefix}kernel": kernels}
    assert_equal_searches(clone(estimator), grid, X, y, cv, n_jobs)


# one reading of pipelines


def test_the_anatomy_of_a_pipeline() -> None:
    scale, learner = StandardScaler(), Pegasos()
    inner = Pipeline([("scale", scale), ("expand", "passthrough"), ("learner", learner)])
    parts = anatomy(
        Pipeline([("first", MinMaxScaler()), ("drop", DropOutliers(inner, threshold=2.0))])
    )
    assert [(stage.name, stage.drops) for stage in parts.stages] == [
        ("first", False),
        ("drop", True),
        ("scale", False),
    ]
    assert parts.learner is learner
    assert parts.prefix == "drop__estimator__learner__"
    assert parts.weight_name == "drop__sample_weight"
    assert [stage.part.threshold for stage in parts.stages if stage.drops] == [2.0]
    assert parts.transforms
    alone = anatomy(DropOutliers(learner))
    assert (alone.prefix, alone.weight_name, alone.transforms) == (
        "estimator__",
        "sample_weight",
        False,
    )
    X, y = growing_spread(60)
    fitted = DropOutliers(inner, threshold=2.0).fit(X, y)
    assert hasattr(anatomy(fitted, fitted=True).learner, "classes_")
    assert not hasattr(anatomy(fitted).learner, "classes_")


def test_other_estimators_are_refused() -> None:
    with pytest.raises(
        ValueError, match=r"expected Pegasos, Perceptron or SDCA.* got LogisticRegression"
    ):
        anatomy(make_pipeline(StandardScaler(), LogisticRegression()))


# settings


def test_settings_are_equal_for_equal_fits() -> None:
    assert (
        Setting.of(Pegasos(lam=np.float64(1e-3)))
        == Setting.of(Pegasos(lam=1e-3))
        == Setting.of(Pegasos())
    )
    assert Setting.of(Pegasos(kernel="rbf")) == Setting.of(Pegasos(kernel=Gaussian()))
    assert Setting.of(Pegasos(memory="1GB", random_state=3)) == Setting.of(Pegasos())
    assert Setting.of(Pegasos(epochs=20)) == Setting.of(Pegasos())
    assert Setting.of(Pegasos(n_iter=20)) != Setting.of(Pegasos(epochs=20))
    assert Setting.of(make_pipeline("passthrough", Pegasos())) == Setting.of(Pegasos())
    different = [
        Pegasos(),
        Pegasos("logistic"),
        SDCA(),
        Perceptron(),
        Pegasos(average=False),
        Pegasos(kernel=Gaussian(2)),
    ]
    assert len({Setting.of(each) for each in different}) == len(different)
    array = FunctionTransformer(kw_args={"a": np.arange(3)})
    other = FunctionTransformer(kw_args={"a": np.arange(1, 4)})
    assert Setting.of(make_pipeline(array, SDCA())) == Setting.of(
        make_pipeline(clone(array), SDCA())
    )
    assert Setting.of(make_pipeline(array, SDCA())) != Setting.of(make_pipeline(other, SDCA()))


def test_the_walk_is_what_cells_share() -> None:
    one, two = Setting.of(Pegasos(lam=1.0, n_iter=5)), Setting.of(Pegasos(lam=2.0, epochs=7))
    assert one != two
    assert one.walk == two.walk
    assert one.walk != Setting.of(Pegasos(batch_size=2)).walk


ESTIMATORS = [
    Pegasos(
        kernel=Gaussian("0.5 scale"),
        class_weight={"b": 2.0, "a": 1.0},
        average=False,
        projection=True,
    ),
    make_pipeline(
        StandardScaler(with_mean=False),
        PolynomialFeatures(2, include_bias=False),
        SDCA("logistic", kernel=Polynomial(2)),
    ),
    DropOutliers(
        make_pipeline(MinMaxScaler(), Perceptron(kernel=Laplacian(3))),
        threshold=2.0,
        columns=(0, 2),
    ),
    SDCA(kernel="precomputed", max_epochs=7, tol=0.1),
]


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_a_setting_comes_back_from_json(estimator: Any) -> None:
    setting = Setting.of(estimator)
    again = Setting.from_json(json.loads(json.dumps(setting.to_json())))
    assert again == setting
    assert hash(again) == hash(setting)
    assert again.key() == setting.key()


def test_values_by_name() -> None:
    setting = Setting.of(ESTIMATORS[1])
    assert setting.get("model") == "sdca-logistic"
    assert setting.get("loss") == "logistic"
    assert setting.get("kernel") == Polynomial(2)
    assert setting.get("tol") == SDCA().tol
    assert setting.get("standardscaler") == freeze(StandardScaler(with_mean=False))
    assert setting.get("expand") is None
    assert setting.named()["epochs"] == 1000
    assert Setting.of(Pegasos(n_iter=9)).stop == Stop("n_iter", 9)
    part = freeze(PolynomialFeatures(3))
    assert isinstance(part, Part)
    assert (part.name, part.get("degree"), part.get("order", "C")) == (
        "PolynomialFeatures",
        3,
        "C",
    )
    assert freeze({1: [2.0]}) == FrozenDict(((1, (2.0,)),))
    assert isinstance(freeze(np.arange(3)), Opaque)


# lines that reproduce a setting


@pytest.mark.parametrize("estimator", ESTIMATORS[:2])
def test_python_lines_make_the_same_setting(estimator: Any) -> None:
    X, y = growing_spread(60)
    setting = Setting.of(estimator)
    names: dict[str, Any] = {"X": np.abs(X), "y": np.where(y > 0, "a", "b")}
    exec(python_lines(setting, seed=0), names)
    made = Setting.of(names["model"])
    assert [part for _, part in made.preparation] == [part for _, part in setting.preparation]
    assert (made.model, made.kernel, made.lam, made.stop, made.options) == (
        setting.model,
        setting.kernel,
        setting.lam,
        setting.stop,
        setting.options,
    )


@pytest.mark.parametrize(
    "text",
    [
        "linear",
        "gaussian:2",
        "gaussian:0.5s",
        "polynomial:3:coef0=0.25",
        "laplacian:1s",
        "exponential:7.5",
    ],
)
def test_a_kernel_is_said_as_it_is_read(text: str) -> None:
    (kernel,) = parse_kernels([text])
    assert kernel_option(kernel) == text


class Triangular(Kernel):
    """User-defined kernel that the command line does not know."""

    measure = "squared"

    def transform(self, values: Any) -> None:
        np.copyto(values, np.maximum(0, 1 - values))


def test_what_options_cannot_say_gets_no_command_line() -> None:
    assert kernel_option(freeze(Triangular())) is None
    for learner in (
        Pegasos(kernel=Triangular()),
        Pegasos(kernel=lambda X, Z: X @ Z.T),
        Pegasos(draws="independent"),
    ):
        assert command_line(Setting.of(learner), "my.csv", 0) is None
    assert (
        command_line(Setting.of(make_pipeline(FunctionTransformer(np.abs), Pegasos())), "my.csv", 0)
        is None
    )
    line = command_line(
        Setting.of(Pegasos("logistic", n_iter=7, average=0.25)),
        "my file.csv",
        3,
        ["--label", "kind"],
    )
    assert line == (
        "pegasos train 'my file.csv' -m pegasos-logistic --lam 0.001 --average 0.25 --n-iter 7 --scale none --label kind --seed 3"
    )


# declarations


@pytest.mark.parametrize("declaration", DECLARATIONS, ids=lambda each: each.learner)
def test_declarations_are_true(declaration: Any) -> None:
    learner = learner_class(declaration)()
    params = set(learner.get_params(deep=False))
    named = [
        *declaration.options.values(),
        *declaration.shared,
        *declaration.stops,
        *declaration.draws,
    ]
    assert set(named) | ({declaration.tolerance} - {None}) <= params
    assert learner.declaration is declaration
    learner._check_parameters()
    assert learner._stop[0] in declaration.stops
    assert (learner._strength is not None) == ("lam" in params)
    X, y = growing_spread(40)
    learner.set_params(random_state=0).fit(X, y)
    for name in (*declaration.fitted_numbers, *declaration.fitted_arrays):
        assert getattr(learner, name) is not None
    assert hasattr(learner, "predict_proba") == learner.has_probabilities


@pytest.mark.parametrize("name", MODELS)
def test_a_model_is_known_again_by_its_learner(name: str) -> None:
    learner = make_learner(name, {"seed": 3})
    assert model_of(learner).name == name
    assert learner.random_state == 3
    with pytest.raises(ValueError, match=f"the model {name} has no setting 'colour'"):
        make_learner(name, {"colour": 1})


def test_nan_parameters_survive_json() -> None:
    """nan, as in SimpleImputer, equals itself and survives a round trip."""
    imputer = SimpleImputer(missing_values=np.float64("nan"), strategy="median")
    setting = Setting.of(make_pipeline(imputer, SDCA(lam=0.1)))
    assert setting == Setting.of(make_pipeline(SimpleImputer(strategy="median"), SDCA(lam=0.1)))
    assert setting.preparation[0][1].params == (("strategy", "median"),)
    strange = Setting.of(
        make_pipeline(SimpleImputer(fill_value=float("nan"), strategy="constant"), SDCA(lam=0.1))
    )
    assert Setting.from_json(json.loads(json.dumps(strange.to_json(), allow_nan=False))) == strange


@pytest.mark.parametrize("declaration", DECLARATIONS, ids=lambda each: each.learner)
def test_the_declared_limit_is_the_default_of_the_learner(declaration):
    learner = learner_class(declaration)()
    assert declaration.usual_limit == (None if declaration.tolerance is None else learner._stop[1])
