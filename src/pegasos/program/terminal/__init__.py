"""Command-line interface: options, the syntax of grids, and console output."""
