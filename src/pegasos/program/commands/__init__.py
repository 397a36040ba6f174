"""The commands: each file has a function `command`, whose docstring is its help, `PLACE`, where it
stands in the list, and `SHORT`, its line there."""
