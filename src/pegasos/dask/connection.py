"""From an estimator on a cluster to its client, and to the ordinary estimator."""

from __future__ import annotations

from typing import Any, TypeVar

from distributed import Client, get_client

Estimator = TypeVar("Estimator")


def current_client(client: Any) -> Client:
    """The client that is given, or the current one."""
    if client is not None:
        return client
    try:
        return get_client()
    except ValueError:
        raise ValueError(
            "no Dask client: make one first, client = distributed.Client(...), or give it as client=."
        ) from None


def localized(estimator: Any, kind: type[Estimator]) -> Estimator:
    """The same, fitted or not, as an estimator of the class for rows in memory."""
    local = kind()
    local.__dict__.update(
        {name: value for name, value in vars(estimator).items() if name != "client"}
    )
    return local
