"""Compare kernels with their formulas, pair by pair, and with scikit-learn."""

import math
import pickle
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.metrics.pairwise import laplacian_kernel, polynomial_kernel, rbf_kernel
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from pegasos.engine.kernels.base import DistanceKernel, Kernel
from pegasos.engine.kernels.elementwise import as_rows, decay
from pegasos.engine.kernels.standard import (
    ALIASES,
    KERNELS,
    CollapsedKernelWarning,
    CustomKernel,
    Exponential,
    Gaussian,
    Laplacian,
    Linear,
    Polynomial,
    as_kernel,
    warn_if_collapsed,
)

FORMULAS = {
    "linear": lambda k, x, z: sum(a * b for a, b in zip(x, z, strict=True)),
    "polynomial": lambda k, x, z: (
        (k.coef0 + sum(a * b for a, b in zip(x, z, strict=True))) ** k.degree
    ),
    "gaussian": lambda k, x, z: math.exp(-(math.dist(x, z) ** 2) / (2 * k.variance)),
    "exponential": lambda k, x, z: math.exp(-math.dist(x, z) / k.scale),
    "laplacian": lambda k, x, z: math.exp(
        -sum(abs(a - b) for a, b in zip(x, z, strict=True)) / k.scale
    ),
}
DISTANCE_KERNELS = [name for name, kernel in KERNELS.items() if issubclass(kernel, DistanceKernel)]
EXAMPLES = [
    Linear(),
    Polynomial(),
    Polynomial(7, 0.5),
    Polynomial(degree=4, coef0=-1.0),
    Gaussian(),
    Gaussian(variance=8),
    Exponential(scale=0.25),
    Laplacian(scale=np.float32(2)),
]

every_kernel = pytest.mark.parametrize("name", KERNELS)
every_distance_kernel = pytest.mark.parametrize("name", DISTANCE_KERNELS)
every_example = pytest.mark.parametrize("kernel", EXAMPLES, ids=repr)
dtypes = pytest.mark.parametrize("dtype", [np.float32, np.float64])
storages = pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array, sparse.csr_matrix])


def exact(name, kernel, X, Z):
    return np.array([[FORMULAS[name](kernel, x, z) for z in Z.tolist()] for x in X.tolist()])


def identity_product(X, Z):
    return X @ Z.T


@st.composite
def matrices(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    features = draw(st.integers(1, 6))
    dtype = draw(st.sampled_from([np.float32, np.float64]))
    X = rng.normal(size=(draw(st.integers(1, 8)), features)) * (rng.random(features) < 0.8)
    Z = rng.normal(size=(draw(st.integers(1, 8)), features))
    return X.astype(dtype), Z.astype(dtype)


def test_every_kernel_has_a_formula_here():
    assert FORMULAS.keys() == KERNELS.keys()


@every_kernel
@storages
@given(data=matrices())
@settings(deadline=None, max_examples=25)
def test_matrix_is_the_formula(name, storage, data):
    X, Z = data
    kernel = KERNELS[name]()
    resolved = kernel.resolve(X)
    scale = np.abs(exact(name, resolved, X, X)).max() + np.abs(exact(name, resolved, Z, Z)).max()
    tolerance = scale * (1e-4 if X.dtype == np.float32 else 1e-7)
    for left, right in [(X, Z), (X, X)]:
        found = kernel(storage(left), None if right is left else storage(right))
        assert found.dtype == X.dtype
        np.testing.assert_allclose(
            found, exact(name, resolved, left, right), atol=tolerance, rtol=0
        )
    gram = kernel(storage(X))
    np.testing.assert_array_equal(gram, gram.T)
    np.testing.assert_allclose(kernel.diagonal(storage(X)), gram.diagonal(), rtol=1e-5, atol=1e-6)


@every_kernel
@dtypes
def test_large_gram_is_symmetric_semidefinite_and_independent_of_threads(name, dtype):
    X = np.random.default_rng(0).normal(size=(700, 5)).astype(dtype)
    kernel = KERNELS[name]()
    grams = []
    for threads in (1, 2):
        with threadpool_limits(threads):
            grams.append(kernel(X))
    np.testing.assert_array_equal(grams[0], grams[1])
    np.testing.assert_array_equal(grams[0], grams[0].T)
    np.testing.assert_allclose(
        kernel(X, X.copy()), grams[0], rtol=1e-3 if dtype == np.float32 else 1e-7, atol=1e-5
    )
    assert kernel.positive_semidefinite is True
    eigenvalues = np.linalg.eigvalsh(grams[0][::4, ::4].astype(np.float64))  # of rows of every tile
    assert eigenvalues[0] >= -1e-5 * eigenvalues[-1]


@every_distance_kernel
@storages
@dtypes
def test_equal_rows_far_from_the_origin_are_exactly_alike(name, storage, dtype):
    rng = np.random.default_rng(1)
    X = (1e4 + rng.normal(size=(30, 40))).astype(dtype)
    X[20:] = X[:10]
    kernel = KERNELS[name]()
    gram = kernel(storage(X))
    assert (gram.diagonal() == 1).all()
    assert (gram[np.arange(10), np.arange(20, 30)] == 1).all()
    assert (kernel(storage(X), storage(X[:10]))[20:].diagonal() == 1).all()
    assert (kernel.diagonal(storage(X)) == 1).all()
    off_diagonal = gram[:20, :20][~np.eye(20, dtype=bool)]
    assert off_diagonal.max() < 0.9
    np.testing.assert_allclose(gram, exact(name, kernel.resolve(X), X, X), rtol=1e-3)


@every_distance_kernel
def test_tight_far_clusters_in_float32(name):
    rng = np.random.default_rng(2)
    X = (rng.choice([-4e3, 3e3], size=(60, 1)) + rng.normal(scale=0.1, size=(60, 8))).astype(
        np.float32
    )
    kernel = KERNELS[name](0.5)
    np.testing.assert_allclose(kernel(X), exact(name, kernel, X, X), rtol=2e-3, atol=1e-30)


@every_distance_kernel
@dtypes
def test_tiny_values_become_zero_and_never_subnormal(name, dtype):
    X = np.linspace(0, 3000, 1500, dtype=dtype)[:, None]
    values = KERNELS[name](1.0)(X)
    assert (values == 0).any()
    assert values[values > 0].min() >= np.finfo(dtype).tiny
    collapsed = KERNELS[name](1e-310)(X[:5])
    np.testing.assert_array_equal(collapsed, np.eye(5))


@storages
def test_agreement_with_scikit_learn(storage):
    rng = np.random.default_rng(3)
    X, Z = storage(rng.normal(size=(20, 4))), storage(rng.normal(size=(9, 4)))
    np.testing.assert_allclose(
        Gaussian.from_gamma(0.3)(X, Z), rbf_kernel(X, Z, gamma=0.3), rtol=1e-12
    )
    np.testing.assert_allclose(Gaussian(4)(X, Z), rbf_kernel(X, Z, gamma=1 / 8), rtol=1e-12)
    np.testing.assert_allclose(Laplacian(5)(X, Z), laplacian_kernel(X, Z, gamma=1 / 5), rtol=1e-12)
    for degree in (1, 2, 3, 5, 7, 8):
        expected = polynomial_kernel(X, Z, degree=degree, gamma=1, coef0=0.5)
        np.testing.assert_allclose(Polynomial(degree, 0.5)(X, Z), expected, rtol=1e-10)


@storages
@dtypes
@pytest.mark.parametrize("offset", [0, 100])
def test_scale_is_that_of_scikit_learn(storage, dtype, offset):
    rng = np.random.default_rng(4)
    X = storage((offset + rng.normal(size=(50, 3)) * [1, 5, 0]).astype(dtype))
    gamma = SVC(gamma="scale").fit(X, np.arange(50) % 2)._gamma
    assert Gaussian().resolve(X).variance == pytest.approx(1 / (2 * gamma), rel=1e-6)
    assert Exponential().resolve(X).scale ** 2 == pytest.approx(1 / gamma, rel=1e-6)
    assert Laplacian().resolve(X).scale ** 2 == pytest.approx(3 / gamma, rel=1e-6)


def test_scale_of_zeros_is_that_of_scikit_learn():
    X = np.zeros((4, 3))
    assert Gaussian().resolve(X) == Gaussian.from_gamma(
        SVC(gamma="scale").fit(X, [0, 1, 0, 1])._gamma
    )


@storages
@pytest.mark.parametrize("value", [0.0, 0.1])
def test_scale_of_constant_data(storage, value):
    X = storage(np.full((7, 3), value))
    assert Gaussian().resolve(X) == Gaussian.from_gamma(1)
    assert Exponential().resolve(X) == Exponential(1.0)
    assert Laplacian().resolve(X) == Laplacian(1.0)
    assert (Gaussian()(X) == 1).all()


@pytest.mark.parametrize(("dtype", "units"), [(np.float64, 1.0), (np.float32, 3.0)])
def test_exponential_is_as_exact_as_that_of_numpy(dtype, units):
    """All magnitudes, the ends of the range, and sums between two powers of two."""
    random = np.random.default_rng(0)
    limit = -math.log(np.finfo(dtype).tiny)
    values = np.concatenate(
        [
            random.uniform(0, limit, 20_000),
            10 ** random.uniform(-30, 1, 20_000),
            math.log(2) * np.arange(0.5, 100),
        ]
    )
    values = values.astype(dtype)
    found = values.copy()
    decay(found, 1.0)
    exact = np.exp(-values.astype(np.longdouble))
    normal = exact >= 2 * np.finfo(dtype).tiny
    assert (np.abs(found - exact)[normal] <= units * np.spacing(exact[normal].astype(dtype))).all()
    ends = np.array([0.0, 2 * limit, np.inf, np.nan], dtype=dtype)
    decay(ends, 1.0)
    np.testing.assert_array_equal(ends, [1, 0, 0, np.nan])
    turned = np.asfortranarray(values[:6].reshape(2, 3))
    decay(turned, 1.0)
    np.testing.assert_array_equal(turned.reshape(-1), found[:6])


@pytest.mark.parametrize("degree", range(1, 20))
@pytest.mark.parametrize("shape", [(3,), (4, 5), (700, 300)])
def test_powers_in_place(degree, shape):
    base = np.random.default_rng(5).uniform(-1.5, 1.5, size=shape)
    values = base.copy()
    Polynomial(degree, 0.0).transform(values)
    np.testing.assert_allclose(values, base**degree, rtol=1e-13)


@every_example
def test_equality_hash_repr_pickle_and_clone(kernel):
    copies = [eval(repr(kernel)), clone(kernel), pickle.loads(pickle.dumps(kernel))]
    for copied in copies:
        assert copied is not kernel
        assert copied == kernel
        assert hash(copied) == hash(kernel)
        assert repr(copied) == repr(kernel)
    assert sum(kernel == other for other in EXAMPLES) == 1


@every_example
def test_resolve_answers_a_copy_that_is_resolved(kernel):
    X = np.random.default_rng(10).normal(size=(6, 2))
    resolved = kernel.resolve(X)
    assert resolved is not kernel
    assert resolved.resolve(2 * X) == resolved
    np.testing.assert_array_equal(resolved(X), kernel(X))


def test_repr_is_short_code():
    assert repr(Gaussian(variance=8)) == "Gaussian(variance=8)"
    assert repr(Gaussian(np.float64(0.5))) == "Gaussian(variance=0.5)"
    assert repr(Polynomial(np.int64(3))) == "Polynomial(degree=3, coef0=1.0)"
    assert repr(CustomKernel(identity_product)) == "CustomKernel(function=identity_product)"


def test_kernels_of_different_classes_differ():
    assert Exponential(2.0) != Laplacian(2.0)
    assert Gaussian(2) == Gaussian(2.0)
    assert Gaussian(2) != Gaussian(3)


def test_parameters():
    kernel = Polynomial()
    assert kernel.get_params() == {"degree": 3, "coef0": 1.0, "gamma": 1.0}
    assert kernel.set_params(degree=5) is kernel
    assert kernel == Polynomial(5)
    with pytest.raises(
        ValueError, match="Polynomial has no parameter 'width'; it has degree, coef0, gamma"
    ):
        kernel.set_params(width=1)
    assert Gaussian().set_params(variance=-1).variance == -1


class KernelMean(ClassifierMixin, BaseEstimator):
    """Predict the class whose training rows are more similar on average."""

    def __init__(self, kernel=None):
        self.kernel = kernel

    def fit(self, X, y):
        self.kernel_, self.rows_, self.y_ = self.kernel.resolve(X), X, y
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        values = self.kernel_(X, self.rows_)
        return self.classes_[
            np.argmax([values[:, self.y_ == label].mean(axis=1) for label in self.classes_], axis=0)
        ]


def test_nested_parameters_in_grid_search():
    rng = np.random.default_rng(6)
    X = np.vstack([rng.normal(scale=0.3, size=(40, 2)), rng.normal(scale=3, size=(40, 2))])
    y = np.repeat([0, 1], 40)
    original = Gaussian()
    search = GridSearchCV(KernelMean(original), {"kernel__variance": [0.1, 1e6]}, cv=3).fit(X, y)
    assert original == Gaussian("scale")
    assert search.best_params_ == {"kernel__variance": 0.1}
    assert search.best_estimator_.kernel_ == Gaussian(0.1)
    estimator = KernelMean(Gaussian(2)).fit(X, y)
    estimator.set_params(kernel__variance=3)
    assert estimator.get_params()["kernel__variance"] == 3
    assert estimator.kernel_ == Gaussian(2), "a fitted kernel does not follow its parameter"


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (Kernel_(value), "finite number > 0")
        for Kernel_ in (Gaussian, Exponential, Laplacian)
        for value in (0, -1, math.nan, math.inf, "auto", None, True, [1.0])
    ]
    + [
        (Polynomial(degree), "degree must be a whole number >= 1")
        for degree in (0, -2, 2.5, "3", None, math.nan)
    ]
    + [
        (Polynomial(coef0=coef0), "coef0 must be a finite number")
        for coef0 in (math.inf, "1", None)
    ],
    ids=repr,
)
def test_bad_parameters_are_named_when_used(kernel, message):
    X = np.eye(3)
    for use in (kernel.resolve, kernel, kernel.diagonal):
        with pytest.raises(ValueError, match=message):
            use(X)


@pytest.mark.parametrize("gamma", [0, -1, math.nan, "auto"])
def test_bad_gamma(gamma):
    with pytest.raises(ValueError, match="gamma must be a finite number > 0"):
        Gaussian.from_gamma(gamma)


def test_whole_degree_given_as_a_float():
    assert repr(Polynomial(2.0).resolve(np.eye(2))) == "Polynomial(degree=2, coef0=1.0)"


def test_negative_coef0_is_not_semidefinite():
    kernel = Polynomial(1, -5.0)
    assert kernel.positive_semidefinite is False
    assert np.linalg.eigvalsh(kernel(np.eye(3)))[0] < 0
    assert Polynomial(2, 0).positive_semidefinite is True


@every_kernel
def test_input_of_any_kind(name):
    kernel = KERNELS[name]()
    X = np.array([[0, 1], [2, 3], [5, 4]])
    expected = kernel(X.astype(np.float64))
    assert expected.dtype == np.float64
    variants = [
        X,
        X.tolist(),
        X.astype(np.int8),
        np.asfortranarray(X, dtype=np.float64),
        sparse.coo_array(X),
    ]
    variants += [np.repeat(X.astype(np.float64), 2, axis=0)[::2], sparse.csc_matrix(X)]
    for variant in variants:
        np.testing.assert_allclose(kernel(variant), expected, rtol=1e-7)
    mixed = kernel(X.astype(np.float32), X.astype(np.float64))
    assert mixed.dtype == np.float32
    np.testing.assert_allclose(mixed, expected, rtol=1e-5)
    assert kernel(X.astype(float), np.zeros((0, 2))).shape == (3, 0)


@every_kernel
def test_bad_rows(name):
    kernel = KERNELS[name]()
    with pytest.raises(ValueError, match="X has 2 features, but Z has 3"):
        kernel(np.eye(2), np.eye(3))
    with pytest.raises(ValueError, match="2-D"):
        kernel(np.ones(3))
    with pytest.raises(ValueError, match="complex"):
        kernel(np.eye(2) * 1j)
    for bad in (math.nan, math.inf):
        with pytest.raises(ValueError, match="NaN or infinity"):
            kernel(np.array([[1.0, bad]]))
        with pytest.raises(ValueError, match="NaN or infinity"):
            kernel(np.eye(2), sparse.csr_array([[1.0, bad]]))


def test_huge_finite_rows_are_not_called_infinite():
    X = np.full((2, 2), 1e308)
    np.testing.assert_array_equal(as_rows(X), X)


@storages
def test_overflow_is_reported_with_remedies(storage):
    X = np.array([[1e7], [1.0]], dtype=np.float32)
    kernel = Polynomial(3)
    for use in (
        kernel,
        kernel.check_range,
        kernel.diagonal,
        lambda rows: kernel(rows[1:], rows),
    ):
        with pytest.raises(
            ValueError, match=r"overflow float32; scale X .*StandardScaler.*lower degree or float64"
        ):
            use(storage(X))
    assert np.isfinite(kernel(storage(X.astype(np.float64)))).all()
    assert np.isfinite(Polynomial(2)(storage(X))).all()
    with pytest.raises(ValueError, match="overflow float32"):
        Linear()(storage(X * np.float32(1e13)))
    with pytest.raises(ValueError, match=r"overflow float64; scale X.*lower degree$"):
        Polynomial(60)(storage(X.astype(np.float64)))
    # Here no diagonal value overflows, but (-coef0 + x.z)^degree between opposite rows does.
    with pytest.raises(ValueError, match="overflow float32"):
        Polynomial(3, -6e12)(storage(np.array([[2.6e6], [-2.6e6]], dtype=np.float32)))


def test_names():
    for name, kernel in KERNELS.items():
        assert as_kernel(name) == kernel()
    assert set(ALIASES) == {"poly", "rbf"}
    assert as_kernel("poly") == Polynomial(3, 0.0, "scale")
    assert as_kernel("rbf") == Gaussian()
    assert as_kernel(None) is None
    kernel = Gaussian(3)
    assert as_kernel(kernel) is kernel
    assert as_kernel(identity_product) == CustomKernel(identity_product)


@pytest.mark.parametrize("spec", ["sigmoid", 3, Gaussian, ["gaussian"]])
def test_unknown_names(spec):
    with pytest.raises(
        ValueError,
        match="'linear', 'polynomial', 'gaussian', 'exponential', 'laplacian', 'poly', 'rbf'",
    ):
        as_kernel(spec)


def test_precomputed_is_left_to_the_learners():
    with pytest.raises(ValueError, match="handled by the learners"):
        as_kernel("precomputed")


@storages
@dtypes
def test_custom_kernel(storage, dtype):
    rng = np.random.default_rng(7)
    X, Z = rng.normal(size=(150, 3)).astype(dtype), rng.normal(size=(4, 3)).astype(dtype)
    kernel = CustomKernel(identity_product)
    assert kernel.measure is None
    assert kernel.positive_semidefinite is None
    assert clone(kernel) == kernel
    found = kernel(storage(X), storage(Z))
    assert found.dtype == dtype
    np.testing.assert_allclose(found, X @ Z.T, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(kernel.diagonal(storage(X)), (X**2).sum(axis=1), rtol=1e-5)
    with pytest.raises(TypeError, match="not a map"):
        kernel.transform(np.eye(2))


def test_custom_gram_is_made_symmetric_without_touching_the_functions_array():
    mine = np.arange(9.0).reshape(3, 3)
    gram = CustomKernel(lambda X, Z: mine)(np.eye(3))
    np.testing.assert_array_equal(gram, [[0, 1, 2], [1, 4, 5], [2, 5, 8]])
    np.testing.assert_array_equal(mine, np.arange(9.0).reshape(3, 3))


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda X, Z: np.ones(3), r"must return shape \(3, 3\), got \(3,\)"),
        (lambda X, Z: np.ones((3, 2)), r"must return shape \(3, 3\), got \(3, 2\)"),
        (lambda X, Z: np.full((3, 3), np.nan), "not finite"),
        (lambda X, Z: np.full((3, 3), 1e300), "not finite in float32"),
    ],
)
def test_bad_custom_results(function, message):
    with pytest.raises(ValueError, match=message):
        CustomKernel(function)(np.eye(3, dtype=np.float32))


def test_custom_kernel_needs_a_function():
    with pytest.raises(TypeError, match="needs a function"):
        CustomKernel(3)(np.eye(2))


def collapse_message(kernel, X):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warn_if_collapsed(kernel, X)
    assert all(issubclass(warning.category, CollapsedKernelWarning) for warning in caught)
    return [str(warning.message) for warning in caught]


@every_distance_kernel
@storages
@dtypes
def test_collapsed_widths_are_reported_with_the_suggested_one(name, storage, dtype):
    kernel = KERNELS[name]
    X = np.random.default_rng(8).normal(size=(900, 6)).astype(dtype)
    X[1::3] = X[0]
    rows = storage(X)
    suggestion = f"{getattr(kernel().resolve(rows), kernel.main):.3g}"
    assert collapse_message(kernel(), rows) == []
    (narrow,) = collapse_message(kernel(1e-3), rows)
    assert "similar only to itself" in narrow
    assert f"raise {kernel.main}" in narrow
    assert suggestion in narrow
    (wide,) = collapse_message(kernel(1e12), rows)
    assert "all examples look alike" in wide
    assert f"lower {kernel.main}" in wide
    assert suggestion in wide


def test_collapse_looks_at_distinct_rows_only():
    assert collapse_message(Gaussian(1e-3), np.zeros((50, 2))) == []
    assert collapse_message(Gaussian(1e9), np.zeros((50, 2))) == []
    twice = np.repeat(np.arange(20.0), 2)[:, None]
    assert "similar only to itself" in collapse_message(Gaussian(1e-3), twice)[0]
    assert collapse_message(Gaussian(1.0), np.ones((1, 2))) == []
    assert collapse_message(Gaussian(1.0), np.ones((0, 2))) == []


def test_collapse_of_other_kernels():
    X = np.random.default_rng(9).normal(size=(40, 3))
    assert collapse_message(Polynomial(), X) == []
    (alike,) = collapse_message(Polynomial(), X * 1e-6)
    assert "all examples look alike" in alike
    assert "coef0" in alike
    assert collapse_message(Polynomial(1, 0.0), np.eye(30)) == [], (
        "orthogonal rows are no fault of a polynomial"
    )
    assert collapse_message(Polynomial(1, 0.0), np.vstack([np.zeros(3), X])) == []
    assert collapse_message(Linear(), X * 1e-6) == []
    assert collapse_message(CustomKernel(lambda X, Z: np.ones((X.shape[0], Z.shape[0]))), X) == []


def test_kernel_is_abstract():
    with pytest.raises(TypeError, match="abstract"):
        Kernel()


@pytest.mark.parametrize("kernel", [Gaussian, Exponential, Laplacian])
@pytest.mark.parametrize(
    ("text", "factor"), [("scale", 1.0), ("0.5 scale", 0.5), ("3scale", 3.0), ("1e-2 scale", 0.01)]
)
def test_a_width_may_be_a_multiple_of_scale(kernel: type[Kernel], text: str, factor: float) -> None:
    X = np.random.default_rng(0).normal(size=(20, 3))
    name = kernel.main
    assert getattr(kernel(text).resolve(X), name) == pytest.approx(
        factor * getattr(kernel().resolve(X), name)
    )


@pytest.mark.parametrize("text", ["", "0 scale", "-1 scale", "scales", "1.2.3 scale", "2"])
def test_other_texts_are_no_width(text: str) -> None:
    with pytest.raises(ValueError, match="variance must be a finite number > 0"):
        Gaussian(text).resolve(np.ones((2, 2)))


def test_a_known_rank_is_that_of_the_matrix() -> None:
    X = np.random.default_rng(0).normal(size=(60, 4))
    for kernel in (Linear(), Polynomial(2), Polynomial(3, 0.5)):
        assert np.linalg.matrix_rank(kernel(X)) == kernel.rank(4)
    assert Gaussian(1.0).rank(4) is None
