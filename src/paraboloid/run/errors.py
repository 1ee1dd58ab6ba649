"""What can go wrong with many workers; both are errors of the tree in `paraboloid.core.errors`."""

from typing import Any

from paraboloid.core import MeasurementError

__all__ = ["ExecutorLost", "TooManyFailures", "too_many_failures"]


class TooManyFailures(MeasurementError):  # noqa: N818 - the name says what happened
    """So large a share of the measurements failed that going on would waste the rest; what was measured is kept.

    From `paraboloid.minimize`, ``result`` is the answer from what was measured, or None if nothing was.
    """

    result: Any = None


class ExecutorLost(MeasurementError):  # noqa: N818 - the name says what happened
    """The executor broke or was shut down, and cannot be made anew; what was measured is kept.

    From `paraboloid.minimize`, ``result`` is the answer from what was measured, or None if nothing was.
    """

    result: Any = None


def too_many_failures(n_failures: int, n: int, last: str) -> TooManyFailures:
    """Return the error that names how many of n measurements failed, and how the last one did."""
    return TooManyFailures(
        f"{n_failures} of {n} measurements failed, the last one {last}. "
        f"Mend the function, or choose a domain in which it works."
    )
