"""Settings for all tests: hypothesis is deterministic here; a nightly job may load the profile ``fresh``."""

import os
import signal

from hypothesis import HealthCheck, settings

# Deadlines measure the machine and not the code; the examples are fixed by `derandomize`, so a failure repeats.
settings.register_profile(
    "fixed", derandomize=True, deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("fresh", deadline=None, max_examples=500, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fixed"))

# A shell gives its background jobs an ignored Ctrl-C, nohup an ignored hang-up, and every program that we start would
# inherit that: tests that send these signals would wait for ever.
for _name, _handler in (("SIGINT", signal.default_int_handler), ("SIGHUP", signal.SIG_DFL)):
    _number = getattr(signal, _name, None)
    if _number is not None and signal.getsignal(_number) is signal.SIG_IGN:
        signal.signal(_number, _handler)
