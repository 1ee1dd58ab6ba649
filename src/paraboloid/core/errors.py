"""What can go wrong, as a short tree; each error also is the builtin a caller would expect.

::

    ParaboloidError
    ├── UsageError (ValueError)          you called us wrongly
    ├── MeasurementError (RuntimeError)  the measured system misbehaved: NaN, wrong count
    └── ReplayMismatch (RuntimeError)    the log disagrees with the procedure it is replayed into

A message says what was given, what was expected, and what to do next.
"""

__all__ = ["MeasurementError", "ParaboloidError", "ReplayMismatch", "UsageError"]


class ParaboloidError(Exception):
    """Base of every error that Paraboloid raises on purpose."""


class UsageError(ParaboloidError, ValueError):
    """The caller gave an argument that cannot work; nothing was measured because of it."""


class MeasurementError(ParaboloidError, RuntimeError):
    """The measured system answered with something that is not a measurement of what was asked."""


class ReplayMismatch(ParaboloidError, RuntimeError):  # noqa: N818 - the name says what happened
    """A log was replayed into a procedure that asks for something else than was logged."""
