"""Array types, and the read-only float64 copies that all values are made of."""

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from paraboloid.core.errors import UsageError

__all__ = ["Counts", "Matrix", "Vector", "frozen_array"]

Vector: TypeAlias = npt.NDArray[np.float64]
Matrix: TypeAlias = npt.NDArray[np.float64]
Counts: TypeAlias = npt.NDArray[np.int64]


def frozen_array(name: str, given: npt.ArrayLike, n_axes: int) -> npt.NDArray[np.float64]:
    """Return a read-only float64 copy of ``given``, or say what is wrong with it.

    >>> frozen_array("x", [1, 2], 1)
    array([1., 2.])
    >>> frozen_array("x", [1, float("nan")], 1)
    Traceback (most recent call last):
    ...
    paraboloid.core.errors.UsageError: x holds a value that is not a finite number: [ 1. nan]. ...
    """
    try:
        if np.iscomplexobj(given):
            raise TypeError("complex numbers have no order")
        if np.asarray(given).dtype.kind in "US":
            raise TypeError("text is not a number")
        array = np.array(given, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise UsageError(
            f"{name} must be an array of real numbers with {n_axes} axes, got {given!r} ({error})."
        ) from error
    if array.ndim != n_axes:
        raise UsageError(f"{name} must have {n_axes} axes, got {array.ndim} (shape {array.shape}). Reshape it first.")
    if not np.all(np.isfinite(array)):
        raise UsageError(f"{name} holds a value that is not a finite number: {array}. Mend it at its source.")
    array.flags.writeable = False
    return array
