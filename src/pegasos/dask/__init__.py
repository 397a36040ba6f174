"""Learners whose rows live on a Dask cluster: the same optimum, with the same certificate, wherever the blocks are."""

try:
    import dask  # noqa: F401 - is it there?
    import distributed  # noqa: F401
except ImportError as error:
    raise ImportError("pegasos.dask needs Dask: pip install '.[dask]' in a clone") from error

from pegasos.dask.nystroem import DaskNystroem
from pegasos.dask.sdca import DaskSDCA
from pegasos.dask.sweep import DaskSweepCV
from pegasos.learners.cluster_tasks import ClusterLost

__all__ = ["ClusterLost", "DaskNystroem", "DaskSDCA", "DaskSweepCV"]
