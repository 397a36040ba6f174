"""The table of all parts: a name in a file means one of these, or nothing."""

from __future__ import annotations

from pegasos.program.modelfile.composed_parts import Columns, Dropping, Steps
from pegasos.program.modelfile.encoder_parts import FILLERS
from pegasos.program.modelfile.learner_parts import LEARNERS
from pegasos.program.modelfile.scaler_parts import SCALERS
from pegasos.program.modelfile.tree import Part

PARTS: dict[str, Part] = {**SCALERS, **FILLERS, **LEARNERS}
PARTS["Pipeline"] = Steps(PARTS)
PARTS["ColumnTransformer"] = Columns(PARTS)
PARTS["DropOutliers"] = Dropping(PARTS)
