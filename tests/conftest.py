"""Hypothesis looks at the same cases in every run of the suite: a test that fails by chance teaches people to ignore tests.

`HYPOTHESIS_PROFILE=explore make tests` looks at new ones; what it finds becomes an explicit example.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from distributed import Client, LocalCluster

settings.register_profile("same", derandomize=True, deadline=None)  # a busy machine is slow, and no fault
settings.register_profile("explore")
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "same"))


@pytest.fixture(scope="session")
def cluster() -> Iterator[LocalCluster]:
    """Three workers for all tests of the group "dask"; who takes some away gives them back."""
    from clusters import start_cluster

    with start_cluster(3) as made:
        yield made


@pytest.fixture(scope="session")
def client(cluster: LocalCluster) -> Iterator[Client]:
    from distributed import Client

    with Client(cluster, set_as_default=False) as made:
        yield made
