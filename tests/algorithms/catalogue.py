"""Every algorithm, as the suites over all of them take it. A new algorithm joins by one line."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from paraboloid.algorithms import hessian_dependent, quadratic_search, universal
from paraboloid.core import Matrix, Procedure
from paraboloid.numerics import CENTRED


@dataclass(frozen=True, slots=True)
class Entry:
    """How to build an algorithm for a problem of this Hessian, and the smallest budget it takes in d dimensions."""

    name: str
    build: Callable[[Matrix, int], Procedure]
    smallest: Callable[[int], int]


def _least_universal(d: int) -> int:
    """Return the least T with ⌈T^0.8⌉ ≥ 3d² and T - ⌈T^0.8⌉ ≥ 4d + 2, by whole numbers alone."""
    T = 1
    while True:
        T0 = next(n for n in range(int(T**0.8) - 1, T + 1) if n**5 >= T**4)
        if T0 >= 3 * d**2 and T - T0 >= 4 * d + 2:
            return T
        T += 1


ALGORITHMS = [
    Entry("hessian_dependent", lambda A, T: hessian_dependent(A, T), lambda d: 2 * d + 2),
    Entry("quadratic_search", lambda A, T: quadratic_search(A, T), lambda d: 4 * d + 2),
    Entry("quadratic_search, centred", lambda A, T: quadratic_search(A, T, truncation=CENTRED), lambda d: 4 * d + 2),
    Entry("universal", lambda A, T: universal(len(A), T), _least_universal),
    Entry("universal, centred", lambda A, T: universal(len(A), T, truncation=CENTRED), _least_universal),
]

HESSIAN = np.array([[1.0, 0.3], [0.3, 0.5]])
"""Neither diagonal nor well-conditioned, with both eigenvalues (1.14, 0.36) above every threshold that is used."""
