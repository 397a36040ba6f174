"""Altair charts of models and searches for notebooks and papers (extra `plot`).

Jupyter displays them; `chart.save("name.html")`, `.png` or `.svg` writes files. Reports contain all
charts on one page.
"""

from pegasos.program.pages.plots import boundary, confusion, curves, heatmap, precision_recall, roc

__all__ = ["boundary", "confusion", "curves", "heatmap", "precision_recall", "roc"]
