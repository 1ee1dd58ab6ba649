"""Designs in closed form, best or nearly so for a given instance when nothing was measured before; O(d³) for any d.

On the ball the equator design: pairs across the axis through the minimiser, and one line along it. On the box mirrored
signs: pairs about the minimiser with correlated signs. Both are spread over many points: each pair is a random
combination with the right mean and covariance, so that nearly all of the curvature is seen too. Derivations are in
docs/instance-limit.md.
"""

import numpy as np
from scipy import linalg

from paraboloid.core import Matrix, Shape, Vector
from paraboloid.theory.instance_limit_box import mirrored_value
from paraboloid.theory.instance_limit_equator import line_design
from paraboloid.theory.instance_limit_tilt import axis_complement, ball_slopes, equator_tilt

__all__ = ["closed_form_design"]


def closed_form_design(
    shape: Shape, inverse: Matrix, z: Vector, n: int, rng: np.random.Generator
) -> tuple[Matrix, Vector]:
    """Return about n points (k, d) and weights (k,) of the closed-form design for A⁻¹ = ``inverse`` and x₀ = z.

    >>> import numpy as np
    >>> points, weights = closed_form_design(Shape.BOX, np.eye(1), np.zeros(1), 8, np.random.default_rng(0))
    >>> np.abs(points).ravel(), round(float(weights @ points[:, 0]), 9)
    (array([1., 1., 1., 1., 1., 1., 1., 1.]), 0.0)
    """
    if shape is Shape.BOX:
        return _mirrored_signs(inverse, z, n, rng)
    return _spread_equator(inverse, z, n, rng)


def _spread_equator(C: Matrix, z: Vector, n: int, rng: np.random.Generator) -> tuple[Matrix, Vector]:
    """Return pairs z ± t Σ ε_i √π_i v_i across the axis of z with random signs ε, and the line along it."""
    rho = min(float(np.linalg.norm(z)), 1 - 1e-9)
    if rho < 1e-9:
        return _spread_pairs(C, np.eye(z.size), np.zeros((1, z.size)), np.ones(1), 1.0, n, rng)
    u = z / np.linalg.norm(z)
    N, m = axis_complement(u), equator_tilt(C, u, rho)
    line, coefficients = line_design(rho, u, N @ m)
    line_shares = np.sqrt(float(u @ C @ u)) * np.abs(coefficients)
    if m.size == 0:
        return line, line_shares / line_shares.sum()
    tilted = N.T - np.outer(m, u)
    across: Matrix = tilted @ C @ tilted.T
    half = np.sqrt(0.5)
    if rho <= half:
        centres, masses, reach = rho * u[None, :], np.ones(1), np.sqrt(1 - rho**2)
    else:  # the slope at ρu is an affine combination of those at ±u/√2
        centres, masses, reach = np.outer([half, -half], u), np.array([rho + half, rho - half]) / (2 * rho), half
    pairs, weights = _spread_pairs(across, N, centres, masses, float(reach), n, rng)
    root_trace = float(np.sum(np.sqrt(np.maximum(np.linalg.eigvalsh(across), 0.0))))
    shares = np.concatenate([ball_slopes(rho)[0] * root_trace * weights, line_shares])
    return np.vstack([pairs, line]), shares / shares.sum()


def _spread_pairs(
    C: Matrix, basis: Matrix, centres: Matrix, masses: Vector, reach: float, n: int, rng: np.random.Generator
) -> tuple[Matrix, Vector]:
    """Return pairs about each centre in the space of the basis (d, k), their covariance ∝ C^½ there."""
    eigenvalues, V = np.linalg.eigh(C)
    shares = np.sqrt(np.maximum(eigenvalues, 0.0))
    signs = _balanced_signs(n // (2 * len(centres)), len(C), rng)
    steps = reach * (signs * np.sqrt(shares / shares.sum())) @ (basis @ V).T
    points = np.vstack([centre + sign * steps for centre in centres for sign in (1.0, -1.0)])
    return points, np.repeat(masses / masses.sum(), 2 * len(signs)) / (2 * len(signs))


def _balanced_signs(n: int, d: int, rng: np.random.Generator) -> Matrix:
    """Return about n rows of d signs, random but for columns that are exactly orthogonal: Hadamard's, flipped."""
    block = linalg.hadamard(2 ** max(0, d - 1).bit_length())[:, :d].astype(np.float64)
    flips = np.where(rng.random((max(1, round(n / len(block))), 1, d)) < 0.5, -1.0, 1.0)
    signs: Matrix = (block * flips).reshape(-1, d)
    return signs


def _mirrored_signs(C: Matrix, z: Vector, n: int, rng: np.random.Generator) -> tuple[Matrix, Vector]:
    """Return pairs about ±τz, each reaching the nearer edge in every coordinate, with correlated signs."""
    far = np.minimum(np.abs(z), 1.0)
    tau, _, S = mirrored_value(C, far)
    centres = tau * np.vstack([z, -z])
    masses = np.array([1 + tau, 1 - tau]) / 2
    half = max(z.size, n // 4 if tau < 1 else n // 2)
    latent = np.sin(np.pi / 2 * S)
    eigenvalues, Q = np.linalg.eigh(latent)
    g = rng.standard_normal((half, z.size)) @ (Q * np.sqrt(np.maximum(eigenvalues, 0.0))).T
    steps = np.where(g < 0, -1.0, 1.0) * (1 - tau * far)
    kept = [k for k in range(2) if masses[k] > 1e-12]
    points = np.vstack([centres[k] + sign * steps for k in kept for sign in (1.0, -1.0)])
    return points, np.repeat(masses[kept], 2 * half) / (2 * half)
