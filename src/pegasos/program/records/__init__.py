"""Records written by runs and read by pages: dataclasses that are stored as JSON."""
