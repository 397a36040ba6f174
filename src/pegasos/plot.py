"""Charts of models and sweeps for notebooks and papers, as Altair charts (extra `plot`); reports have them all on one page.

Altair draws them in Jupyter by itself; `chart.save("name.html")`, `.png` or `.svg` writes files.
"""

from pegasos.program.pages.plots import boundary, confusion, curves, heatmap, precision_recall, roc

__all__ = ["boundary", "confusion", "curves", "heatmap", "precision_recall", "roc"]
