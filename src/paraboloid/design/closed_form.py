"""Designs in closed form, best or nearly so for a given instance when nothing was measured before; O(d³) for any d.

On the ball the equator design: pairs across the axis through the minimiser, and one line along it. On the box mirrored
signs: pairs about the minimiser with correlated signs. Both are spread over many points: each pair is a random
combination with the right mean and covariance, so that nearly all of the curvature is seen too. Derivations are in
docs/instance-limit.md.
"""

import numpy as np
from scipy import linalg

from paraboloid.core import Matrix, Shape, Vector
from paraboloid.theory.instance_limit import (
    axis_complement,
    equator_value,
    line_geometry,
    mirrored_value,
)

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
    N = axis_complement(u)
    along = float(u @ C @ u)
    _, mu = equator_value(C, u, rho)
    m = mu * (N.T @ C @ u) / along
    line, line_weights, variance = _line(rho, u, N @ m)
    share = np.sqrt(along * variance * (1 + float(m @ m)))
    if m.size == 0:
        return line, line_weights
    tilted = N.T - np.outer(m, u)
    across = tilted @ C @ tilted.T
    root_trace = float(np.sum(np.sqrt(np.maximum(np.linalg.eigvalsh(across), 0.0))))
    if rho <= np.sqrt(0.5):
        centres, masses, reach = rho * u[None, :], np.ones(1), np.sqrt(1 - rho**2)
        slope = 1 / reach
    else:  # pairs about ±u/√2; the slope at ρ is an affine combination of theirs
        h = np.sqrt(0.5)
        centres, masses, reach, slope = np.outer([h, -h], u), np.array([rho + h, rho - h]) / (2 * rho), h, 2 * rho
    pairs, weights = _spread_pairs(across, N, centres, masses, float(reach), n, rng)
    pair_share = slope * root_trace
    total = share + pair_share
    return np.vstack([pairs, line]), np.concatenate([weights * pair_share / total, line_weights * share / total])


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


def _line(rho: float, u: Vector, tilt: Vector) -> tuple[Matrix, Vector, float]:
    """Return points and weights of the best design for the slope at ρu along u + tilt, and its variance."""
    size = float(np.sqrt(1 + tilt @ tilt))
    direction = (u + tilt) / size
    a, h = line_geometry(rho, tilt)
    middle = rho * u - a * direction
    if a <= h / 2:
        at, weights, variance = np.array([h, 2 * a - h]), np.array([0.5, 0.5]), (h - a) ** -2
    else:
        at, variance = np.array([h, 0.0, -h]), 16 * a**2 / h**4
        weights = np.array([a / h**2 + 1 / (2 * h), 2 * a / h**2, a / h**2 - 1 / (2 * h)])
    return middle + np.outer(at, direction), weights / weights.sum(), float(variance)


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
