"""Estimators that have a connection to a cluster, which cannot be copied and says nothing about what they have learned."""

from __future__ import annotations

from typing import Any

from sklearn.base import clone


class Connected:
    """An estimator with the parameter `client`: clones keep the connection, files and other processes never see it."""

    client: Any

    def __sklearn_clone__(self) -> Any:
        """With the same client."""
        given = self.get_params(deep=False)  # type: ignore[attr-defined]
        return type(self)(
            **{
                name: value if name == "client" else clone(value, safe=False)
                for name, value in given.items()
            }
        )

    def __getstate__(self) -> dict[str, Any]:
        """Without it: who reads this elsewhere has another one."""
        return {**super().__getstate__(), "client": None}  # type: ignore[dict-item]
