"""
Margins and support vectors
===========================

The optimum of a kernel machine on two moons: the line where the score is zero, the margins where it
is ±1, and the support vectors.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

from pegasos import SDCA
from pegasos.kernels import Gaussian

X, y = make_moons(200, noise=0.2, random_state=0)
model = SDCA(lam=1e-3, kernel=Gaussian(0.3), random_state=0).fit(X, y)
print(f"{len(model.support_)} of {len(X)} rows are support vectors; relative gap {model.gap_:.1e}")

# %%
# Scores on a grid of points, drawn as bands; support vectors are ringed.

across, up = np.meshgrid(np.linspace(-1.6, 2.6, 200), np.linspace(-1.2, 1.7, 200))
points = np.column_stack([across.ravel(), up.ravel()])
scores = model.decision_function(points).reshape(across.shape)
figure, axes = plt.subplots(figsize=(7, 4.6))
bands, lines = np.linspace(-3, 3, 13), ["dashed", "solid", "dashed"]
axes.contourf(across, up, scores, bands, cmap="PuOr", alpha=0.6, extend="both")
axes.contour(across, up, scores, [-1, 0, 1], colors="black", linestyles=lines)
axes.scatter(*X.T, c=np.where(y == 1, "#5e3c99", "#e66101"), s=18)
axes.scatter(*X[model.support_].T, s=70, facecolors="none", edgecolors="black")
axes.set(title="Gaussian kernel, λ = 0.001", xlabel="x₁", ylabel="x₂", aspect="equal")
figure.tight_layout()
