"""The command line: one file a command in `commands`, found by listing that folder."""
