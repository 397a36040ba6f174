"""Test the grammar of grids and kernels."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from command_line import fine
from pegasos.engine.kernels.base import DistanceKernel, Kernel
from pegasos.engine.kernels.standard import KERNELS
from pegasos.kernels import Exponential, Gaussian, Laplacian, Polynomial
from pegasos.learners.catalogue import MODELS
from pegasos.program.errors import UsageError
from pegasos.program.terminal.grammar import (
    kernel_option,
    parse_counts,
    parse_kernels,
    parse_numbers,
)


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("1", [1.0]),
        ("1e-4,2,3.5", [1e-4, 2.0, 3.5]),
        ("1e-4:1e-2:3", [1e-4, 1e-3, 1e-2]),
        ("1e-6:1e6:13", [10.0**power for power in range(-6, 7)]),
        ("1:4:2", [1.0, 4.0]),
    ],
)
def test_numbers(text, values):
    assert parse_numbers(text, "--lam") == pytest.approx(values, rel=1e-12)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "'' is not a number"),
        ("a", "'a' is not a number"),
        ("1,,2", "'' is not a number"),
        ("nan", "not a finite number"),
        ("1,inf", "not a finite number"),
        ("1:2", "write a,b,c or lo:hi:count"),
        ("1:2:3:4", "write a,b,c or lo:hi:count"),
        ("2:1:3", "needs 0 < lo < hi"),
        ("0:1:3", "needs 0 < lo < hi"),
        ("1:1:3", "needs 0 < lo < hi"),
        ("1:2:1", "at least 2"),
        ("1:2:2.5", "whole number from 1 to 1000"),
        ("1:2:1e9", "whole number from 1 to 1000"),
        ("1:1.0000000001:5", "too close"),
    ],
)
def test_numbers_refused(text, why):
    with pytest.raises(UsageError, match=why) as caught:
        parse_numbers(text, "--lam")
    assert "--lam" in str(caught.value)


@given(st.floats(1e-12, 1e6), st.floats(1.01, 1e12), st.integers(2, 60))
def test_spread_has_right_ends_count_and_equal_ratios(low, factor, count):
    high = low * factor
    values = parse_numbers(f"{low!r}:{high!r}:{count}", "--lam")
    assert (values[0], values[-1], len(values)) == (low, high, count)
    ratios = np.diff(np.log(values))
    np.testing.assert_allclose(ratios, math.log(high / low) / (count - 1), rtol=0, atol=1e-11)


def test_spread_over_all_floats_there_are():
    values = parse_numbers("5e-324:1.7e308:9", "--lam")
    assert np.all(np.diff(values) > 0)
    assert np.isfinite(values).all()


@pytest.mark.parametrize(
    ("text", "values"),
    [("1,5,5,20", [1, 5, 20]), ("1000:16000:3", [1000, 4000, 16000]), ("1:3:9", [1, 2, 3])],
)
def test_counts(text, values):
    assert parse_counts(text, "--epochs") == values


@pytest.mark.parametrize("text", ["0", "1.5", "-3", "0.1:0.4:3"])
def test_counts_refused(text):
    with pytest.raises(UsageError, match="is not a whole number >= 1"):
        parse_counts(text, "--epochs")


def test_kernels_may_be_one_list():
    assert parse_kernels(["linear,gaussian:1,0.5s,polynomial:2,3"]) == parse_kernels(
        ["linear", "gaussian:1,0.5s", "polynomial:2,3"]
    )
    with pytest.raises(UsageError, match="there is no kernel 'gausian'"):
        parse_kernels(["linear,gausian"])


def test_counts_beyond_all_patience_are_refused():
    with pytest.raises(UsageError, match="more than 1e"):
        parse_counts("1e100", "--n-iter")


@pytest.mark.parametrize(
    ("text", "kernels"),
    [
        ("linear", [None]),
        ("gaussian", [Gaussian()]),
        ("Gaussian:scale", [Gaussian("scale")]),
        ("rbf:gamma=0.25", [Gaussian(2.0)]),
        ("gaussian:2,8", [Gaussian(2.0), Gaussian(8.0)]),
        ("gaussian:0.5s,3", [Gaussian("0.5 scale"), Gaussian(3.0)]),
        ("gaussian:0.1s:10s:3", [Gaussian("0.1 scale"), Gaussian("1 scale"), Gaussian("10 scale")]),
        ("gaussian:1:100:3", [Gaussian(1.0), Gaussian(10.0), Gaussian(100.0)]),
        ("gaussian:gamma=0.25", [Gaussian(2.0)]),
        ("gaussian:gamma=0.25:1:2", [Gaussian(2.0), Gaussian(0.5)]),
        ("polynomial", [Polynomial(3, 1.0)]),
        ("poly:2,3:coef0=1", [Polynomial(2, 1.0, "scale"), Polynomial(3, 1.0, "scale")]),
        ("polynomial:coef0=2", [Polynomial(3, 2.0)]),
        ("exponential:4", [Exponential(4.0)]),
        ("laplacian:2s", [Laplacian("2 scale")]),
    ],
)
def test_kernels(text, kernels):
    assert parse_kernels([text]) == kernels


def test_kernels_of_several_options_are_joined_once_each():
    assert parse_kernels(["linear", "gaussian:1,2", "gaussian:2", "linear"]) == [
        None,
        Gaussian(1.0),
        Gaussian(2.0),
    ]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("gausian:3", "Did you mean 'gaussian'"),
        ("", "there is no kernel ''"),
        ("linear:3", "has no values"),
        ("gaussian:x", "'x' is not a number"),
        ("gaussian:0", "must be above 0"),
        ("gaussian:-1s", "must be above 0"),
        ("gaussian:1e-300", "tiny"),
        ("gaussian:gamma=-1", "must be above 0"),
        ("gaussian:2:gamma=1", "not both"),
        ("gaussian:gamma=1:gamma=2", "given twice"),
        ("gaussian:1s:10:3", "both ends"),
        ("gaussian:1:10:3s", "both ends"),
        ("gaussian:1:2", "write a,b,c or lo:hi:count"),
        ("gaussian:coef0=1", "unknown 'coef0'"),
        ("gaussian:variance=1", "write gaussian:V for the variance V"),
        ("gaussian:sigma=1", "write gaussian:V for the variance V"),
        ("laplacian:gamma=1", "unknown 'gamma'"),
        ("polynomial:2.5", "whole number"),
        ("polynomial:0", "whole number"),
        ("polynomial:1e5", "above 1000"),
        ("polynomial:3:width=1", "unknown 'width'"),
        ("polynomial:3:coef0=nan", "not a finite number"),
    ],
)
def test_kernels_refused(text, why):
    with pytest.raises(UsageError, match=why):
        parse_kernels([text])


@dataclass(repr=False, unsafe_hash=True)
class Wave(Kernel):
    """Kernel of an extension, known only by its own declaration."""

    measure: ClassVar[Any] = "inner"
    name = "wave"
    formula = "cos(x·z/period)^peaks + shift"
    in_scikit_learn = "nothing"
    main = "period"
    alternatives: ClassVar[Any] = {"frequency": lambda frequency: Wave(1 / frequency)}
    period: float = 1.0
    shift: float = 0.0

    def transform(self, values):
        np.cos(values / self.period, out=values)


@dataclass(repr=False, unsafe_hash=True)
class Peaks(DistanceKernel):
    measure: ClassVar[Any] = "squared"
    name = "peaks"
    main = "count"
    counts = ("count",)
    count: int = 2

    def transform(self, values):
        np.exp(-values * self.count, out=values)

    @staticmethod
    def suggest(n_features, variance):
        return 1.0


def test_a_new_kernel_needs_no_edit_of_the_program(monkeypatch):
    monkeypatch.setitem(KERNELS, "wave", Wave)
    monkeypatch.setitem(KERNELS, "peaks", Peaks)
    assert parse_kernels(["wave", "wave:2,3:shift=0.5"]) == [Wave(), Wave(2.0, 0.5), Wave(3.0, 0.5)]
    assert parse_kernels(["wave:frequency=0.5:2:2:shift=1"]) == [Wave(2.0, 1.0), Wave(0.5, 1.0)]
    assert parse_kernels(["peaks", "peaks:4,5"]) == [Peaks(), Peaks(4), Peaks(5)]
    for kernel in (Wave(2.5, -1.0), Wave(), Peaks(7)):
        assert parse_kernels([kernel_option(kernel)]) == [kernel]
    for text, why in {
        "wave:2s": "'2s' is not a number",
        "wave:2:height=1": r"unknown 'height'; known is shift, frequency",
        "wave:2:frequency=1": "give periods or frequency=..., not both",
        "peaks:1.5": "whole number",
        "peaks:2000": "the count 2000 is above 1000",
    }.items():
        with pytest.raises(UsageError, match=why):
            parse_kernels([text])
    found = {each["name"]: each for each in fine("models", "--json").json["kernels"]}
    assert found["wave"] == {
        "name": "wave",
        "form": "wave[:period|frequency=f][:shift=s]",
        "formula": Wave.formula,
        "scikit-learn": "nothing",
    }
    assert Wave.formula in fine("models").out


def test_help_lists_the_models_of_the_catalogue():
    text = " ".join(fine("train", "--help").out.split()).replace("- ", "-")
    assert f"One of {', '.join(MODELS)}." in text
    for setting in ("lam", "n_iter", "average", "batch_size", "sampling", "projection", "tol"):
        having = ", ".join(
            name for name, (declaration, _) in MODELS.items() if setting in declaration.options
        )
        flag = f"--{setting.replace('_', '-')} "
        assert f"({having})." in text[text.rindex(flag) :].partition(" --")[0], setting


@given(
    st.text() | st.text(alphabet="0123456789.,:e-+sxna_ "),
    st.sampled_from([parse_numbers, parse_counts]),
)
def test_any_text_of_numbers_is_understood_or_refused(text, parse):
    try:
        values = parse(text, "--lam")
    except UsageError:
        return
    assert values
    assert np.isfinite(values).all()


@given(
    st.sampled_from(["gaussian", "polynomial", "linear", "laplacian", "exponential", ""]),
    st.text(alphabet="0123456789.,:e-+s=gamcoef ") | st.text(),
)
def test_any_text_of_kernels_is_understood_or_refused(name, text):
    try:
        kernels = parse_kernels([f"{name}:{text}"])
    except UsageError:
        return
    for kernel in kernels:
        if kernel is not None:
            kernel.resolve(np.array([[0.0, 1.0], [2.0, 1.0]]))
