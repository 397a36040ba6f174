"""Kernel classes, distances between rows, and landmarks."""
