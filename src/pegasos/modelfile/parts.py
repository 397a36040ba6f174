"""The table of all parts: a name in a file means one of these, or nothing."""

from __future__ import annotations

from pegasos.modelfile.compounds import Columns, Dropping, Steps
from pegasos.modelfile.fillers import FILLERS
from pegasos.modelfile.learnerparts import LEARNERS
from pegasos.modelfile.scalers import SCALERS
from pegasos.modelfile.tree import Part

PARTS: dict[str, Part] = {**SCALERS, **FILLERS, **LEARNERS}
PARTS["Pipeline"] = Steps(PARTS)
PARTS["ColumnTransformer"] = Columns(PARTS)
PARTS["DropOutliers"] = Dropping(PARTS)
