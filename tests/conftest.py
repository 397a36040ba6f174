"""Hypothesis looks at the same cases in every run of the suite: a test that fails by chance teaches people to ignore tests.

`HYPOTHESIS_PROFILE=explore make tests` looks at new ones; what it finds becomes an explicit example.
"""

import os

from hypothesis import settings

settings.register_profile("same", derandomize=True, deadline=None)  # a busy machine is slow, and no fault
settings.register_profile("explore")
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "same"))
