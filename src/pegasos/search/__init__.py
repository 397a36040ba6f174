"""Searches of grids by cross-validation: all settings in shared walks, or in two stages.

- A *setting* is the identity of a fit (`settings`), and a *cell* a setting of the grid with its
  estimator (`grid`). Cells that differ only in λ, C and stops form a *group*.
- A *unit* is a group on one fold: one run of solvers over all rows, with λ as columns, stops as
  points at which scores are read, and the training rows as an index set. Its result is an *outcome*
  for each cell (`units`).
- A *schedule* orders units so that they share kernel rows, and runs them on threads or a cluster.
- An *evaluation* has the results of cells x folds, new ones or those of the *store*.

`SweepCV` evaluates all cells once, `TwoStageSearchCV` in stages. Their base in `finished` chooses a
cell, and computes estimates and decisions from its out-of-fold predictions.
"""
