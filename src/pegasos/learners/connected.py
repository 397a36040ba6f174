"""Base of estimators with a connection to a cluster, which can be neither copied nor pickled."""

from __future__ import annotations

from typing import Any

from sklearn.base import clone


class Connected:
    """Estimator with the parameter `client`, which clones keep and pickles lack."""

    client: Any

    def __sklearn_clone__(self) -> Any:
        given = self.get_params(deep=False)  # type: ignore[attr-defined]
        copies = {name: clone(given[name], safe=False) for name in given if name != "client"}
        return type(self)(**{**given, **copies})

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "client": None}  # type: ignore[dict-item]
