"""Classical response surfaces: one-shot second-order designs with least squares, and a sequential search.

The sequential one is the textbook's (Box and Wilson 1951; Myers, Montgomery and Anderson-Cook, *Response Surface
Methodology*, chapters 5 and 6): a first-order design about the centre, steepest descent while the slope is significant
and the curvature is not, then a second-order design about the place that was reached, and the minimum of its fit.
"""

import itertools
import math
from functools import partial

import numpy as np
from scipy import optimize, stats

from contest.solvers.adapter import Answer, Meter, Solver
from contest.truth import lowest_found
from paraboloid.core import Matrix, Vector
from paraboloid.numerics import features, minimise_on_ball, vector_to_matrix
from paraboloid.numerics.saddle import lowest_in_box

CENTRE_SHARE = 0.1
"""Share of centre points in a design on the sphere, without which offset and curvature cannot be told apart."""
MOST_CORNERS = 64


def lowest_on_box(hessian: Matrix, slope: Vector) -> Vector:
    """Return the minimum of ½zᵀHz + slope·z on the cube: exact where H is positive definite, else of many searches.

    Coordinate descent alone (`lowest_in_box`) stops far from the minimum where the condition is 1000 or more.
    """
    values, axes = np.linalg.eigh(hessian)
    if values[0] > 1e-10 * max(values[-1], 0.0):
        root = np.sqrt(values)
        return np.asarray(optimize.lsq_linear((axes * root).T, -(axes / root).T @ slope, (-1.0, 1.0), method="bvls").x)
    _, found = lowest_found(
        lambda z: (float(z @ hessian @ z / 2 + slope @ z), hessian @ z + slope),
        lowest_in_box(hessian, slope)[None, :],
        (-np.ones(slope.size), np.ones(slope.size)),
        jac=True,
        options={"ftol": 1e-15, "gtol": 1e-10, "maxiter": 1000},
    )
    return found


def lowest_of_fit(meter: Meter, points: Matrix, values: Vector) -> Vector:
    """Return the minimum in the region of a quadratic fitted by least squares."""
    theta: Vector = np.linalg.lstsq(features(points), values, rcond=None)[0].astype(np.float64)
    hessian, slope = vector_to_matrix(theta[meter.d + 1 :], meter.d), theta[1 : meter.d + 1]
    return minimise_on_ball(hessian, slope) if meter.is_ball else lowest_on_box(hessian, slope)


def _one_shot(meter: Meter, points: Matrix) -> Answer:
    """Measure the design over and over until the budget is spent, then fit."""
    points = meter.in_region(points[np.resize(np.arange(len(points)), meter.budget)])
    return Answer(lowest_of_fit(meter, points, meter.measure(points)))


def corners_of(d: int, rng: np.random.Generator, most: int = MOST_CORNERS) -> Matrix:
    """Return all corners of the cube, or mirrored random ones where there are more than ``most``."""
    if 2**d <= most:
        return np.array(list(itertools.product([-1.0, 1.0], repeat=d)))
    half = np.where(rng.random((most // 2, d)) < 0.5, -1.0, 1.0)
    return np.vstack([half, -half])


def composite_points(d: int, rng: np.random.Generator, *, is_ball: bool, n_centre: int = 1) -> Matrix:
    """Return a central composite design: face-centred in a cube, rotatable (all on the sphere) in a ball."""
    n_corners = max(MOST_CORNERS, d * (d + 1))  # enough of them to tell all mixed terms apart
    corners = corners_of(d, rng, n_corners) / (math.sqrt(d) if is_ball else 1.0)
    return np.vstack([corners, np.eye(d), -np.eye(d), np.zeros((n_centre, d))])


def central_composite(meter: Meter, seed: int) -> Answer:
    """Return the minimum of the fit to a central composite design over the whole region."""
    rng = np.random.default_rng([seed, 2])
    points = composite_points(meter.d, rng, is_ball=meter.is_ball)
    if len(points) > meter.budget:  # then a random part of it; the fit is the least one that explains the data
        points = points[rng.permutation(len(points))[: meter.budget]]
    return _one_shot(meter, points)


def box_behnken(meter: Meter, seed: int) -> Answer:
    """Return the minimum of the fit to a Box-Behnken design (all pairs of knobs at ±1, the others at 0; d ≥ 3)."""
    d, rng = meter.d, np.random.default_rng([seed, 3])
    rows = [np.zeros(d)]
    for pair in itertools.combinations(range(d), 2):
        for signs in itertools.product([-1.0, 1.0], repeat=2):
            row = np.zeros(d)
            row[list(pair)] = signs
            rows.append(row / (math.sqrt(2) if meter.is_ball else 1.0))
    points = np.array(rows)
    if len(points) > meter.budget:
        points = points[rng.permutation(len(points))[: meter.budget]]
    return _one_shot(meter, points)


def random_inside(meter: Meter, seed: int) -> Answer:
    """Return the minimum of the fit to uniform random points of the region."""
    rng = np.random.default_rng([seed, 1])
    points = rng.uniform(-1, 1, (meter.budget, meter.d))
    if meter.is_ball:
        points = rng.standard_normal((meter.budget, meter.d))
        points *= rng.random((meter.budget, 1)) ** (1 / meter.d) / np.linalg.norm(points, axis=1, keepdims=True)
    return _one_shot(meter, points)


def random_on_sphere(meter: Meter, seed: int) -> Answer:
    """Return the minimum of the fit to random points of the unit sphere and a tenth of centre points."""
    rng = np.random.default_rng([seed, 4])
    points = rng.standard_normal((meter.budget, meter.d))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    points[: max(1, round(CENTRE_SHARE * meter.budget))] = 0.0
    return _one_shot(meter, points)


def sequential(width: float, meter: Meter, seed: int) -> Answer:
    """Return the answer of the sequential search with first-order designs of half-width ``width``."""
    rng, d = np.random.default_rng([seed, 5]), meter.d
    centre, spend = np.zeros(d), meter.budget // 2  # at least half of it is for the second-order design
    seen: list[tuple[Matrix, Vector]] = []
    while meter.taken + 4 * (d + 2) <= spend:
        n = min(max(2 * (d + 2), spend // 6), spend - meter.taken)
        points, values = _first_order(meter, centre, width, n, rng)
        seen.append((points, values))
        direction = _descent(points - centre, values, width)
        if direction is None:
            break
        centre, path = _along(meter, centre, direction, width, most=max(2, min(spend - meter.taken, spend // 6)))
        seen.append(path)
    points, values = _second_order(meter, centre, width, rng)
    seen.append((points, values))
    return Answer(_local_minimum(meter, centre, width, *(np.concatenate(part) for part in zip(*seen, strict=True))))


def _first_order(meter: Meter, centre: Vector, width: float, n: int, rng: np.random.Generator) -> tuple[Matrix, Vector]:
    """Measure mirrored two-level points about the centre and, for a fifth, the centre itself."""
    n_centre = max(2, n // 5)
    half = np.where(rng.random(((n - n_centre + 1) // 2, meter.d)) < 0.5, -1.0, 1.0)
    steps = np.vstack([half, -half])[: n - n_centre] * width / (math.sqrt(meter.d) if meter.is_ball else 1.0)
    points = meter.in_region(np.vstack([centre + steps, np.tile(centre, (n_centre, 1))]))
    return points, meter.measure(points)


def _descent(steps: Matrix, values: Vector, width: float) -> Vector | None:
    """Return the direction of steepest descent, or None where the slope is no longer what the data show."""
    n, d = steps.shape
    design = np.column_stack([np.ones(n), steps, np.any(steps != 0, axis=1)])  # offset, slopes, curvature
    theta, _, rank, _ = np.linalg.lstsq(design, values, rcond=None)
    freedom = n - int(rank)
    if freedom < 1 or rank < d + 2:
        return None
    noise = float(np.sum((values - design @ theta) ** 2)) / freedom
    covariance = noise * np.linalg.inv(design.T @ design)
    slope = theta[1 : d + 1]
    statistic = float(slope @ np.linalg.solve(covariance[1 : d + 1, 1 : d + 1], slope)) / d
    if stats.f.sf(statistic, d, freedom) > 0.05:
        return None
    gain = width * float(np.linalg.norm(slope))
    is_curved = theta[-1] / math.sqrt(covariance[-1, -1]) > stats.t.isf(0.05, freedom) and theta[-1] > gain
    return None if is_curved else np.asarray(-slope / np.linalg.norm(slope))


def _along(
    meter: Meter, centre: Vector, direction: Vector, width: float, *, most: int
) -> tuple[Vector, tuple[Matrix, Vector]]:
    """Measure along the path of steepest descent; return the lowest point of a parabola through it."""
    steps = np.linspace(0.5, 4.0, 8) * width * math.sqrt(meter.d) / 2
    steps = np.resize(steps, max(most, 3))[: meter.left]
    points = meter.in_region(centre + steps[:, None] * direction)
    values = meter.measure(points)
    curve = np.polynomial.polynomial.polyfit(steps, values, min(2, len(set(steps.tolist())) - 1))
    grid = np.linspace(0.0, steps.max(), 200)
    best = grid[int(np.argmin(np.polynomial.polynomial.polyval(grid, curve)))]
    return meter.in_region(centre + best * direction), (points, values)


def _second_order(meter: Meter, centre: Vector, width: float, rng: np.random.Generator) -> tuple[Matrix, Vector]:
    """Spend what is left on a central composite design about the centre."""
    base = composite_points(meter.d, rng, is_ball=meter.is_ball, n_centre=2)
    if len(base) > meter.left:
        base = base[rng.permutation(len(base))[: meter.left]]
    points = meter.in_region(centre + width * base[np.resize(np.arange(len(base)), meter.left)])
    return points, meter.measure(points)


def _local_minimum(meter: Meter, centre: Vector, width: float, points: Matrix, values: Vector) -> Vector:
    """Return the lowest point, within the last design's reach, of the fit to all points not far beyond it."""
    reach = 1.5 * width * (math.sqrt(meter.d) if not meter.is_ball else 1.0)
    near = np.linalg.norm(points - centre, axis=1) <= reach + 1e-9
    theta: Vector = np.linalg.lstsq(features(points[near] - centre), values[near], rcond=None)[0].astype(np.float64)
    hessian, slope = vector_to_matrix(theta[meter.d + 1 :], meter.d), theta[1 : meter.d + 1]
    if meter.is_ball:
        return meter.in_region(centre + minimise_on_ball(hessian, slope, radius=width))
    lows, highs = np.maximum(-1.0, centre - width), np.minimum(1.0, centre + width)
    middle, half = (lows + highs) / 2 - centre, (highs - lows) / 2
    inside = lowest_on_box(hessian * np.outer(half, half), half * (slope + hessian @ middle))
    return centre + middle + half * inside


SOLVERS: dict[str, Solver] = {
    "composite": central_composite,
    "box-behnken": box_behnken,
    "one-shot": random_inside,
    "sphere": random_on_sphere,
    "sequential": partial(sequential, 0.3),
    "sequential+": partial(sequential, 0.8),
}
