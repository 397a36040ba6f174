"""The framework of studies: what a study declares, how it is run, judged and written."""
