"""Linear optima in passes over row blocks: in memory, on disk or on a cluster."""
