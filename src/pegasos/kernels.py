"""The kernels: Gaussian, Polynomial, Exponential, Laplacian, Linear, and a function of one's own."""

from pegasos.engine.kernels import CustomKernel, Exponential, Gaussian, Kernel, Laplacian, Linear, Polynomial

__all__ = ["CustomKernel", "Exponential", "Gaussian", "Kernel", "Laplacian", "Linear", "Polynomial"]
