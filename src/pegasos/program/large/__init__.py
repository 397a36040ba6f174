"""Tables that do not fit into memory: one look at all rows, prepared rows in a file, the exact optimum in passes over it."""
