"""Energy allocation (Section 3.1): how much squared length a method spends along each eigenvector.

==================  ======================  ====================================================
paper               code                    meaning
==================  ======================  ====================================================
R_k                 ``energy[k - 1]``       E Σ_t x_{k,t}², energy along the k-th eigenvector
e_k                 ``basis[:, k - 1]``     eigenvectors of A
x_k                 ``offset``              distance of the minimiser from 0 along e_k
==================  ======================  ====================================================
"""

from collections.abc import Iterable
from typing import SupportsIndex

import numpy as np
import numpy.typing as npt

from paraboloid.core import Experiment, UsageError, Vector, check_budget, frozen_array
from paraboloid.theory.spectrum import positive_eigenvalues

__all__ = ["energy_spectrum", "expected_log_likelihood_ratio", "optimal_energy_spectrum"]


def optimal_energy_spectrum(hessian: npt.ArrayLike, budget: SupportsIndex) -> Vector:
    """Return R_k = T λ_k^-½ / Σ_j λ_j^-½, largest eigenvalue first: the allocation of Algorithm 1 to leading order.

    >>> import numpy as np
    >>> optimal_energy_spectrum(np.diag([1.0, 0.25]), 300)
    array([100., 200.])
    """
    T = check_budget(budget, smallest=1, what_for="an energy spectrum")
    weights: Vector = positive_eigenvalues(hessian) ** -0.5
    spectrum: Vector = T * weights / weights.sum()
    return spectrum


def energy_spectrum(experiments: Iterable[Experiment], basis: npt.ArrayLike) -> Vector:
    """Return Σ_t x_{k,t}² along each column of ``basis``, for the experiments of a recorded run.

    >>> energy_spectrum([Experiment([[1.0, 0.0], [0.6, 0.8]], repeats=[2, 100])], [[1.0, 0.0], [0.0, 1.0]])
    array([38., 64.])
    """
    columns = frozen_array("basis", basis, 2)
    energy = np.zeros(columns.shape[1])
    for experiment in experiments:
        if experiment.points.shape[1] != columns.shape[0]:
            raise UsageError(
                f"basis has {columns.shape[0]} rows, but the recorded points have {experiment.points.shape[1]} entries."
            )
        energy += experiment.repeats @ (experiment.points @ columns) ** 2
    return energy


def expected_log_likelihood_ratio(eigenvalue: float, offset: float, energy: float) -> float:
    """Return E[L_k s_k] = 2 (λ_k x_k)² R_k for unit Gaussian noise (Section 3.1).

    It is the divergence between the runs with the minimiser at +x_k and at -x_k: what energy buys in knowledge.

    >>> expected_log_likelihood_ratio(2.0, 0.5, 10.0)
    20.0
    """
    return 2 * (eigenvalue * offset) ** 2 * energy
