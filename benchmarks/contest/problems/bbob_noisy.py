"""COCO's bbob-noisy f101-f103, f107-f109 (sphere) and f116-f118 (ellipsoid), with noise from a seeded generator.

Written from the published definitions (Hansen, Finck, Ros, Auger, "Real-parameter black-box optimization benchmarking
2009: noisy functions definitions", INRIA RR-6869), since the noise of `cocoex` cannot be seeded from Python and a run
could not be repeated. `python benchmarks/smooth.py verify` compares with `cocoex`: truth and law of the noise. The seed
chooses one of 15 instances. Scored is the noise-free value, as COCO does.
"""

from functools import cache

import numpy as np

from contest.problem import Problem, cube
from paraboloid.core import Matrix, Vector

FUNCTIONS = (101, 102, 103, 107, 108, 109, 116, 117, 118)
N_INSTANCES = 15


def _park_miller(state: int) -> int:
    state = 16807 * (state % 127773) - 2836 * (state // 127773)
    return state + 2147483647 if state < 0 else state


@cache
def _uniform(n: int, seed: int) -> tuple[float, ...]:
    """Return BBOB's own uniform numbers: Park and Miller's generator with a shuffle of 32 places."""
    state, shelf = max(1, abs(seed)), [0] * 32
    for i in reversed(range(40)):
        state = _park_miller(state)
        if i < 32:
            shelf[i] = state
    drawn, numbers = shelf[0], []
    for _ in range(n):
        state = _park_miller(state)
        place = drawn // 67108865
        drawn, shelf[place] = shelf[place], state
        numbers.append(max(drawn / 2.147483647e9, 1e-99))
    return tuple(numbers)


def _normal(n: int, seed: int) -> Vector:
    u = np.array(_uniform(2 * n, seed))
    return np.asarray(np.sqrt(-2 * np.log(u[:n])) * np.cos(2 * np.pi * u[n:]))


def _optimum(d: int, seed: int) -> Vector:
    x = 8 * np.floor(1e4 * np.array(_uniform(d, seed))) / 1e4 - 4
    return np.where(x == 0, -1e-5, x)


def _offset(seed: int) -> float:
    ratio = 100 * _normal(1, seed)[0] / _normal(1, seed + 1)[0]
    return float(np.clip(np.round(100 * ratio) / 100, -1000, 1000))


def _rotation(d: int, seed: int) -> Matrix:
    """Return BBOB's rotation: Gram and Schmidt on the columns of a normal matrix."""
    Q, R = np.linalg.qr(_normal(d * d, seed).reshape(d, d).T)
    return np.asarray(Q * np.sign(np.diag(R)))


def _oscillate(z: Matrix) -> Matrix:
    """Return T_osz(z), the smooth irregularity of BBOB."""
    with np.errstate(divide="ignore"):
        logs = np.where(z == 0, 0.0, np.log(np.abs(z)))
    fast, slow = np.where(z > 0, 10.0, 5.5), np.where(z > 0, 7.9, 3.1)
    return np.asarray(np.sign(z) * np.exp(logs + 0.049 * (np.sin(fast * logs) + np.sin(slow * logs))))


def _ellipsoid(away: Matrix, rotation: Matrix, *, condition: float) -> Vector:
    d = away.shape[1]
    weights = condition ** (np.arange(d) / (d - 1))
    return np.asarray(_oscillate(away @ rotation.T) ** 2 @ weights)


def noise_free(function: int, d: int, instance: int, points: Matrix) -> Vector:
    """Return f(x) - f_opt of the sphere or ellipsoid under the noise, inside [-5, 5]^d."""
    family = 10 if function >= 116 else 1
    seed = family + 10_000 * instance
    away = points - _optimum(d, seed)
    if family == 1:
        return np.asarray(np.sum(away**2, axis=1))
    return _ellipsoid(away, _rotation(d, seed + 1_000_000), condition=1e4)


def add_noise(function: int, d: int, values: Vector, rng: np.random.Generator) -> Vector:
    """Return noisy values: Gaussian (101, 107, 116), uniform (102, 108, 117) or Cauchy (103, 109, 118) model."""
    n, is_severe = len(values), function >= 107
    model = {101: 0, 107: 0, 116: 0, 102: 1, 108: 1, 117: 1}.get(function, 2)
    if model == 0:
        noisy = values * np.exp((1.0 if is_severe else 0.01) * rng.standard_normal(n))
    elif model == 1:
        size = 1.0 if is_severe else 0.01
        lift = (1e9 / (values + 1e-99)) ** (size * (0.49 + 1 / d) * rng.random(n))
        noisy = rng.random(n) ** size * values * np.maximum(1.0, lift)
    else:
        size, share = (1.0, 0.2) if is_severe else (0.01, 0.05)
        jump = (rng.random(n) < share) * rng.standard_normal(n) / (np.abs(rng.standard_normal(n)) + 1e-199)
        noisy = values + size * np.maximum(0.0, 1000.0 + jump)
    return np.where(values < 1e-8, values, noisy + 1.01e-8)


def build(function: int, d: int, seed: int) -> Problem:
    """Return instance 1 + seed mod 15 of a function."""
    instance = 1 + seed % N_INSTANCES
    offset = _offset((10 if function >= 116 else 1) + 10_000 * instance)

    def measure(points: Matrix, rng: np.random.Generator) -> Vector:
        return offset + add_noise(function, d, noise_free(function, d, instance, points), rng)

    def regret(x: Vector) -> float:
        return float(noise_free(function, d, instance, x[None, :])[0])

    return Problem(f"bbobnoisy_f{function}_d{d}", *cube(d, -5.0, 5.0), measure, regret)
