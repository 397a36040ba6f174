"""Test what all learners share: inputs, outputs, refusals, checkpoints, warm starts."""

from __future__ import annotations

import pickle
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.svm import SVC
from sklearn.utils.class_weight import compute_sample_weight

import reference
from pegasos import SDCA, Pegasos, Perceptron, load, save
from pegasos.engine.kernels.standard import CollapsedKernelWarning
from pegasos.kernels import Exponential, Gaussian, Laplacian, Linear, Polynomial
from pegasos.search.settings import Setting

Array = np.ndarray[Any, Any]

#: Options that keep a fit of each learner short, and the option that sets its length.
DEFAULTS: dict[str, tuple[Any, dict[str, Any], str]] = {
    "pegasos-hinge": (Pegasos, {"loss": "hinge", "lam": 0.03, "n_iter": 180}, "n_iter"),
    "pegasos-logistic": (Pegasos, {"loss": "logistic", "lam": 0.03, "n_iter": 180}, "n_iter"),
    "perceptron": (Perceptron, {"epochs": 4}, "epochs"),
    "sdca-hinge": (
        SDCA,
        {"loss": "hinge", "lam": 0.03, "tol": 1e-12, "max_epochs": 6, "finish": False},
        "max_epochs",
    ),
    "sdca-logistic": (
        SDCA,
        {"loss": "logistic", "lam": 0.03, "tol": 1e-12, "max_epochs": 6, "finish": False},
        "max_epochs",
    ),
}
NAMES = list(DEFAULTS)
WITH_LAM = [name for name in NAMES if name != "perceptron"]
LINEAR_AND_KERNEL = pytest.mark.parametrize(
    "kernel", [None, Gaussian(2.0)], ids=["linear", "gaussian"]
)
EVERY = pytest.mark.parametrize("name", NAMES)

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def make(name: str, **options: Any) -> Any:
    learner, defaults, _ = DEFAULTS[name]
    return learner(**{"random_state": 0, **defaults, **options})


def length(name: str, value: int) -> dict[str, Any]:
    """Return the name of the option that sets the length of a fit."""
    return {DEFAULTS[name][2]: value}


def data(classes: int = 3, m: int = 60, d: int = 3, seed: int = 0) -> tuple[Array, Array]:
    """Return overlapping classes, so that no learner stops early."""
    random = np.random.default_rng(seed)
    y = np.arange(m) % classes
    centres = random.normal(size=(classes, d))
    return centres[y] + random.normal(size=(m, d)), y


def vectors(estimator: Any) -> Array:
    """Return all coefficients and intercepts for comparisons."""
    if hasattr(estimator, "coef_"):
        return np.column_stack([estimator.coef_, estimator.intercept_])
    full = np.zeros((len(estimator.dual_coef_), estimator._m))
    full[:, estimator.support_] = estimator.dual_coef_
    return np.column_stack([full, estimator.intercept_])


def assert_same(one: Array, other: Array, tolerance: float = 1e-9) -> None:
    scale = max(np.abs(other).max(), 1e-300)
    assert one.shape == other.shape
    np.testing.assert_allclose(one / scale, other / scale, rtol=0, atol=tolerance)


# what a fitted learner answers


@EVERY
@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize(
    "kernel",
    [Linear(), Polynomial(2), Gaussian(2.0), Gaussian(), Exponential(1.5), Laplacian()],
    ids=repr,
)
def test_kernel_scores_are_kernel_times_coefficients(
    name: str, classes: int, intercept: Any, kernel: Any
) -> None:
    X, y = data(classes)
    new = np.random.default_rng(1).normal(size=(17, 3))
    clf = make(name, kernel=kernel, fit_intercept=intercept).fit(X, y)
    plain = getattr(reference, type(kernel).__name__.lower())
    K = reference.gram(plain, new, clf.support_vectors_, **clf.kernel_.get_params())
    expected = K @ clf.dual_coef_.T + clf.intercept_
    columns = 1 if classes == 2 else classes
    assert clf.dual_coef_.shape == (columns, len(clf.support_))
    assert clf.intercept_.shape == (columns,)
    np.testing.assert_array_equal(clf.support_vectors_, X[clf.support_])
    assert not hasattr(clf, "coef_")
    scores = clf.decision_function(new)
    assert scores.shape == ((17,) if classes == 2 else (17, classes))
    assert_same(scores.reshape(17, -1), expected, 1e-11)
    if not intercept:
        assert not clf.intercept_.any()
    best = (expected[:, 0] > 0).astype(int) if classes == 2 else expected.argmax(axis=1)
    np.testing.assert_array_equal(clf.predict(new), best)


@EVERY
@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("intercept", [True, False])
def test_linear_scores_are_rows_times_vectors(name: str, classes: int, intercept: Any) -> None:
    X, y = data(classes)
    new = np.random.default_rng(1).normal(size=(17, 3))
    clf = make(name, fit_intercept=intercept).fit(X, y)
    columns = 1 if classes == 2 else classes
    assert clf.coef_.shape == (columns, 3)
    assert clf.intercept_.shape == (columns,)
    assert not hasattr(clf, "dual_coef_")
    assert (clf.intercept_ == 0).all() == (intercept is False)
    expected = new @ clf.coef_.T + clf.intercept_
    scores = clf.decision_function(new)
    assert scores.shape == ((17,) if classes == 2 else (17, classes))
    assert_same(scores.reshape(17, -1), expected, 1e-12)
    best = (expected[:, 0] > 0).astype(int) if classes == 2 else expected.argmax(axis=1)
    np.testing.assert_array_equal(clf.predict(new), best)


@EVERY
@pytest.mark.parametrize(
    "labels",
    [
        np.array(["setosa", "virginica"]),
        np.array(["b", "a", "c"]),
        np.array(["é", "ß"], dtype=object),
        np.array([-1, 1]),
        np.array([7, -3, 100]),
        np.array([False, True]),
        np.array([2.0, 5.0]),
        np.array([3, 9], dtype=np.uint8),
    ],
    ids=[
        "text",
        "unsorted text",
        "objects",
        "-1 and 1",
        "any integers",
        "booleans",
        "floats",
        "bytes",
    ],
)
def test_labels_of_any_type(name: str, labels: Array) -> None:
    """Models for any labels equal that of the codes 0, 1, ... in sorted order."""
    X, codes = data(len(labels))
    y = labels[codes]
    clf = make(name).fit(X, y)
    assert clf.classes_.tolist() == sorted(labels.tolist())
    plain = make(name).fit(X, np.searchsorted(np.sort(labels), y))
    np.testing.assert_array_equal(vectors(clf), vectors(plain))
    predicted = clf.predict(X)
    assert predicted.dtype == clf.classes_.dtype
    np.testing.assert_array_equal(predicted, clf.classes_[plain.predict(X)])


@EVERY
@LINEAR_AND_KERNEL
def test_two_classes_have_one_predictor_for_the_second(name: str, kernel: Any) -> None:
    """The one predictor of two classes is positive for classes_[1]."""
    X, y = data(3)
    two = make(name, kernel=kernel).fit(X, np.where(y == 1, "yes", "no"))
    three = make(name, kernel=kernel).fit(X, y)
    assert two.classes_.tolist() == ["no", "yes"]
    assert_same(two.decision_function(X), three.decision_function(X)[:, 1], 1e-12)


@EVERY
def test_refitting_leaves_nothing_of_the_other_kind(name: str) -> None:
    X, y = data(3)
    clf = make(name, kernel=Gaussian(2.0)).fit(X, y)
    clf.set_params(kernel=None).fit(X, y)
    assert not {"dual_coef_", "support_", "support_vectors_", "kernel_"} & vars(clf).keys()
    assert_same(vectors(clf), vectors(make(name).fit(X, y)), 0)
    clf.set_params(kernel="linear").fit(X[:30], y[:30])
    assert not hasattr(clf, "coef_")
    assert_same(vectors(clf), vectors(make(name, kernel="linear").fit(X[:30], y[:30])), 0)


@EVERY
@pytest.mark.parametrize("loaded", [False, True])
def test_fitted_attributes_appear_with_a_fit(name: str, loaded: bool, tmp_path: Path) -> None:
    def fitted_names(clf: Any) -> set[str]:
        return {each for each in dir(clf) if each.endswith("_") and not each.startswith("_")}

    clf = make(name)
    assert not fitted_names(clf)
    clf.fit(*data())
    if loaded:
        save(clf, tmp_path / "a.model")
        assert fitted_names(load(tmp_path / "a.model")) == fitted_names(clf)
    assert {"classes_", "threshold_", "calibration_", "plan_"} <= fitted_names(clf)
    assert ("lam_" in fitted_names(clf)) == (name != "perceptron")


@EVERY
def test_not_fitted(name: str) -> None:
    X, _ = data()
    for method in ("decision_function", "predict"):
        with pytest.raises(NotFittedError):
            getattr(make(name), method)(X)
    with pytest.raises(NotFittedError):
        next(make(name).staged_decision_function(X))


# kernels


@EVERY
@pytest.mark.parametrize("intercept", [True, False])
def test_a_kernel_may_be_an_object_a_name_a_function_or_its_matrix(
    name: str, intercept: bool
) -> None:
    X, y = data(3)
    new = np.random.default_rng(1).normal(size=(9, 3))
    kernel = Polynomial()

    def function(A: Array, B: Array) -> Array:
        return (1 + A @ B.T) ** 3

    clf = make(name, kernel=kernel, fit_intercept=intercept).fit(X, y)
    expected = clf.decision_function(new)
    for other in ("polynomial", function):
        same = make(name, kernel=other, fit_intercept=intercept).fit(X, y)
        np.testing.assert_array_equal(same.support_, clf.support_)
        assert_same(vectors(same), vectors(clf))
        assert_same(same.decision_function(new), expected)
    matrix = make(name, kernel="precomputed", fit_intercept=intercept).fit(kernel(X), y)
    np.testing.assert_array_equal(matrix.support_, clf.support_)
    assert_same(vectors(matrix), vectors(clf))
    assert_same(matrix.decision_function(kernel(new, X)), expected)
    assert matrix.support_vectors_.shape == (0, len(X))
    assert matrix.n_features_in_ == len(X)


@EVERY
def test_a_linear_kernel_is_the_linear_learner(name: str) -> None:
    X, y = data(3)
    for intercept in (True, False):
        linear = make(name, fit_intercept=intercept).fit(X, y)
        kernel = make(name, kernel="linear", fit_intercept=intercept).fit(X, y)
        assert_same(kernel.dual_coef_ @ kernel.support_vectors_, linear.coef_)
        np.testing.assert_allclose(
            kernel.intercept_, linear.intercept_, atol=1e-9 * np.abs(linear.coef_).max()
        )


@EVERY
def test_scale_is_a_number_that_is_kept(name: str) -> None:
    X, y = data(2)
    clf = make(name, kernel="gaussian").fit(X, y)
    assert clf.kernel_ == Gaussian(variance=3 * X.var() / 2)
    assert clf.kernel == "gaussian"
    given = make(name, kernel=Gaussian(3 * X.var() / 2)).fit(X, y)
    assert_same(clf.decision_function(X[:5]), given.decision_function(X[:5]))


@EVERY
def test_pairwise_tag_and_splits_of_a_kernel_matrix(name: str) -> None:
    X, y = data(3)
    assert make(name, kernel="precomputed").__sklearn_tags__().input_tags.pairwise
    assert not make(name, kernel="gaussian").__sklearn_tags__().input_tags.pairwise
    assert not make(name).__sklearn_tags__().input_tags.pairwise
    by_matrix = cross_val_score(make(name, kernel="precomputed"), Gaussian(2.0)(X), y, cv=3)
    by_rows = cross_val_score(make(name, kernel=Gaussian(2.0)), X, y, cv=3)
    np.testing.assert_array_equal(by_matrix, by_rows)


@EVERY
def test_grid_search_over_a_parameter_of_the_kernel(name: str) -> None:
    X, y = data(3)
    grid = [0.05, 0.5, 5.0]
    search = GridSearchCV(
        make(name, kernel=Gaussian(1.0)), {"kernel__variance": grid}, cv=3, error_score="raise"
    ).fit(X, y)
    expected = [cross_val_score(make(name, kernel=Gaussian(v)), X, y, cv=3).mean() for v in grid]
    np.testing.assert_allclose(search.cv_results_["mean_test_score"], expected)
    assert search.best_estimator_.kernel == Gaussian(search.best_params_["kernel__variance"])
    assert search.estimator.kernel == Gaussian(1.0), "the user's kernel object stays as it was"


@pytest.mark.parametrize("name", WITH_LAM)
@LINEAR_AND_KERNEL
def test_grid_search_over_lam(name: str, kernel: Any) -> None:
    X, y = data(3)
    grid = [1e-4, 1e-2, 1.0]
    search = GridSearchCV(make(name, kernel=kernel), {"lam": grid}, cv=3, error_score="raise").fit(
        X, y
    )
    expected = [
        cross_val_score(make(name, kernel=kernel, lam=lam), X, y, cv=3).mean() for lam in grid
    ]
    np.testing.assert_allclose(search.cv_results_["mean_test_score"], expected)
    assert search.best_estimator_.lam_ == search.best_params_["lam"]


@EVERY
def test_clones_are_equal_and_independent(name: str) -> None:
    X, y = data(3)
    clf = make(name, kernel=Gaussian(2.0), class_weight={0: 2.0}).fit(X, y)
    copy = clone(clf)
    assert copy.get_params() == clf.get_params()
    assert copy.kernel is not clf.kernel
    assert not hasattr(copy, "classes_")
    copy.set_params(kernel__variance=7.0)
    assert clf.kernel == Gaussian(2.0)
    assert_same(vectors(clone(clf).fit(X, y)), vectors(clf), 0)


@EVERY
def test_a_collapsed_kernel_is_warned_of_at_fit(name: str) -> None:
    X, y = data(2)
    with pytest.warns(
        CollapsedKernelWarning,
        match=r"Gaussian\(variance=1e-06\): every example is similar only to itself; raise v",
    ):
        make(name, kernel=Gaussian(1e-6)).fit(X, y)
    with pytest.warns(
        CollapsedKernelWarning,
        match=r"all examples look alike; lower variance \(the data suggest about",
    ):
        make(name, kernel=Gaussian(1e9)).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error", CollapsedKernelWarning)
        make(name, kernel=Gaussian()).fit(X, y)


# what rows may be


@EVERY
@LINEAR_AND_KERNEL
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_dtype_of_rows_stays(name: str, kernel: Any, dtype: Any) -> None:
    X, y = data(3)
    X = X.astype(dtype)
    clf = make(name, kernel=kernel, checkpoints=[2]).fit(X, y)
    learned = clf.coef_ if kernel is None else clf.dual_coef_
    assert learned.dtype == dtype
    assert clf.intercept_.dtype == dtype
    assert clf.decision_function(X).dtype == dtype
    assert next(clf.staged_decision_function(X)).dtype == dtype
    if kernel is not None:
        assert clf.support_vectors_.dtype == dtype
        matrix = make(name, kernel="precomputed").fit(kernel(X), y)
        assert matrix.dual_coef_.dtype == matrix.decision_function(kernel(X)).dtype == dtype


@EVERY
@LINEAR_AND_KERNEL
def test_integers_and_lists_are_numbers(name: str, kernel: Any) -> None:
    X, y = data(2)
    X = np.rint(3 * X).astype(int)
    expected = vectors(make(name, kernel=kernel).fit(X.astype(float), y))
    assert_same(vectors(make(name, kernel=kernel).fit(X, y)), expected, 0)
    assert_same(vectors(make(name, kernel=kernel).fit(X.tolist(), y.tolist())), expected, 0)


@EVERY
@pytest.mark.parametrize("kernel", [None, Gaussian(2.0), Polynomial(2), Laplacian(3.0)], ids=repr)
def test_csr_equals_dense(name: str, kernel: Any) -> None:
    X, y = data(3)
    X[np.abs(X) < 0.8] = 0
    dense = make(name, kernel=kernel).fit(X, y)
    twice = sparse.coo_array(
        (
            np.tile(X[X != 0] / 2, 2),
            tuple(np.tile(axis.astype(np.int32), 2) for axis in np.nonzero(X)),
        ),
        shape=X.shape,
    )  # each entry is there twice
    for rows in (sparse.csr_array(X), sparse.csr_matrix(X), sparse.csc_array(X), twice):
        clf = make(name, kernel=kernel).fit(rows, y)
        assert_same(vectors(clf), vectors(dense))
        assert_same(clf.decision_function(rows), dense.decision_function(X))
        assert_same(clf.decision_function(X), dense.decision_function(X))
        assert_same(dense.decision_function(rows), dense.decision_function(X))


@EVERY
@pytest.mark.parametrize(
    "kernel",
    [
        None,
        Gaussian(2.0),
        Polynomial(2),
        Laplacian(3.0),
    ],
    ids=repr,
)
def test_csr_with_wide_indices(name: str, kernel: Any) -> None:
    X, y = data(3)
    rows = sparse.csr_array(X)
    rows.indices, rows.indptr = rows.indices.astype(np.int64), rows.indptr.astype(np.int64)
    clf = make(name, kernel=kernel).fit(rows, y)
    assert_same(vectors(clf), vectors(make(name, kernel=kernel).fit(X, y)))
    assert_same(clf.decision_function(rows), clf.decision_function(X))


@EVERY
def test_a_csr_kernel_matrix(name: str) -> None:
    X, y = data(3)
    K = Polynomial(2)(X)
    K[np.abs(K) < 0.5] = 0
    dense = make(name, kernel="precomputed").fit(K, y)
    clf = make(name, kernel="precomputed").fit(sparse.csr_array(K), y)
    assert_same(vectors(clf), vectors(dense), 0)
    assert_same(clf.decision_function(sparse.csr_array(K)), dense.decision_function(K))


@EVERY
@LINEAR_AND_KERNEL
def test_layout_and_ownership_of_rows_do_not_matter(name: str, kernel: Any, tmp_path: Path) -> None:
    """Fortran order, strided views and read-only maps give one model and stay unchanged."""
    X, y = data(3)
    expected = vectors(make(name, kernel=kernel).fit(X, y))
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    big = np.zeros((120, 6))
    big[::2, ::2] = X
    before = big.copy()
    frozen = X.copy()
    frozen.flags.writeable = False
    for rows in (np.asfortranarray(X), big[::2, ::2], mapped, frozen):
        clf = make(name, kernel=kernel).fit(rows, y)
        assert_same(vectors(clf), expected, 1e-13)
        clf.predict(rows)
    np.testing.assert_array_equal(big, before)


@EVERY
def test_a_kernel_matrix_is_not_written_to(name: str) -> None:
    X, y = data(3)
    K = Gaussian(2.0)(X)
    K.flags.writeable = False
    make(name, kernel="precomputed").fit(K, y)
    crooked = Gaussian(2.0)(X)
    crooked[0, 1] += 1e-9
    before = crooked.copy()
    make(name, kernel="precomputed").fit(crooked, y)
    np.testing.assert_array_equal(crooked, before)


@EVERY
@LINEAR_AND_KERNEL
def test_pickling_keeps_everything(name: str, kernel: Any) -> None:
    X, y = data(3)
    clf = make(name, kernel=kernel, checkpoints=[1], warm_start=True)
    if name.startswith("pegasos"):
        clf.set_params(average=True)
    clf.fit(X, y)
    copy = pickle.loads(pickle.dumps(clf))
    np.testing.assert_array_equal(copy.decision_function(X), clf.decision_function(X))
    np.testing.assert_array_equal(
        next(copy.staged_decision_function(X)), next(clf.staged_decision_function(X))
    )
    assert copy.plan_ == clf.plan_
    clf.set_params(checkpoints=None).fit(X, y)
    copy.set_params(checkpoints=None).fit(X, y)
    assert_same(vectors(copy), vectors(clf), 0)


# cutting and continuing a run

AVERAGES = {
    "pegasos-hinge": [False, True, 0.3],
    "pegasos-logistic": [False, True, 0.3],
    "perceptron": [False, True],
}
RUNS = [(name, average) for name in NAMES for average in AVERAGES.get(name, [None])]


@pytest.mark.parametrize(("name", "average"), RUNS)
@LINEAR_AND_KERNEL
@pytest.mark.parametrize("classes", [2, 3])
def test_a_checkpoint_is_a_run_that_ended_there(
    name: str, average: Any, kernel: Any, classes: int
) -> None:
    X, y = data(classes)
    new = np.random.default_rng(1).normal(size=(9, 3))
    options = {"kernel": kernel} | ({} if average is None else {"average": average})
    stops = [1, 63, 64, 65, 100, 180] if name.startswith("pegasos") else [1, 3, 4]
    plain = make(name, **options).fit(X, y)
    clf = make(name, checkpoints=[*stops, stops[0]], **options).fit(X, y)
    assert clf.checkpoints_ == stops
    assert_same(vectors(clf), vectors(plain), 1e-12)
    staged = list(clf.staged_decision_function(new))
    assert len(staged) == len(stops)
    for stop, scores in zip(stops, staged, strict=True):
        ended = make(name, **options, **length(name, stop)).fit(X, y)
        assert_same(scores, ended.decision_function(new), 1e-10)


@EVERY
def test_without_checkpoints_there_are_no_stages(name: str) -> None:
    X, y = data(2)
    for checkpoints in (None, [], ()):
        clf = make(name, checkpoints=checkpoints).fit(X, y)
        with pytest.raises(ValueError, match="the model has no stages"):
            clf.staged_decision_function(X)
        assert clf.checkpoints_ == []


@pytest.mark.parametrize("name", NAMES[2:])
def test_checkpoints_of_a_run_that_ended_early_are_its_end(name: str) -> None:
    """Later checkpoints hold the final coefficients; Pegasos always runs to its end."""
    X = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.1], [0.1, -1.0]])
    y = np.array([1, 1, 0, 0])
    tol = {} if name == "perceptron" else {"tol": 0.1}
    clf = make(name, checkpoints=[40], **tol, **length(name, 50)).fit(X, y)
    assert clf.n_iter_ < 40
    np.testing.assert_allclose(next(clf.staged_decision_function(X)), clf.decision_function(X))


@EVERY
@pytest.mark.parametrize(
    ("checkpoints", "message"),
    [([1, 10**6], "checkpoint 1000000 lies beyond the run of"), ([0], "checkpoint")],
)
def test_checkpoints_outside_of_the_run(name: str, checkpoints: list[int], message: str) -> None:
    X, y = data(2)
    with pytest.raises(ValueError, match=message):
        make(name, checkpoints=checkpoints).fit(X, y)


@EVERY
@pytest.mark.parametrize("checkpoints", [[1.5], ["3"], [True], 3, "12"])
def test_checkpoints_that_are_not_integers(name: str, checkpoints: Any) -> None:
    X, y = data(2)
    with pytest.raises(ValueError, match=r"checkpoints must be a (list|whole number)"):
        make(name, checkpoints=checkpoints).fit(X, y)


CONTINUED = [
    *[
        (name, {"average": average})
        for name in ("pegasos-hinge", "pegasos-logistic", "perceptron")
        for average in (False, True)
    ],
    *[
        (name, {"projection": True, "average": average})
        for name in ("pegasos-hinge", "pegasos-logistic")
        for average in (False, True)
    ],
    ("pegasos-hinge", {"draws": "independent", "average": True}),
    ("pegasos-logistic", {"sampling": "uniform", "batch_size": 7, "average": False}),
    ("pegasos-hinge", {"sampling": "fixed-permutation", "average": True}),
    ("sdca-hinge", {}),
    ("sdca-logistic", {}),
    ("sdca-hinge", {"sampling": "uniform"}),
]


@pytest.mark.parametrize(("name", "options"), CONTINUED, ids=str)
@LINEAR_AND_KERNEL
@pytest.mark.parametrize("intercept", [True, False])
def test_warm_start_goes_on(
    name: str, options: dict[str, Any], kernel: Any, intercept: Any
) -> None:
    """T1 steps, then T2, then T3 equal T1 + T2 + T3 steps."""
    X, y = data(3)
    weights = np.random.default_rng(2).integers(1, 4, len(y)).astype(float)
    parts = (37, 70, 193) if name.startswith("pegasos") else (1, 2, 4)
    options = {"kernel": kernel, "fit_intercept": intercept, **options}
    clf = make(name, warm_start=True, **options)
    for part in parts:
        clf.set_params(**length(name, part)).fit(X, y, weights)
    whole = make(name, **options, **length(name, sum(parts))).fit(X, y, weights)
    assert clf.n_iter_ == whole.n_iter_ == sum(parts)
    assert_same(vectors(clf), vectors(whole), 1e-9)


@EVERY
@LINEAR_AND_KERNEL
def test_warm_start_keeps_its_seed_and_stages(name: str, kernel: Any) -> None:
    """With random_state=None later parts continue the draws; checkpoints count from the start."""
    X, y = data(3)
    options: dict[str, Any] = {"kernel": kernel} | (
        {"average": True} if name.startswith("pegasos") else {}
    )
    first, second = (50, 130) if name.startswith("pegasos") else (1, 3)
    clf = make(name, warm_start=True, random_state=None, **options, **length(name, first)).fit(X, y)
    seed = clf._seed
    clf.set_params(checkpoints=[first + 1], **length(name, second)).fit(X, y)
    whole = make(
        name, random_state=seed, checkpoints=[first + 1], **options, **length(name, first + second)
    ).fit(X, y)
    assert_same(vectors(clf), vectors(whole), 1e-9)
    assert_same(
        next(clf.staged_decision_function(X)), next(whole.staged_decision_function(X)), 1e-9
    )


@EVERY
@LINEAR_AND_KERNEL
def test_a_checkpoint_that_a_warm_start_has_passed_is_refused(name: str, kernel: Any) -> None:
    X, y = data(3)
    options: dict[str, Any] = {"kernel": kernel} | (
        {"average": True} if name.startswith("pegasos") else {}
    )
    clf = make(name, warm_start=True, **options, **length(name, 3)).fit(X, y)
    with pytest.raises(ValueError, match=r"checkpoint 2 lies before .*warm_start"):
        clf.set_params(checkpoints=[2, 4]).fit(X, y)


@EVERY
@LINEAR_AND_KERNEL
def test_warm_start_refuses_other_data(name: str, kernel: Any) -> None:
    """A refusal leaves the state unchanged, so a second attempt is refused, too."""
    X, y = data(3)
    options: dict[str, Any] = {"kernel": kernel, "warm_start": True} | (
        {"average": True} if name.startswith("pegasos") else {}
    )
    others = {
        "fewer rows": (X[:-1], y[:-1]),
        "other classes": (X, y + 5),
        "fewer classes": (X, np.minimum(y, 1)),
        "other labels": (X, y[::-1].copy()),
        "other rows": (X + 1e-3, y),
    }
    for other in others.values():
        clf = make(name, **options).fit(X, y)
        before = clf.decision_function(X)
        for _ in range(2):
            with pytest.raises(
                ValueError,
                match="warm_start needs the rows and classes",
            ):
                clf.fit(*other)
        np.testing.assert_array_equal(clf.decision_function(X), before)
        assert clf.classes_.tolist() == [0, 1, 2]


@EVERY
def test_warm_start_refuses_another_kind(name: str) -> None:
    """Equal shapes of weights and coefficients do not hide a change of kind."""
    X, y = data(3, m=12, d=12)
    options: dict[str, Any] = {"warm_start": True} | (
        {"average": True} if name.startswith("pegasos") else {}
    )
    clf = make(name, **options).fit(X, y)
    with pytest.raises(ValueError, match="warm_start needs the"):
        clf.set_params(kernel="gaussian").fit(X, y)
    clf = make(name, kernel="gaussian", **options).fit(X, y)
    with pytest.raises(ValueError, match="warm_start needs the"):
        clf.set_params(kernel=None).fit(X, y)


@EVERY
def test_warm_start_refuses_other_features(name: str) -> None:
    X, y = data(3)
    options: dict[str, Any] = {"average": True} if name.startswith("pegasos") else {}
    clf = make(name, warm_start=True, **options).fit(X, y)
    before = clf.decision_function(X)
    with pytest.raises(ValueError, match="features"):
        clf.fit(np.column_stack([X, X]), y)
    np.testing.assert_array_equal(clf.decision_function(X), before)


@EVERY
def test_without_warm_start_a_fit_begins_anew(name: str) -> None:
    X, y = data(3)
    clf = make(name).fit(X, y)
    first = vectors(clf)
    assert_same(vectors(clf.fit(X, y)), first, 0)
    assert_same(
        vectors(clf.set_params(warm_start=True).fit(X[:20], y[:20])),
        vectors(make(name).fit(X[:20], y[:20])),
        0,
    )


# intercepts


@EVERY
def test_an_intercept_is_a_constant_feature(name: str) -> None:
    X, y = data(3)
    ones = np.column_stack([X, np.ones(len(X))])
    explicit = make(name, fit_intercept=False).fit(ones, y)
    augmented = make(name).fit(X, y)
    assert_same(np.column_stack([augmented.coef_, augmented.intercept_]), explicit.coef_)
    sparse_rows = make(name).fit(sparse.csr_array(X), y)
    assert_same(vectors(sparse_rows), explicit.coef_)


@EVERY
def test_an_intercept_with_a_kernel_is_that_kernel_plus_one(name: str) -> None:
    X, y = data(3)
    new = np.random.default_rng(1).normal(size=(9, 3))
    kernel = Gaussian(2.0)
    explicit = make(name, kernel="precomputed", fit_intercept=False).fit(kernel(X) + 1, y)
    for clf, rows in (
        (make(name, kernel=kernel).fit(X, y), new),
        (make(name, kernel="precomputed").fit(kernel(X), y), kernel(new, X)),
    ):
        assert_same(clf.dual_coef_, explicit.dual_coef_)
        np.testing.assert_allclose(
            clf.intercept_, clf.dual_coef_.sum(axis=1), atol=1e-9 * np.abs(clf.dual_coef_).max()
        )
        assert_same(clf.decision_function(rows), explicit.decision_function(kernel(new, X) + 1))


@EVERY
@LINEAR_AND_KERNEL
def test_a_free_intercept_is_for_sdca_that_may_finish(name: str, kernel: Any) -> None:
    X, y = data(3)
    clf = make(name, kernel=kernel, fit_intercept="free")
    if name.startswith("sdca"):
        with pytest.raises(ValueError, match="fit_intercept='free' needs finish=True"):
            clf.fit(X, y)
        with pytest.raises(ValueError, match="checkpoints are not available"):
            clf.set_params(finish=True, checkpoints=[1]).fit(X, y)
    else:
        with pytest.raises(
            ValueError,
            match=r"must be True or False \(only SDCA has 'free'\), got 'free'",
        ):
            clf.fit(X, y)


@pytest.mark.parametrize("loss", ["hinge", "logistic"])
@LINEAR_AND_KERNEL
def test_sdca_with_a_free_intercept_is_invariant_to_shifts(loss: str, kernel: Any) -> None:
    """Scores do not change when all features are shifted, and the bound holds."""
    X, y = data(3)
    options: dict[str, Any] = {"kernel": kernel, "fit_intercept": "free", "tol": 1e-6}
    one, two = SDCA(loss, 0.03, **options).fit(X, y), SDCA(loss, 0.03, **options).fit(X + 5.0, y)
    assert max(one.gap_, two.gap_) <= 1e-6
    np.testing.assert_allclose(one.objective_, two.objective_, rtol=2e-6)
    np.testing.assert_allclose(one.decision_function(X), two.decision_function(X + 5.0), atol=2e-2)
    bounds = one.certificate(X, y)
    np.testing.assert_allclose(bounds.primal, one.objective_, rtol=1e-9)
    assert (bounds.dual <= two.objective_ + 1e-12).all()


# weights


@EVERY
@LINEAR_AND_KERNEL
def test_class_weights_are_sample_weights(name: str, kernel: Any) -> None:
    X, y = data(3)
    keep = np.sort(
        np.concatenate(
            [np.flatnonzero(y == 0), np.flatnonzero(y == 1)[:7], np.flatnonzero(y == 2)[:13]]
        )
    )
    X, y = X[keep], y[keep]
    own = np.random.default_rng(2).uniform(0.1, 3, len(y))
    counts = np.bincount(y)
    balanced = (len(y) / (3 * counts))[y]
    np.testing.assert_allclose(balanced, compute_sample_weight("balanced", y))
    table = {0: 2.0, 1: 0.25, 2: 1.0}
    weighted = (own.sum() / (3 * np.bincount(y, own)))[y]
    for class_weight, each in (
        ("balanced", balanced),
        (table, np.array([2.0, 0.25, 1.0])[y]),
        ({0: 2.0}, np.array([2.0, 1, 1])[y]),
    ):
        with_own = own * (weighted if class_weight == "balanced" else each)
        for given, expected in ((None, each), (own, with_own)):
            clf = make(name, kernel=kernel, class_weight=class_weight).fit(X, y, given)
            assert_same(vectors(clf), vectors(make(name, kernel=kernel).fit(X, y, expected)), 1e-10)


@EVERY
@LINEAR_AND_KERNEL
def test_only_the_ratios_of_weights_count(name: str, kernel: Any) -> None:
    X, y = data(3)
    weights = np.random.default_rng(2).uniform(0.1, 3, len(y))
    expected = vectors(make(name, kernel=kernel).fit(X, y, weights))
    assert_same(vectors(make(name, kernel=kernel).fit(X, y, weights * 2.0**20)), expected, 1e-9)
    assert_same(
        vectors(make(name, kernel=kernel).fit(X, y)),
        vectors(make(name, kernel=kernel).fit(X, y, np.full(len(y), 5.0))),
        1e-9,
    )


@EVERY
@LINEAR_AND_KERNEL
def test_a_row_of_weight_zero_is_not_there(name: str, kernel: Any) -> None:
    """A row without weight uses its draws but does not change the model."""
    X, y = data(3)
    weights = np.ones(len(y))
    weights[[3, 8, 20]] = 0
    other, labels = X.copy(), y.copy()
    other[[3, 8, 20]] = [[50.0, -80.0, 9.0]]
    labels[[3, 8, 20]] = 2
    clf = make(name, kernel=kernel).fit(X, y, weights)
    assert_same(vectors(make(name, kernel=kernel).fit(other, labels, weights)), vectors(clf), 1e-12)
    if kernel is not None:
        assert not set(clf.support_) & {3, 8, 20}


# randomness


@EVERY
@LINEAR_AND_KERNEL
def test_random_state(name: str, kernel: Any) -> None:
    X, y = data(3)

    def fitted(random_state: Any) -> Array:
        return vectors(
            make(name, kernel=kernel, random_state=random_state, **length(name, 3)).fit(X, y)
        )

    np.testing.assert_array_equal(fitted(5), fitted(5))
    np.testing.assert_array_equal(fitted(np.int64(5)), fitted(5))
    np.testing.assert_array_equal(
        fitted(np.random.RandomState(5)), fitted(np.random.RandomState(5))
    )
    assert len({fitted(seed).tobytes() for seed in range(4)}) == 4
    assert len({fitted(None).tobytes() for _ in range(4)}) > 1
    shared = np.random.RandomState(5)
    assert fitted(shared).tobytes() != fitted(shared).tobytes(), "a generator moves on"


# what is refused

X_GOOD, Y_GOOD = data(2, m=20)


def with_entry(value: float) -> Array:
    X = X_GOOD.copy()
    X[3, 1] = value
    return X


BAD_INPUT: dict[str, tuple[Any, Any, Any, str]] = {
    "NaN": (with_entry(np.nan), Y_GOOD, None, "Input X contains NaN"),
    "infinity": (with_entry(np.inf), Y_GOOD, None, "Input X contains infinity"),
    "CSR with NaN": (sparse.csr_array(with_entry(np.nan)), Y_GOOD, None, "Input X contains NaN"),
    "no rows": (X_GOOD[:0], Y_GOOD[:0], None, r"0 sample\(s\)"),
    "no features": (X_GOOD[:, :0], Y_GOOD, None, r"0 feature\(s\)"),
    "one dimension": (X_GOOD[:, 0], Y_GOOD, None, "Expected 2D array"),
    "one class": (X_GOOD, np.zeros(20), None, r"y has one class only .* needs two"),
    "lengths": (X_GOOD, Y_GOOD[:-1], None, "inconsistent numbers of samples"),
    "NaN in y": (X_GOOD, np.where(Y_GOOD == 0, np.nan, 1.0), None, "y contains NaN"),
    "regression": (X_GOOD, X_GOOD[:, 0], None, "Unknown label type: continuous"),
    "negative weight": (X_GOOD, Y_GOOD, -np.ones(20), "sample_weight"),
    "NaN weight": (X_GOOD, Y_GOOD, np.full(20, np.nan), "sample_weight"),
    "infinite weight": (X_GOOD, Y_GOOD, np.full(20, np.inf), "sample_weight"),
    "all weights zero": (
        X_GOOD,
        Y_GOOD,
        np.zeros(20),
        "weights are zero|[Ww]eights must .* non-zero",
    ),
    "weights too short": (X_GOOD, Y_GOOD, np.ones(19), "sample_weight"),
    "complex": (X_GOOD + 1j, Y_GOOD, None, "Complex data not supported"),
}


@EVERY
@LINEAR_AND_KERNEL
@pytest.mark.parametrize("what", BAD_INPUT)
def test_bad_input_is_refused(name: str, kernel: Any, what: str) -> None:
    X, y, weights, message = BAD_INPUT[what]
    with pytest.raises(ValueError, match=message):
        make(name, kernel=kernel).fit(X, y, sample_weight=weights)


@EVERY
@pytest.mark.parametrize("class_weight", [{0: 0.0, 1: 0.0}])
def test_class_weights_that_leave_nothing(name: str, class_weight: Any) -> None:
    with pytest.raises(
        ValueError,
        match=r"all weights are zero\. Check sample_weight and class_weight",
    ):
        make(name, class_weight=class_weight).fit(X_GOOD, Y_GOOD)


@EVERY
@pytest.mark.parametrize("class_weight", [{0: -1.0}, {0: -0.5}, {0: np.nan}, {1: np.inf}])
def test_class_weights_that_are_no_weights(name: str, class_weight: Any) -> None:
    with pytest.raises(ValueError, match="class_weight must be finite and not negative"):
        make(name, class_weight=class_weight).fit(X_GOOD, Y_GOOD)


@EVERY
@pytest.mark.parametrize("class_weight", ["even", {0: 1.0, 7: 2.0}])
def test_class_weights_that_are_not_understood(name: str, class_weight: Any) -> None:
    with pytest.raises(ValueError, match="class_weight"):
        make(name, class_weight=class_weight).fit(X_GOOD, Y_GOOD)


BAD_PARAMETERS: list[tuple[dict[str, Any], list[str], str]] = [
    *[
        ({"lam": bad}, WITH_LAM, "lam must be a finite number above 0")
        for bad in (0, -1.0, np.nan, np.inf, "small", "auto", True)
    ],
    ({"loss": "squared"}, WITH_LAM, "loss must be one of 'hinge', 'logistic', 'log_loss', got"),
    ({"loss": None}, WITH_LAM, "loss must be one of 'hinge', 'logistic'"),
    (
        {"sampling": "cyclic"},
        WITH_LAM,
        "sampling must be one of 'uniform', 'permutation', 'fixed-permutation', 'in-order', got 'cyclic'",
    ),
    (
        {"kernel": "cubic"},
        NAMES,
        r"kernel must be None, a kernel object, a function .*'gaussian'.*got 'cubic'",
    ),
    ({"kernel": Gaussian}, NAMES, "kernel must be None, a kernel object"),
    ({"kernel": 3}, NAMES, "kernel must be None, a kernel object"),
    ({"kernel": Gaussian(-1.0)}, NAMES, "variance must be a finite number > 0"),
    ({"kernel": Polynomial(0)}, NAMES, "degree must be a whole number >= 1"),
    *[
        ({"fit_intercept": bad}, NAMES, "fit_intercept .*must be True.* False.*, got ")
        for bad in ("yes", "augment", "auto", 0, None)
    ],
    *[
        ({"n_iter": bad}, NAMES[:2], "n_iter must be a whole number >= 1")
        for bad in (0, -5, 1.5, "10", True, np.nan)
    ],
    ({"epochs": 3}, NAMES[:2], "give n_iter or epochs, not both"),
    *[
        ({"n_iter": None, "epochs": bad}, NAMES[:2], "epochs must be a whole number >= 1")
        for bad in (0, 2.5, "1")
    ],
    *[
        ({"batch_size": bad}, NAMES[:2], "batch_size must be a whole number >= 1")
        for bad in (0, 2.5, None)
    ],
    *[
        ({"average": bad}, NAMES[:2], "average must be")
        for bad in (-0.5, 1.5, 2, "all", np.nan, None)
    ],
    ({"draws": "own"}, NAMES[:2], "draws must be one of 'shared', 'independent', got 'own'"),
    *[
        ({"epochs": bad}, ["perceptron"], "epochs must be a whole number >= 1")
        for bad in (0, -1, 2.5, None)
    ],
    *[
        ({"learning_rate": bad}, ["perceptron"], "learning_rate must be a finite number above 0")
        for bad in (0, -1, np.inf)
    ],
    *[
        ({"average": bad}, ["perceptron"], "average must be True or False")
        for bad in (0.5, 1, None)
    ],
    *[
        ({"tol": bad}, NAMES[3:], "tol must be a finite number above 0")
        for bad in (0, -1e-3, np.nan)
    ],
    *[
        ({"max_epochs": bad}, NAMES[3:], "max_epochs must be a whole number >= 1")
        for bad in (0, 1.5)
    ],
    ({"random_state": "now"}, NAMES, "cannot be used to seed"),
    ({"random_state": -1}, NAMES, "[Ss]eed"),
]


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        pytest.param(name, options, message, id=f"{name}-{options}")
        for options, names, message in BAD_PARAMETERS
        for name in names
    ],
)
def test_bad_parameters_are_refused_by_name(
    name: str, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        make(name, **options).fit(X_GOOD, Y_GOOD)


@EVERY
def test_kernel_matrices_that_are_none(name: str) -> None:
    clf = make(name, kernel="precomputed")
    K = Gaussian(2.0)(X_GOOD)
    with pytest.raises(
        ValueError,
        match=r"kernel='precomputed' needs a square matrix, got shape \(20, 19\)",
    ):
        clf.fit(K[:, :-1], Y_GOOD)
    crooked = K.copy()
    crooked[2, 5] += 0.5
    with pytest.raises(
        ValueError,
        match=r"kernel matrix is not symmetric: .* differ by 0.5",
    ):
        clf.fit(crooked, Y_GOOD)
    negative = K.copy()
    negative[4, 4] = -0.25
    with pytest.raises(ValueError, match=r"K\[4, 4\] = -0.25 is negative: this is not a kernel"):
        clf.fit(negative, Y_GOOD)
    clf.fit(K, Y_GOOD)
    with pytest.raises(ValueError, match=r"19 features.*expecting 20"):
        clf.predict(K[:, :-1])


@EVERY
def test_a_function_that_is_no_kernel(name: str) -> None:
    with pytest.raises(ValueError, match=r"must return shape \(20, 20\), got \(20,\)"):
        make(name, kernel=lambda A, B: A[:, 0]).fit(X_GOOD, Y_GOOD)
    with pytest.raises(ValueError, match="returned values that are not finite"):
        make(name, kernel=lambda A, B: np.full((len(A), len(B)), np.nan)).fit(X_GOOD, Y_GOOD)
    with pytest.raises(ValueError, match=r"K\[0, 0\] = -1 is negative: this is not a kernel"):
        make(name, kernel=lambda A, B: -np.ones((len(A), len(B)))).fit(X_GOOD, Y_GOOD)


@EVERY
@pytest.mark.parametrize("kernel", [None, "linear"])
def test_a_row_of_zeros_is_a_row(name: str, kernel: Any) -> None:
    """K_ii = 0: the score of the row is 0, and other rows are fitted as without it."""
    X, y = data(2)
    X[[0, 7]] = 0
    with np.errstate(all="raise"):
        clf = make(name, kernel=kernel, fit_intercept=False).fit(X, y)
    assert np.isfinite(vectors(clf)).all()
    np.testing.assert_array_equal(clf.decision_function(X[[0, 7]]), 0)
    X[:] = 0
    clf = make(name, kernel=kernel, fit_intercept=False).fit(X, y)
    np.testing.assert_array_equal(clf.decision_function(X), 0)


@EVERY
@LINEAR_AND_KERNEL
def test_new_rows_are_checked(name: str, kernel: Any) -> None:
    clf = make(name, kernel=kernel).fit(X_GOOD, Y_GOOD)
    with pytest.raises(ValueError, match=r"X has 2 features, but .* is expecting 3"):
        clf.predict(X_GOOD[:, :2])
    with pytest.raises(ValueError, match="Input X contains NaN"):
        clf.decision_function(with_entry(np.nan))


# large numbers


@EVERY
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kernel", [None, "linear"])
@pytest.mark.parametrize("scale", [1e6, 1e-6])
def test_rows_of_any_length(name: str, dtype: Any, kernel: Any, scale: float) -> None:
    """No overflow, NaN or warning, also for logistic losses at margins of ±1e12."""
    X, y = data(3)
    X = (X * scale).astype(dtype)
    with warnings.catch_warnings(), np.errstate(over="raise", invalid="raise", divide="raise"):
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", ConvergenceWarning)
        clf = make(name, kernel=kernel, lam=1e-6) if name in WITH_LAM else make(name, kernel=kernel)
        clf.fit(X, y)
        assert np.isfinite(clf.decision_function(X)).all()
        if name.endswith("logistic"):
            assert np.isfinite(clf.predict_proba(X)).all()
        if name in WITH_LAM:
            bounds = clf.certificate(X, y)
            assert np.isfinite(bounds.primal).all()
            assert (bounds.dual <= bounds.primal * (1 + 1e-5)).all()


@EVERY
def test_a_polynomial_of_degree_seven_on_unscaled_digits(name: str) -> None:
    """K reaches 1e26: float64 stays finite; float32 does, too, or is refused with advice."""
    from samples import digits

    X, y = digits()
    X, y = X[:300], y[:300]
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        clf = make(name, kernel=Polynomial(7)).fit(X, y)
        assert np.isfinite(clf.decision_function(X)).all()
        refused = None
        try:
            single = (
                make(name, kernel=Polynomial(7))
                .fit(X.astype(np.float32), y)
                .decision_function(X.astype(np.float32))
            )
        except ValueError as error:
            refused = str(error).lower()
    if refused is None:
        assert np.isfinite(single).all()
    else:
        assert "float64" in refused
        assert "scale x" in refused
    with pytest.raises(
        ValueError,
        match=r"Polynomial\(degree=12, coef0=1.0\) overflow float32; scale X .* lower degree or float64",
    ):
        make(name, kernel=Polynomial(12)).fit(X.astype(np.float32), y)


@EVERY
def test_squared_lengths_that_overflow_are_refused(name: str) -> None:
    X, y = data(2)
    with pytest.raises(
        ValueError,
        match=r"squared lengths of rows overflow float32: scale X, or use float64",
    ):
        make(name).fit((X * 1e20).astype(np.float32), y)


@pytest.mark.parametrize("name", WITH_LAM)
@pytest.mark.parametrize("loss", ["hinge", "logistic"])
def test_automatic_lam(name: str, loss: str) -> None:
    X, y = data(2)
    linear, kernel = (
        make(name, loss=loss, lam=None, kernel=each).fit(X, y).lam_ for each in (None, "rbf")
    )
    if name.startswith("sdca"):
        assert linear == kernel == 1 / len(y)
    else:
        assert (linear, kernel) == (1e-3, 1e-4 if loss == "hinge" else 1e-5)
    assert make(name, loss=loss, lam=np.float32(0.25)).fit(X, y).lam_ == 0.25


@pytest.mark.parametrize("name", WITH_LAM)
def test_c_is_lam_of_the_total_weight(name: str) -> None:
    """C includes class weights: C_i = C ω_i, as in SVC."""
    X, y = data(2)
    weights = np.random.default_rng(0).uniform(0.5, 2, len(y))
    options = {"class_weight": {0: 3.0}}
    by_C = make(name, lam=None, C=2.0, **options).fit(X, y, weights)
    lam = 1 / (2 * (weights * np.where(y == 0, 3.0, 1.0)).sum())
    assert by_C.lam_ == pytest.approx(lam, rel=1e-12)
    assert_same(vectors(by_C), vectors(make(name, lam=lam, **options).fit(X, y, weights)), 1e-6)
    with pytest.raises(ValueError, match="give C or lam, not both"):
        make(name, lam=0.1, C=2.0).fit(X, y)
    with pytest.raises(ValueError, match="C must be a finite number above 0"):
        make(name, lam=None, C=0).fit(X, y)


def test_partial_fit_needs_lam_instead_of_c() -> None:
    X, y = data(2)
    with pytest.raises(ValueError, match="partial_fit needs lam"):
        Pegasos(C=1.0).partial_fit(X, y, classes=[0, 1])


def test_log_loss_is_the_logistic_loss() -> None:
    X, y = data(3)
    for learner in (SDCA, Pegasos):
        one, two = (learner(loss, random_state=0).fit(X, y) for loss in ("log_loss", "logistic"))
        np.testing.assert_array_equal(one.predict_proba(X), two.predict_proba(X))
        assert Setting.of(one) == Setting.of(two)
        np.testing.assert_array_equal(one.certificate(X, y).primal, two.certificate(X, y).primal)


@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf"])
def test_named_kernels_are_those_of_svc(kernel: str) -> None:
    X, y = data(2, m=120)
    ours = SDCA(C=2.0, kernel=kernel, fit_intercept="free", tol=1e-8).fit(X, y)
    theirs = SVC(C=2.0, kernel=kernel, tol=1e-8).fit(X, y)
    np.testing.assert_allclose(
        ours.decision_function(X), theirs.decision_function(X), rtol=0, atol=2e-3
    )


@pytest.mark.parametrize(
    ("learner", "name", "hint"),
    [
        (SDCA, "max_iter", "max_epochs"),
        (Pegasos, "alpha", "use lam"),
        (SDCA, "gamma", "Gaussian.from_gamma"),
        (Perceptron, "n_jobs", "all cores"),
        (Perceptron, "C", "no regularization"),
    ],
)
def test_parameters_of_scikit_learn_are_refused_with_ours(
    learner: Any, name: str, hint: str
) -> None:
    with pytest.raises(TypeError, match=f"{learner.__name__} has no parameter '{name}'.*{hint}"):
        learner(**{name: 1})
    with pytest.raises(TypeError, match="unexpected keyword argument 'nonsense'"):
        learner(nonsense=1)


# probabilities


@pytest.mark.parametrize("name", ["pegasos-hinge", "sdca-hinge"])
def test_the_hinge_loss_has_no_probabilities(name: str) -> None:
    X, y = data(2)
    clf = make(name).fit(X, y)
    assert not hasattr(clf, "predict_proba")
    with pytest.raises(AttributeError, match="predict_proba"):
        _ = clf.predict_proba
    assert not hasattr(make("perceptron"), "predict_proba")


@pytest.mark.parametrize("name", ["pegasos-logistic", "sdca-logistic"])
@pytest.mark.parametrize("classes", [2, 3])
@LINEAR_AND_KERNEL
def test_probabilities_are_sigmoids_of_scores(name: str, classes: int, kernel: Any) -> None:
    X, y = data(classes)
    clf = make(name, kernel=kernel).fit(X, y)
    found = clf.predict_proba(X)
    scores = clf.decision_function(X).reshape(len(X), -1)
    each = np.array([[reference.sigmoid(s) for s in row] for row in scores])
    expected = (
        np.column_stack([1 - each, each])
        if classes == 2
        else each / each.sum(axis=1, keepdims=True)
    )
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    np.testing.assert_allclose(found.sum(axis=1), 1, rtol=1e-14)


@pytest.mark.parametrize("name", ["pegasos-logistic", "sdca-logistic"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("classes", [2, 3])
def test_probabilities_at_any_score(name: str, dtype: Any, classes: int) -> None:
    """At scores of ±1e6 rows sum to one, keep their order, and do not overflow."""
    X, y = data(classes)
    clf = make(name).fit(X.astype(dtype), y)
    grid = np.array([-1e30, -1e6, -1e6 + 1, -800, -100, -30, -1, 0, 1, 30, 100, 800, 1e6, 1e30])
    if classes == 2:
        clf.coef_, clf.intercept_ = np.array([[1.0, 0, 0]], dtype=dtype), np.zeros(1, dtype=dtype)
        rows = np.column_stack([grid, 0 * grid, 0 * grid]).astype(dtype)
    else:
        clf.coef_, clf.intercept_ = np.eye(3, dtype=dtype), np.zeros(3, dtype=dtype)
        rows = np.array([[a, b, c] for a in grid for b in grid for c in grid], dtype=dtype)
    with warnings.catch_warnings(), np.errstate(over="raise", invalid="raise", divide="raise"):
        warnings.simplefilter("error")
        found = clf.predict_proba(rows)
    assert found.dtype == dtype
    assert (found >= 0).all()
    np.testing.assert_allclose(found.sum(axis=1), 1, rtol=1e-6)
    if classes == 2:
        assert (np.diff(found[:, 1]) >= 0).all()
        assert (np.diff(found[:, 0]) <= 0).all()
        assert found[6, 0] < 1
        assert found[9, 0] > 0, "1 - σ(30) is not 0, not even in float32"
    else:
        ranked = np.take_along_axis(found, np.argsort(rows, axis=1, kind="stable"), axis=1)
        assert (np.diff(ranked, axis=1) >= 0).all()
        np.testing.assert_array_equal(
            found.max(axis=1), found[np.arange(len(rows)), rows.argmax(axis=1)]
        )
        hopeless = clf.predict_proba(np.array([[-1e6, -800, -1e30]], dtype=dtype))
        assert hopeless.argmax() == 1, "the least unlikely class, as predict says"
