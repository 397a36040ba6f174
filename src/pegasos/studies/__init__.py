"""Studies: reports reproduced number by number. One file a study, found by listing this folder; files with _ run them."""

from pegasos.studies._splits import folds, train_test
from pegasos.studies._study import Check, Emulation, Experiment, Extra, Number, Study

__all__ = ["Check", "Emulation", "Experiment", "Extra", "Number", "Study", "folds", "train_test"]
