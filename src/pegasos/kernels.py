"""Kernels: Gaussian, Polynomial, Exponential, Laplacian, Linear, and user-defined functions."""

from pegasos.engine.kernels.standard import *  # noqa: F403 - public names are listed there
