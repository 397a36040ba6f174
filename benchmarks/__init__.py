"""The benchmarks: `python -m benchmarks` runs them all. One file a benchmark, found by listing this folder."""
