"""Commands, one module each, in the order of `--help`.

A module has the functions `command`, whose docstring is the help, and `show`, which prints the
record that `command` returns; and optionally `json_of`, which returns the record for --json.
"""

COMMANDS = (
    "describe",
    "train",
    "evaluate",
    "predict",
    "tune",
    "show",
    "explain",
    "shrink",
    "export",
    "study",
    "report",
    "models",
    "play",
    "demo",
)
#: Earlier names of commands.
ALIASES = {"run": "evaluate"}
