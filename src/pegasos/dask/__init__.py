"""Learners whose rows live on a Dask cluster: the same optimum, with the same certificate, wherever the blocks are."""

try:
    import dask  # noqa: F401 - is it there?
    import distributed  # noqa: F401
except ImportError as error:
    raise ImportError("pegasos.dask needs Dask: pip install '.[dask]' in a clone") from error

from pegasos.dask.sdca import DaskSDCA

__all__ = ["DaskSDCA"]
