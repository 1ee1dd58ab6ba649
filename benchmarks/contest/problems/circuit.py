"""A variational quantum circuit with finite shots: energy of an Ising chain of six spins, eight angles.

H = - Σ Z_i Z_{i+1} - Σ X_i on an open chain (critical field). The circuit begins in |+...+> and applies four layers
exp(-i γ Σ Z Z) exp(-i β Σ X); the knobs are (γ, β) of each layer, in [0, π/2]. One measurement is the energy from 100
shots in the Z basis and 100 in the X basis: its noise is binomial, unequal over the box and least near eigenstates.
"""

from functools import cache

import numpy as np
import numpy.typing as npt

from contest.problem import Problem, cube
from contest.truth import lowest_found
from paraboloid.core import Matrix, Vector

N_SPINS, N_LAYERS, N_SHOTS = 6, 4, 100
LEAST = -7.287844688611927
"""Least energy of the circuit in the box, by ``python benchmarks/smooth.py minima``."""

States = npt.NDArray[np.complex128]


@cache
def _spins() -> npt.NDArray[np.int64]:
    """Return the spin (+1 or -1) of each site in each of the 64 basis states, shape (64, 6)."""
    return 1 - 2 * ((np.arange(2**N_SPINS)[:, None] >> np.arange(N_SPINS)) & 1)


@cache
def _bonds() -> Vector:
    """Return Σ z_i z_{i+1} of each basis state, shape (64,)."""
    z = _spins()
    return np.asarray(np.sum(z[:, :-1] * z[:, 1:], axis=1), dtype=float)


def _to_x_basis(states: States) -> States:
    """Return the amplitudes in the X basis: a Hadamard transform of each row."""
    n = len(states)
    for site in range(N_SPINS):
        parts = states.reshape(n, -1, 2, 2**site)
        up, down = parts[:, :, 0], parts[:, :, 1]
        states = np.stack([up + down, up - down], axis=2).reshape(n, -1) / np.sqrt(2)
    return states


def _prepare(points: Matrix) -> tuple[Matrix, Matrix]:
    """Return the probabilities of the 64 outcomes in the Z basis and in the X basis, each (n, 64)."""
    total = _spins().sum(axis=1)
    states = np.full((len(points), 2**N_SPINS), 2 ** (-N_SPINS / 2), dtype=complex)
    in_x = states
    for layer in range(N_LAYERS):
        states = states * np.exp(-1j * points[:, 2 * layer, None] * _bonds())
        in_x = _to_x_basis(states) * np.exp(-1j * points[:, 2 * layer + 1, None] * total)
        states = _to_x_basis(in_x)
    return np.abs(states) ** 2, np.abs(in_x) ** 2


def energy(points: Matrix) -> Vector:
    """Return the exact energies of the circuit, shape (n,)."""
    in_z, in_x = _prepare(points)
    return np.asarray(-in_z @ _bonds() - in_x @ _spins().sum(axis=1))


def measured_energy(points: Matrix, rng: np.random.Generator) -> Vector:
    """Return the energies seen in 100 + 100 shots."""
    in_z, in_x = (p / p.sum(axis=1, keepdims=True) for p in _prepare(points))
    seen_z, seen_x = rng.multinomial(N_SHOTS, in_z), rng.multinomial(N_SHOTS, in_x)
    return np.asarray(-(seen_z @ _bonds() + seen_x @ _spins().sum(axis=1)) / N_SHOTS)


def find_least(starts: int = 300) -> float:
    """Return the least energy that local searches from random starts find."""
    box = cube(2 * N_LAYERS, 0.0, np.pi / 2)
    chosen = np.random.default_rng(0).uniform(*box, (starts, 2 * N_LAYERS))
    return lowest_found(lambda x: float(energy(x[None, :])[0]), chosen, box, tol=1e-12)[0]


def build(seed: int) -> Problem:
    """Return the problem; it is the same for every seed."""
    box = cube(2 * N_LAYERS, 0.0, np.pi / 2)
    return Problem("vqe_tfim6_d8", *box, measured_energy, lambda x: float(energy(x[None, :])[0]) - LEAST)
