"""The five published reports that this project reproduces; `python -m studies NAME -o DIR` runs one."""
