"""The program: tables in, model files, pages, jobs, commands and studies, all made from the library."""
