"""The language of the command line: options, the grammar of grids, and what a person sees."""
