"""Numerical engine: kernels, rows, solvers and their runtime."""
