"""Modules and compiled code that workers of a test cluster load once at their start."""

from __future__ import annotations

import distributed  # noqa: F401
import numpy as np
import pandas as pd  # noqa: F401
import pyarrow.parquet  # noqa: F401

import pegasos.dask  # noqa: F401
from pegasos import SDCA
from pegasos.engine.optimum.passes.newton import solve_in_passes
from pegasos.engine.optimum.passes.passes import Column, LabelledBlocks
from pegasos.engine.optimum.problem import Intercept

for _loss in ("hinge", "logistic"):
    _blocks = LabelledBlocks(np.eye(2), np.arange(2), np.ones(2))
    solve_in_passes(
        _blocks, _loss == "hinge", [[Column(1, 1.0, (1.0, 1.0), 2)]], Intercept.AUGMENTED, 0.1
    )
for _kernel in (None, "gaussian"):
    SDCA("hinge", 0.1, _kernel).fit(np.eye(2), [0, 1])
