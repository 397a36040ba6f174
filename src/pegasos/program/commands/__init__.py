"""Commands, one module each.

A module has the function `command`, whose docstring is the help; `PLACE`, the position in the list
of commands; `SHORT`, the line in that list; and, if there are any, `ALIASES`.
"""
