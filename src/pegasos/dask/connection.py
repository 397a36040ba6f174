"""Find the Dask client of an estimator, and convert an estimator to its in-memory class."""

from __future__ import annotations

from typing import Any, TypeVar

from distributed import Client, get_client

Estimator = TypeVar("Estimator")


def current_client(client: Any) -> Client:
    """Return the given client, or the current one."""
    if client is not None:
        return client
    try:
        return get_client()
    except ValueError:
        raise ValueError(
            "no Dask client: make one first, client = distributed.Client(...), or give it as client=."
        ) from None


def localized(estimator: Any, kind: type[Estimator]) -> Estimator:
    """Return a copy of a Dask estimator, fitted or not, as its in-memory class `kind`."""
    local = kind()
    local.__dict__.update(
        {name: value for name, value in vars(estimator).items() if name != "client"}
    )
    return local
