"""
A whole grid for the price of one fit
=====================================

All λ and all numbers of steps of a kernel share one walk: ``SweepCV`` gives exactly the scores that
``GridSearchCV`` would give.
"""

import time

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import StratifiedKFold

from pegasos import Pegasos, SweepCV
from pegasos.kernels import Gaussian

X, y = load_digits(return_X_y=True)
X, y = X[:800] / 16, y[:800]
widths, lams = [0.3, 1.0, 3.0, 10.0, 30.0], np.logspace(-6, 0, 13)
grid = {"kernel": [Gaussian(width) for width in widths], "lam": lams, "n_iter": [4000]}
folds = StratifiedKFold(5, shuffle=True, random_state=0)
begin = time.perf_counter()
sweep = SweepCV(Pegasos(random_state=0), grid, cv=folds, verbose=0).fit(X, y)
seconds = time.perf_counter() - begin
print(f"{len(sweep.settings_)} settings on 5 folds in {seconds:.1f} s")
estimate = sweep.honest_estimate()
print(f"best: {sweep.best_params_['kernel']}, λ = {sweep.best_params_['lam']:.0e}")
interval = f"{estimate.low:.2%} to {estimate.high:.2%}"
print(f"its error, corrected for the choice: {estimate.error:.2%} ({interval})")

# %%
# The error over the grid; the choice is marked.

errors = 1 - np.reshape(sweep.cv_results_["mean_test_score"], (len(widths), len(lams)))
figure, axes = plt.subplots(figsize=(8, 3.6))
picture = axes.imshow(errors, cmap="viridis_r", aspect="auto")
axes.set_xticks(range(0, len(lams), 2), [f"{each:.0e}" for each in lams[::2]])
axes.set_yticks(range(len(widths)), [f"{each:g}" for each in widths])
axes.set(title="Cross-validated error", xlabel="λ", ylabel="variance of the Gaussian")
row, column = divmod(int(sweep.best_index_), len(lams))
axes.plot(column, row, "o", markersize=14, markerfacecolor="none", markeredgecolor="black")
figure.colorbar(picture, label="error")
figure.tight_layout()
