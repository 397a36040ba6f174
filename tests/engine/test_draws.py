"""Test that draws are a pure function of kind, m, seed, stream and position."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pegasos.engine.walk.draws import SAMPLINGS, Draws

SEEDS = st.integers(0, 2**32 - 1)
RANDOM = ["uniform", "permutation", "fixed-permutation"]
#: The length of a page of uniform draws: pieces on both sides of its end must fit together.
PAGE = 1 << 16


@given(
    st.sampled_from(SAMPLINGS),
    st.integers(1, 50),
    SEEDS,
    st.integers(0, 5),
    st.lists(st.integers(0, 200), max_size=6),
)
@settings(deadline=None, max_examples=150)
def test_pieces_equal_the_whole(
    sampling: str, m: int, seed: int, stream: int, cuts: list[int]
) -> None:
    edges = [0, *sorted(cuts), 200]
    whole = Draws(sampling, m, seed, stream).take(0, 200)
    one = Draws(sampling, m, seed, stream)
    np.testing.assert_array_equal(
        np.concatenate([one.take(a, b) for a, b in pairwise(edges)]), whole
    )
    for start in cuts:  # backwards, too, and from a fresh object
        np.testing.assert_array_equal(one.take(start, 200), whole[start:])
        np.testing.assert_array_equal(
            Draws(sampling, m, seed, stream).take(start, 200), whole[start:]
        )


@pytest.mark.parametrize("m", [1000, PAGE + 7])
@pytest.mark.parametrize("sampling", SAMPLINGS)
def test_pieces_equal_the_whole_across_pages(sampling: str, m: int) -> None:
    whole = Draws(sampling, m, 1).take(0, 2 * PAGE + 10)
    for start, stop in [
        (PAGE - 5, PAGE + 5),
        (m - 1, m + 1),
        (PAGE, PAGE + 1),
        (PAGE - 1, 2 * PAGE + 1),
        (5, 5),
    ]:
        np.testing.assert_array_equal(Draws(sampling, m, 1).take(start, stop), whole[start:stop])


@given(
    st.sampled_from(["permutation", "fixed-permutation", "in-order"]),
    st.integers(1, 60),
    SEEDS,
    st.integers(0, 3),
)
@settings(deadline=None, max_examples=60)
def test_every_epoch_is_a_permutation(sampling: str, m: int, seed: int, epoch: int) -> None:
    drawn = Draws(sampling, m, seed).take(epoch * m, (epoch + 1) * m)
    assert sorted(drawn.tolist()) == list(range(m))


def test_in_order_is_in_order() -> None:
    assert Draws("in-order", 4, seed=9, stream=3).take(2, 11).tolist() == [
        2,
        3,
        0,
        1,
        2,
        3,
        0,
        1,
        2,
    ]


@given(st.integers(20, 60), SEEDS)
@settings(deadline=None, max_examples=30)
def test_permutations_are_renewed_or_kept(m: int, seed: int) -> None:
    """Two of the 2e18 orders of 20 examples are not equal by chance."""
    kept = Draws("fixed-permutation", m, seed).take(0, 3 * m).reshape(3, m)
    assert (kept == kept[0]).all()
    renewed = Draws("permutation", m, seed).take(0, 3 * m).reshape(3, m)
    assert len({tuple(epoch) for epoch in renewed.tolist()}) == 3
    assert kept[0].tolist() != list(range(m))


@pytest.mark.parametrize("m", [1, 2, 7, 300])
def test_uniform_draws_every_example_equally_often(m: int) -> None:
    """χ² of 200,000 draws is within 5 standard deviations of its mean."""
    total = 200_000
    drawn = Draws("uniform", m, seed=5).take(0, total)
    assert drawn.min() == 0
    assert drawn.max() == m - 1
    counts = np.bincount(drawn, minlength=m)
    chi2 = ((counts - total / m) ** 2 / (total / m)).sum()
    assert abs(chi2 - (m - 1)) <= 5 * np.sqrt(2 * max(1, m - 1))


def test_first_of_a_permutation_is_any_example() -> None:
    first = [int(Draws("permutation", 4, seed).take(0, 1)[0]) for seed in range(400)]
    counts = np.bincount(first, minlength=4)
    assert counts.min() > 50, f"100 expected of each, standard deviation 8.7; got {counts}"


@given(st.sampled_from(RANDOM), SEEDS, st.integers(0, 4), st.integers(1, 4))
@settings(deadline=None, max_examples=40)
def test_streams_and_seeds_differ(sampling: str, seed: int, stream: int, further: int) -> None:
    base = Draws(sampling, 50, seed, stream).take(0, 50).tolist()
    assert base != Draws(sampling, 50, seed, stream + further).take(0, 50).tolist()
    assert base != Draws(sampling, 50, seed + further, stream).take(0, 50).tolist()


@pytest.mark.parametrize("sampling", SAMPLINGS)
def test_draws_are_integers_in_range(sampling: str) -> None:
    drawn = Draws(sampling, 11, 2).take(0, 500)
    assert drawn.dtype == np.int64
    assert set(drawn.tolist()) == set(range(11))
