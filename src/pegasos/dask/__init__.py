"""Classifiers, kernel features and grid searches for rows on a Dask cluster.

`DaskSDCA` reaches the same certified optimum as `SDCA`, wherever the blocks of rows are stored.
"""

try:
    import dask  # noqa: F401 - checked here for a helpful message
    import distributed  # noqa: F401
except ImportError as error:
    raise ImportError("pegasos.dask needs Dask: pip install '.[dask]' in a clone") from error

from pegasos.cluster_tasks import ClusterLost
from pegasos.dask.nystroem import DaskNystroem
from pegasos.dask.sdca import DaskSDCA
from pegasos.dask.sweep import DaskSweepCV

__all__ = ["ClusterLost", "DaskNystroem", "DaskSDCA", "DaskSweepCV"]
