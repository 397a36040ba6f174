"""Benchmarks: each module measures one thing as a ratio to a peer.

`python -m benchmarks NAME` runs one; results go to results.json and docs/benchmarks.md.
"""
