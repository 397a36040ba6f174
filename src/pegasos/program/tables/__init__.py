"""Data in: files of many formats and named sets, checked, with every problem named by file, row and column."""
