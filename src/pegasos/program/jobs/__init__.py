"""The work behind the commands, from options to results: one file a job."""
