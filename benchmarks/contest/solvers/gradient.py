"""Stochastic approximation by values alone: Kiefer and Wolfowitz (1952) and SPSA (Spall 1992), in unit coordinates.

The textbook's gains (Spall, *Implementation of the simultaneous perturbation algorithm*, 1998): α = 0.602, γ = 0.101,
A = 10 % of the iterations, a such that the first step moves a tenth of the range, c a twentieth of the range (Spall
sets c by the noise, in units that a box does not have). The expert's gains were chosen on tuning seeds, see
`contest.tuning`.
"""

from dataclasses import dataclass
from functools import partial

import numpy as np

from contest.solvers.adapter import Answer, Meter, Solver
from paraboloid.core import Vector

N_PILOT = 10
"""Measurements at the start that estimate the size of the gradient, for the length of the first step."""


@dataclass(frozen=True, slots=True)
class Gains:
    """Gains a_k = a / (k + 1 + A)^alpha, c_k = c / (k + 1)^gamma; ``a`` is set by the length of the first step."""

    alpha: float
    gamma: float
    first_step: float
    c: float
    is_averaged: bool
    """Whether the answer is the mean of the last half of the iterates (Polyak and Ruppert) or the last one."""


SPSA_TEXTBOOK = Gains(alpha=0.602, gamma=0.101, first_step=0.2, c=0.1, is_averaged=False)
SPSA_TUNED = Gains(alpha=0.602, gamma=0.101, first_step=0.1, c=0.3, is_averaged=True)
KW_TEXTBOOK = Gains(alpha=1.0, gamma=0.25, first_step=0.2, c=0.1, is_averaged=False)
KW_TUNED = Gains(alpha=1.0, gamma=0.101, first_step=0.4, c=0.3, is_averaged=True)


def spsa_gradient(meter: Meter, x: Vector, c: float, rng: np.random.Generator) -> Vector:
    """Return a gradient from two measurements along a random sign vector."""
    signs = np.where(rng.random(meter.d) < 0.5, -1.0, 1.0)
    ends = meter.in_region(np.stack([x + c * signs, x - c * signs]))
    high, low = meter.measure(ends)
    apart = ends[0] - ends[1]
    return np.where(np.abs(apart) > 1e-12, (high - low) / np.where(apart == 0, 1.0, apart), 0.0)


def kw_gradient(meter: Meter, x: Vector, c: float, rng: np.random.Generator) -> Vector:
    """Return a gradient from 2d measurements along the axes."""
    ends = meter.in_region(np.vstack([x + c * np.eye(meter.d), x - c * np.eye(meter.d)]))
    values = meter.measure(ends)
    apart = np.diag(ends[: meter.d] - ends[meter.d :])
    return np.where(np.abs(apart) > 1e-12, (values[: meter.d] - values[meter.d :]) / np.where(apart == 0, 1, apart), 0)


def descend(is_spsa: bool, gains: Gains, meter: Meter, seed: int) -> Answer:
    """Return the answer of stochastic approximation from the centre."""
    rng, x = np.random.default_rng([seed, 6]), np.zeros(meter.d)
    gradient, cost = (spsa_gradient, 2) if is_spsa else (kw_gradient, 2 * meter.d)
    n = meter.budget // cost
    first = max(1, min(N_PILOT // cost, n // 4))
    slopes = [gradient(meter, x, gains.c, rng) for _ in range(first)]
    size = float(np.mean([np.abs(slope).mean() for slope in slopes]))
    steps = n - first
    A = 0.1 * steps
    a = gains.first_step * (1 + A) ** gains.alpha / size if size > 0 else 0.0
    path = [x]
    for k in range(steps):
        slope = gradient(meter, x, gains.c / (k + 1) ** gains.gamma, rng)
        step = a / (k + 1 + A) ** gains.alpha * slope
        x = meter.in_region(x - np.clip(step, -0.5, 0.5))  # a step over a quarter of the range is noise or a steep wall
        path.append(x)
    return Answer(np.mean(path[len(path) // 2 :], axis=0) if gains.is_averaged else x)


SOLVERS: dict[str, Solver] = {
    "spsa": partial(descend, True, SPSA_TEXTBOOK),
    "spsa+": partial(descend, True, SPSA_TUNED),
    "kiefer-wolfowitz": partial(descend, False, KW_TEXTBOOK),
    "kiefer-wolfowitz+": partial(descend, False, KW_TUNED),
}
