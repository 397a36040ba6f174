"""Learn from a table of any size: rows in memory, or rows that are read in passes."""
