"""The commands: each file has a function `command`, whose docstring is its help, and `PLACE`, where it stands in the list."""
