"""Theorem 1: what no method can beat, and the number of samples it implies.

==================  ====================  ==========================================
paper               code                  meaning
==================  ====================  ==========================================
A                   ``hessian``           Hessian of f, (d, d), PSD of any rank
T                   ``budget``            T - 1 samples are taken, x_T is returned
ε                   ``accuracy``          wanted expected simple regret
==================  ====================  ==========================================
"""

import math

import numpy.typing as npt

from paraboloid.core import check_positive
from paraboloid.theory.spectrum import inverse_root_trace

__all__ = ["minimax_limit", "samples_for_accuracy"]


def minimax_limit(hessian: npt.ArrayLike) -> float:
    """Return ½(Tr A^-½)², the limit of T times the minimax simple regret (Theorem 1, unit noise variance).

    For noise of standard deviation σ the regret is σ² times this over T.

    >>> import numpy as np
    >>> minimax_limit(np.diag([1.0, 0.25]))  # ½ (1 + 2)²
    4.5
    """
    return inverse_root_trace(hessian) ** 2 / 2


def samples_for_accuracy(hessian: npt.ArrayLike, accuracy: float) -> int:
    """Return the sample count (Tr A^-½)²/(2ε), rounded up, to leading order in 1/ε (Section 1).

    >>> import numpy as np
    >>> samples_for_accuracy(np.diag([1.0, 0.25]), 0.01)
    450
    """
    exact = minimax_limit(hessian) / check_positive("accuracy", accuracy)
    # A quotient such as 4.5 / 0.01 comes out a few units in the last place above the whole number it stands for.
    return math.ceil(exact * (1 - 1e-12))
