"""Compare every walk and every rule with the reference, for equal draws."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import sparse

import reference
from pegasos.engine.rows.features import DenseRows, SparseRows
from pegasos.engine.rows.kernel_rows import KernelRows
from pegasos.engine.rows.sources import GramRows
from pegasos.engine.walk.draws import Draws
from pegasos.engine.walk.losses import LOSSES
from pegasos.engine.walk.rules import PEGASOS, PERCEPTRON, SDCA, Method
from pegasos.engine.walk.walk import Walk
from pegasos.kernels import Gaussian, Linear, Polynomial

EXACT_KERNELS = [Linear(), Polynomial(degree=2), Polynomial(degree=3, coef0=0.5)]
KERNELS = [*EXACT_KERNELS, Gaussian(variance=2.0)]
SAMPLINGS = ["uniform", "permutation", "fixed-permutation", "in-order"]
PRIMAL = ["dense rows", "dense blocks", "csr rows"]
DUAL = ["gram", "on the fly", "on the fly, csr"]
settings.register_profile("engine", deadline=None, max_examples=60)
settings.load_profile("engine")

HINGE = LOSSES["hinge"]


@dataclass
class Case:
    """Data, storage of rows, and order of traversal."""

    X: np.ndarray
    codes: np.ndarray
    kernel: Any
    kind: str
    lams: list[float]
    draws: Draws
    block: int
    batch: int
    steps: int
    weights: np.ndarray | None
    constant: float
    members: np.ndarray | None

    @property
    def dual(self) -> bool:
        return self.kind in DUAL

    @property
    def training(self) -> np.ndarray:
        return np.arange(len(self.X)) if self.members is None else self.members

    def rows(self) -> Any:
        if self.kind == "gram":
            return GramRows(self.kernel(self.X))
        if self.kind == "on the fly":
            return KernelRows(self.kernel, self.X)
        if self.kind == "on the fly, csr":
            return KernelRows(self.kernel, sparse.csr_array(self.X))
        if self.kind == "csr rows":
            return SparseRows(sparse.csr_array(self.X))
        return DenseRows(self.X)

    def drawn(self) -> np.ndarray:
        return self.draws.take(0, self.steps * self.batch)

    def walk(
        self, method: Method, params: np.ndarray, weights: np.ndarray, radius: Any = None
    ) -> Walk:
        return Walk(
            self.rows(),
            self.codes,
            weights,
            np.unique(self.codes),
            params,
            method,
            self.draws,
            members=self.members,
            radius=radius,
            block=self.block,
            by_rows=self.kind.endswith("rows"),
        )

    def relative_weights(self) -> np.ndarray:
        """Return m ω/Σω over the training rows, with zeros for all other rows."""
        full = np.zeros(len(self.X))
        given_weights = None if self.weights is None else self.weights[self.training]
        full[self.training] = reference.relative_weights(given_weights, len(self.training))
        return full

    def reference(self, learner: str, label: int, **options: Any) -> reference.Run:
        """Run the reference for one class against the rest on the training rows."""
        rows = self.training
        y = np.where(self.codes[rows] == label, 1.0, -1.0)
        weights = None if self.weights is None else self.weights[rows]
        options = dict(options, weights=weights, constant=self.constant)
        draws = options.pop("draws", self.drawn())
        X = self.X[rows]
        if self.dual:
            K = reference.gram(_plain(self.kernel), X)
            return getattr(reference, f"{learner}_kernel")(K, y, draws, **options)
        return getattr(reference, f"{learner}_linear")(X, y, draws, **options)

    def expand(self, vector: np.ndarray) -> np.ndarray:
        """Return a vector of a walk in the layout of the reference."""
        return vector[..., self.training] if self.dual else vector

    def compare(
        self, vector: np.ndarray, bias: float, expected: np.ndarray, tolerance: float
    ) -> None:
        got = self.expand(vector)
        if not self.dual and self.constant:
            got = np.append(got, bias)
        scale = max(1e-300, np.abs(expected).max())
        np.testing.assert_allclose(got / scale, expected / scale, rtol=tolerance, atol=tolerance)


def _plain(kernel: Any) -> Any:
    plain = getattr(reference, type(kernel).__name__.lower())
    return lambda x, z: plain(x, z, **kernel.get_params())


@st.composite
def cases(draw: Any, exact: bool = False, batches: bool = True, weighted: bool = True) -> Case:
    m, d = draw(st.integers(2, 14)), draw(st.integers(1, 4))
    seed = draw(st.integers(0, 2**16))
    random = np.random.default_rng(seed)
    X = random.integers(-4, 5, (m, d)) / 4 if exact else random.normal(size=(m, d))
    codes = random.integers(0, min(m, draw(st.integers(2, 3))), m)
    codes[: codes.max() + 1] = np.arange(codes.max() + 1)
    members = None
    if m > 6 and draw(st.booleans()):
        members = np.sort(random.choice(m, m - 3, replace=False))
    lams = draw(
        st.lists(
            st.sampled_from([2.0**-7, 2.0**-4, 0.25, 0.5, 2.0]), min_size=1, max_size=4, unique=True
        )
    )
    if not exact:
        lams = [lam * 1.03 for lam in lams]
    kind = draw(st.sampled_from(PRIMAL + DUAL))
    weights = None
    if weighted and draw(st.booleans()):
        weights = random.integers(0, 4, m) / 2 + (random.random(m) < 0.5)
        weights[members if members is not None else slice(None)][0] = 1.0
        assume((weights if members is None else weights[members]).sum() > 0)
    return Case(
        X=X,
        codes=codes,
        kernel=draw(st.sampled_from(EXACT_KERNELS if exact else KERNELS)),
        kind=kind,
        lams=lams,
        draws=Draws(draw(st.sampled_from(SAMPLINGS)), m if members is None else len(members), seed),
        block=draw(st.sampled_from([1, 2, 5, 8, 64])),
        batch=draw(st.sampled_from([1, 1, 2, 3, 7])) if batches else 1,
        steps=draw(st.integers(1, 40)),
        weights=weights,
        constant=draw(st.sampled_from([0.0, 1.0])),
        members=members,
    )


def pegasos_params(case: Case) -> tuple[np.ndarray, np.ndarray]:
    lams = np.array(case.lams)
    return lams * case.batch, np.sqrt(lams) * case.batch


@given(cases(exact=True, weighted=False), st.lists(st.integers(1, 40), max_size=3))
def test_hinge_counts_are_those_of_exact_arithmetic(case: Case, stops: list[int]) -> None:
    """With dyadic data all products are exact, so counts agree even at ties."""
    params, radius = pegasos_params(case)
    walk = case.walk(
        Method(PEGASOS, HINGE, case.batch, case.constant), params, np.ones(len(case.X)), radius
    )
    rows = case.training
    K = case.kernel(case.X)[np.ix_(rows, rows)] if case.dual else case.X[rows] @ case.X[rows].T
    for step in sorted({min(stop, case.steps) for stop in stops} | {case.steps}):
        walk.advance(step)
        vectors, bias = walk.vectors()
        for row, label in enumerate(walk.classes):
            y = np.where(case.codes[rows] == label, 1, -1)
            for number, lam in enumerate(case.lams):
                drawn = case.drawn()[: step * case.batch]
                counts = reference.pegasos_exact(
                    K + case.constant, y, drawn, Fraction(lam), case.batch
                )
                column = walk.column_of()[row, number]
                if case.dual:
                    assert case.expand(vectors[column]).tolist() == [
                        float(count) for count in counts
                    ]
                else:
                    expected = np.array([float(count) for count in counts]) @ case.X[rows]
                    assert vectors[column].tolist() == expected.tolist()
                assert bias[column] == case.constant * sum(counts)


@given(
    cases(),
    st.booleans(),
    st.sampled_from([False, True, 0.3]),
    st.sampled_from(["hinge", "logistic"]),
)
@settings(max_examples=150)
def test_pegasos_equals_the_reference(
    case: Case, project: bool, average: bool | float, loss: str
) -> None:
    params, radius = pegasos_params(case)
    method = Method(
        PEGASOS,
        LOSSES[loss],
        case.batch,
        case.constant,
        projecting=project,
        averaging=bool(average),
    )
    walk = case.walk(method, params, case.relative_weights(), radius)
    start = reference.averaging_start(case.steps, average) if average else 0
    walk.advance(start)
    before = walk.sums() if average and start else None
    columns_before = walk.column_of()
    walk.advance(case.steps)
    vectors, bias = walk.vectors()
    for row, label in enumerate(walk.classes):
        for number, lam in enumerate(case.lams):
            run = case.reference(
                "pegasos",
                label,
                lam=lam,
                loss=loss,
                batch=case.batch,
                project=project,
                average=average,
            )
            assume(run.margin > 1e-9)
            column = walk.column_of()[row, number]
            unit = lam * case.batch
            case.compare(
                vectors[column] / (unit * case.steps),
                bias[column] / (unit * case.steps),
                run.coefficients,
                1e-10,
            )
            if average:
                total, total_bias = (part[column] for part in walk.sums())
                if before is not None:
                    total = total - before[0][columns_before[row, number]]
                    total_bias = total_bias - before[1][columns_before[row, number]]
                length = unit * (case.steps - start)
                case.compare(total / length, total_bias / length, run.averaged, 1e-10)


@given(cases(batches=False), st.sampled_from(["hinge", "logistic"]))
@settings(max_examples=100)
def test_sdca_equals_the_reference(case: Case, loss: str) -> None:
    weights = np.ones(len(case.X)) if case.weights is None else case.weights
    params = 1 / (np.array(case.lams) * weights[case.training].sum())
    method = Method(SDCA, LOSSES[loss], constant=case.constant)
    walk = case.walk(method, params, weights)
    walk.advance(case.steps)
    vectors, bias = walk.vectors()
    for row, label in enumerate(walk.classes):
        y = np.where(case.codes[case.training] == label, 1.0, -1.0)
        for number, lam in enumerate(case.lams):
            run = case.reference("sdca", label, lam=lam, loss=loss)
            column = walk.column_of()[row, number]
            case.compare(vectors[column], bias[column], run.coefficients, 1e-10)
            scale = max(1e-300, np.abs(run.dual).max())
            a = y * walk.coefficients()[column][case.training]
            np.testing.assert_allclose(a / scale, run.dual / scale, atol=1e-10)


@given(cases(batches=False), st.booleans())
@settings(max_examples=100)
def test_perceptron_equals_the_reference(case: Case, average: bool) -> None:
    m = case.draws.m
    epochs = 1 + case.steps // m
    method = Method(PERCEPTRON, LOSSES["perceptron"], constant=case.constant, averaging=average)
    walk = case.walk(method, np.array([0.5]), case.relative_weights())
    walk.advance(epochs * m)
    vectors, bias = walk.vectors()
    draws = case.draws.take(0, epochs * m).reshape(epochs, m)
    for row, label in enumerate(walk.classes):
        run = case.reference("perceptron", label, draws=draws, eta=0.5, average=average, stop=False)
        assume(run.margin > 1e-9)
        case.compare(vectors[row], bias[row], run.coefficients, 1e-10)
        if average:
            total, total_bias = walk.sums()
            case.compare(
                total[row] / (epochs * m), total_bias[row] / (epochs * m), run.averaged, 1e-10
            )


@given(cases(exact=True, batches=False, weighted=False))
def test_perceptron_counts_are_exact_on_dyadic_data(case: Case) -> None:
    walk = case.walk(
        Method(PERCEPTRON, LOSSES["perceptron"], constant=case.constant),
        np.array([1.0]),
        np.ones(len(case.X)),
    )
    walk.advance(case.steps)
    vectors, _ = walk.vectors()
    for row, label in enumerate(walk.classes):
        run = case.reference("perceptron", label, draws=case.drawn(), stop=False)
        expected = run.coefficients if case.dual or not case.constant else run.coefficients[:-1]
        assert case.expand(vectors[row]).tolist() == expected.tolist()


@given(cases(), st.booleans(), st.booleans(), st.lists(st.integers(1, 40), max_size=4))
def test_checkpoints_change_no_bit(
    case: Case, project: bool, average: bool, stops: list[int]
) -> None:
    params, radius = pegasos_params(case)
    method = Method(
        PEGASOS, HINGE, case.batch, case.constant, projecting=project, averaging=average
    )
    straight = case.walk(method, params, case.relative_weights(), radius)
    straight.advance(case.steps)
    halting = case.walk(method, params, case.relative_weights(), radius)
    for stop in sorted(stops):
        halting.advance(min(stop, case.steps))
        halting.vectors()
        halting.scores()
        if average:
            halting.sums()
    halting.advance(case.steps)
    for one, other in zip(straight.vectors(), halting.vectors(), strict=True):
        np.testing.assert_array_equal(one[straight.column_of()], other[halting.column_of()])


@given(cases(), st.booleans())
def test_scores_are_those_of_the_vectors(case: Case, project: bool) -> None:
    """Maintained scores of all rows equal a fresh product, also in the middle of a block."""
    params, radius = pegasos_params(case)
    walk = case.walk(
        Method(PEGASOS, HINGE, case.batch, case.constant, projecting=project),
        params,
        case.relative_weights(),
        radius,
    )
    walk.advance(case.steps)
    vectors, bias = walk.vectors()
    basis = case.kernel(case.X) if case.dual else case.X.T
    expected = vectors @ basis + case.constant * bias[:, None]
    scale = max(1.0, np.abs(expected).max())
    np.testing.assert_allclose(walk.scores() / scale, expected / scale, atol=1e-11)
    walk.refresh()
    np.testing.assert_allclose(walk.scores() / scale, expected / scale, atol=1e-11)


@given(cases(), st.booleans(), st.booleans(), st.integers(1, 40))
def test_a_saved_walk_resumes(case: Case, project: bool, average: bool, stop: int) -> None:
    case.lams = case.lams[:1]
    params, radius = pegasos_params(case)
    method = Method(
        PEGASOS,
        LOSSES["logistic"],
        case.batch,
        case.constant,
        projecting=project,
        averaging=average,
    )
    straight = case.walk(method, params, case.relative_weights(), radius)
    straight.advance(case.steps)
    first = case.walk(method, params, case.relative_weights(), radius)
    first.advance(min(stop, case.steps))
    second = case.walk(method, params, case.relative_weights(), radius)
    second.resume(first.save())
    second.advance(case.steps)
    for one, other in zip(straight.vectors(), second.vectors(), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9 * max(1.0, np.abs(one).max()))
    if average:
        for one, other in zip(straight.sums(), second.sums(), strict=True):
            np.testing.assert_allclose(
                one, other, rtol=1e-9, atol=1e-9 * max(1.0, np.abs(one).max())
            )


def test_columns_that_decide_alike_are_one_column() -> None:
    random = np.random.default_rng(0)
    X = random.normal(size=(60, 3))
    codes = (X[:, 0] > 0).astype(int)
    rows = GramRows(Polynomial(degree=7)(X))
    lams = np.logspace(-9, -5, 9)
    walk = Walk(
        rows,
        codes,
        np.ones(60),
        np.array([1]),
        lams,
        Method(PEGASOS, HINGE),
        Draws("uniform", 60, 0),
    )
    walk.advance(500)
    assert walk.active < len(lams)
    for number, lam in enumerate(lams):
        alone = Walk(
            rows,
            codes,
            np.ones(60),
            np.array([1]),
            np.array([lam]),
            Method(PEGASOS, HINGE),
            Draws("uniform", 60, 0),
        )
        alone.advance(500)
        np.testing.assert_array_equal(
            alone.vectors()[0][0], walk.vectors()[0][walk.column_of()[0, number]]
        )


@pytest.mark.parametrize("shrink", [1e-8, 1e-12])
def test_projection_survives_a_scale_that_would_underflow(shrink: float) -> None:
    """Long rows and a tiny λ shrink the weights by many orders of magnitude per step."""
    random = np.random.default_rng(1)
    X = random.normal(size=(30, 3)) * 1e3
    y = random.integers(0, 2, 30)
    draws = Draws("uniform", 30, 2)
    for rows, by_rows in (
        (DenseRows(X), True),
        (DenseRows(X), False),
        (GramRows(Linear()(X)), False),
    ):
        method = Method(PEGASOS, HINGE, projecting=True, averaging=True)
        radius = np.array([np.sqrt(shrink)])
        walk = Walk(
            rows,
            y,
            np.ones(30),
            np.array([1]),
            np.array([shrink]),
            method,
            draws,
            radius=radius,
            by_rows=by_rows,
        )
        walk.advance(300)
        vectors, _ = walk.vectors()
        total, _ = walk.sums()
        run = reference.pegasos_linear(
            X, np.where(y == 1, 1.0, -1.0), draws.take(0, 300), shrink, project=True, average=True
        )
        w, mean = vectors[0] / (shrink * 300), total[0] / (shrink * 300)
        if rows.dual:
            w, mean = w @ X, mean @ X
        np.testing.assert_allclose(
            w, run.coefficients, rtol=1e-6, atol=1e-6 * np.abs(run.coefficients).max()
        )
        np.testing.assert_allclose(
            mean, run.averaged, rtol=1e-6, atol=1e-6 * np.abs(run.averaged).max()
        )
