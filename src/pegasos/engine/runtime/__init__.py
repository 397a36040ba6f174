"""Compilation, threads, memory and interruption."""
