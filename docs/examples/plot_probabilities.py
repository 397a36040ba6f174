"""
Probabilities that mean something
=================================

Scores of an SVM are not probabilities. Out-of-fold scores of a search calibrate them: a sigmoid or
an isotonic map, whichever has the better cross-validated Brier score.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.calibration import calibration_curve
from sklearn.datasets import make_classification
from sklearn.metrics import brier_score_loss

from pegasos import SDCA, SweepCV

X, y = make_classification(6000, 12, n_informative=6, flip_y=0.15, weights=[0.8], random_state=3)
learned, held = slice(0, 3000), slice(3000, None)
grid = {"kernel": ["gaussian"], "lam": np.logspace(-6, -1, 6)}
sweep = SweepCV(SDCA(random_state=0), grid, cv=5, verbose=0).fit(X[learned], y[learned])
scores = sweep.decision_function(X[held])
squashed = 1 / (1 + np.exp(-scores))  # a common shortcut
sweep.calibrate()
calibrated = sweep.predict_proba(X[held])[:, 1]
print(f"Brier score of squashed scores: {brier_score_loss(y[held], squashed):.4f}")
print(f"Brier score of probabilities:   {brier_score_loss(y[held], calibrated):.4f}")

# %%
# Of the rows with a predicted probability of 70 %, about 70 % should be positive.

figure, axes = plt.subplots(figsize=(5.4, 5))
axes.plot([0, 1], [0, 1], color="gray", linewidth=1, linestyle="dotted")
for name, found in (("squashed scores", squashed), ("calibrated", calibrated)):
    observed, predicted = calibration_curve(y[held], found, n_bins=10, strategy="quantile")
    axes.plot(predicted, observed, "o-", label=name)
axes.set(xlabel="predicted probability", ylabel="share of positive rows", aspect="equal")
axes.legend()
figure.tight_layout()
