"""The kernels: Gaussian, Polynomial, Exponential, Laplacian, Linear, and a function of one's own."""

from pegasos.engine.kernels.standard import *  # noqa: F403 - what is public is listed there, beside the kernels
