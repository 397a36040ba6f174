"""Reproductions of five published reports; `python -m studies NAME -o DIR` runs one."""
