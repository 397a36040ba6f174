"""Rows of a table: explicit features, kernel matrices, blocks, and the plan of their storage."""
