"""Kernel classes, and distances between rows."""
