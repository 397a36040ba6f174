"""
Comparing with other learners
=============================

Our learners are scikit-learn estimators: ``cross_val_score`` and ``GridSearchCV`` compare them with
others on the same folds. Here every tuned learner chooses its parameters within each training part.
"""

import time

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import t
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, RepeatedStratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from pegasos import SDCA, SweepCV
from pegasos.kernels import Gaussian

X, y = load_breast_cancer(return_X_y=True)
grid = {"svc__C": 10.0 ** np.arange(-1, 4), "svc__gamma": 10.0 ** np.arange(-4, 1)}
ours = {"kernel": [Gaussian(width) for width in (3, 30, 300)], "lam": np.logspace(-6, -1, 6)}
learners = {
    "SDCA, Gaussian kernel": SweepCV(SDCA(random_state=0), ours, verbose=0),
    "SVC": GridSearchCV(make_pipeline(StandardScaler(), SVC()), grid),
    "logistic regression": GridSearchCV(
        LogisticRegression(max_iter=1000), {"C": 10.0 ** np.arange(-4, 5)}
    ),
    "boosting": HistGradientBoostingClassifier(random_state=0),
}
folds = RepeatedStratifiedKFold(n_splits=5, n_repeats=2, random_state=0)
errors = {}
for name, learner in learners.items():
    begin = time.perf_counter()
    errors[name] = 1 - cross_val_score(make_pipeline(StandardScaler(), learner), X, y, cv=folds)
    seconds = time.perf_counter() - begin
    print(f"{name}: error {errors[name].mean():.2%}, {seconds:.1f} s")

# %%
# Training parts share most of their rows, so the variance of a mean over J splits is taken as
# s² (1/J + test rows / training rows), the corrected resampled t interval (Nadeau, Bengio 2003).
# It applies to paired differences, too.

splits, ratio = folds.get_n_splits(), 1 / 4
half = {
    name: t.ppf(0.975, splits - 1) * each.std(ddof=1) * np.sqrt(1 / splits + ratio)
    for name, each in errors.items()
}
figure, axes = plt.subplots(figsize=(8, 2.4))
axes.errorbar(
    [100 * each.mean() for each in errors.values()],
    list(errors),
    xerr=[100 * each for each in half.values()],
    fmt="o",
    capsize=4,
)
axes.set(xlabel="cross-validated error in percent, 95 % interval")
axes.invert_yaxis()
figure.tight_layout()
