"""What a study of one's own is made of; `pegasos study new mine.py --data my.csv` writes one to start from."""

from pegasos.program.studies.splits import folds, train_test
from pegasos.program.studies.study import Check, Emulation, Experiment, Extra, Number, Study

__all__ = ["Check", "Emulation", "Experiment", "Extra", "Number", "Study", "folds", "train_test"]
