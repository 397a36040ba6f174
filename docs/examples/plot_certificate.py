"""
A gap is a proof
================

Coordinate ascent raises a lower bound while the objective falls. Their difference is the most that
any other predictor could gain, and it can be computed without test rows.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from pegasos import SDCA
from pegasos.kernels import Gaussian

X, y = load_digits(return_X_y=True)
X, y = X[:600] / 16, y[:600] == 8
figure, axes = plt.subplots(figsize=(7, 4.2))
for lam, colour in ((1e-2, "#1b7837"), (1e-3, "#762a83"), (1e-4, "#b35806")):
    learner = SDCA(lam=lam, kernel=Gaussian(4.0), tol=1e-6, finish=False, random_state=0)
    gaps = np.ravel(learner.fit(X, y).gap_curve_)
    epochs, objective = np.arange(1, len(gaps) + 1), learner.objective_[0]
    axes.semilogy(epochs, gaps, color=colour, label=f"λ = {lam:g}: {len(gaps)} epochs")
    print(f"λ = {lam:g}: {objective:.6f}, at most {gaps[-1]:.1e} of it above the least")
axes.set(title="The relative duality gap after each epoch", xlabel="epoch", ylabel="(P - D) / P")
axes.legend()
figure.tight_layout()
