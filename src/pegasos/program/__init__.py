"""Command-line program: tables, model files, jobs, pages and commands, built on the library."""
