"""Commands, one module each.

A module has the functions `command`, whose docstring is the help, and `show`, which prints the
record that `command` returns; `PLACE`, the position in the list of commands; `SHORT`, the line in
that list; and optionally `ALIASES` and `json_of`, which returns the record for --json.
"""
