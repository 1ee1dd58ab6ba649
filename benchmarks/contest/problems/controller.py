"""Tuning a controller on noisy trials: an inverted pendulum held upright by a PID loop with a saturating motor.

The knobs are log10 of the three gains (proportional, derivative, integral). One measurement is the cost of one trial of
four seconds from a random push, with wind and a noisy angle sensor: mean of 100 θ² + 0.02 u². A pendulum that falls
beyond a right angle lies there for the rest of the trial, so bad gains meet a plateau and unequal noise. The truth is
the mean over 4,000 fixed trials.
"""

from functools import cache

import numpy as np

from contest.problem import Problem
from contest.truth import lowest_found
from paraboloid.core import Matrix, Vector

LOWS, HIGHS = np.array([0.8, -0.5, -1.0]), np.array([2.5, 1.8, 2.0])
N_STEPS, STEP, GRAVITY, STRONGEST = 200, 0.02, 10.0, 12.0
PUSH, WIND, SENSOR = 0.15, 6.0, 0.02
N_TRUTH = 4000
LEAST = 0.6241482818465163
"""Least mean over the fixed trials, by ``python benchmarks/smooth.py minima``."""


def simulate(points: Matrix, draws: Matrix) -> Vector:
    """Return the cost of one trial for each row of log gains; draws has shape (n, 1 + 2 N_STEPS)."""
    proportional, derivative, integral = 10.0**points.T
    angle, speed = PUSH * draws[:, 0], np.zeros(len(points))
    total, cost, before = np.zeros(len(points)), np.zeros(len(points)), angle
    wind, sensor = WIND * np.sqrt(STEP) * draws[:, 1 : N_STEPS + 1], SENSOR * draws[:, N_STEPS + 1 :]
    slope = np.zeros(len(points))
    for step in range(N_STEPS):
        seen = angle + sensor[:, step]
        total = np.clip(total + STEP * seen, -0.5, 0.5)
        slope += 0.3 * ((seen - before) / STEP - slope)  # a derivative of a noisy angle is smoothed
        before = seen
        force = np.clip(-(proportional * seen + derivative * slope + integral * total), -STRONGEST, STRONGEST)
        speed += STEP * (GRAVITY * np.sin(angle) + force) + np.sqrt(STEP) * wind[:, step]
        angle = np.clip(angle + STEP * speed, -np.pi / 2, np.pi / 2)
        speed = np.where(np.abs(angle) >= np.pi / 2, 0.0, speed)
        cost += 100 * angle**2 + 0.02 * force**2
    return np.asarray(cost / N_STEPS)


def measure(points: Matrix, rng: np.random.Generator) -> Vector:
    """Return one trial's cost for each point."""
    return simulate(points, rng.standard_normal((len(points), 1 + 2 * N_STEPS)))


@cache
def _common() -> Matrix:
    return np.random.default_rng(20_230_104).standard_normal((N_TRUTH, 1 + 2 * N_STEPS))


def truth(x: Vector) -> float:
    """Return the mean cost over the fixed trials."""
    return float(simulate(np.tile(x, (N_TRUTH, 1)), _common()).mean())


def find_least() -> float:
    """Return the least mean over the fixed trials: the best of a grid, then local searches."""
    axes = [np.linspace(low, high, 6) for low, high in zip(LOWS, HIGHS, strict=True)]
    grid = np.stack(np.meshgrid(*axes), axis=-1).reshape(-1, 3)
    best = grid[np.argsort([truth(x) for x in grid])[:4]]
    return lowest_found(truth, best, (LOWS, HIGHS), method="Nelder-Mead", options={"xatol": 1e-4, "fatol": 1e-8})[0]


def build(seed: int) -> Problem:
    """Return the problem; it is the same for every seed."""
    return Problem("pendulum_d3", LOWS, HIGHS, measure, lambda x: truth(x) - LEAST)
