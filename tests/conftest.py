"""Settings for all tests: hypothesis is deterministic here; a nightly job may load the profile ``fresh``."""

import os

from hypothesis import HealthCheck, settings

# Deadlines measure the machine and not the code; the examples are fixed by `derandomize`, so a failure repeats.
settings.register_profile(
    "fixed", derandomize=True, deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("fresh", deadline=None, max_examples=500, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fixed"))
