"""Whether the regret bounds hold where the response is not quadratic, and what that costs where it is.

``off``: eleven families of responses that are not quadratic, with noise between a hundredth of their spread and all of
it. A bound is a claim only where it is finite: how many were, how many of them held. ``on``: exact quadratics of four
noises: how many bounds held, how large they are, and how many runs said by mistake that the response is none.
``few``: with one and two knobs, the mean regret on quadratics against a search that looks for nothing else (paired).
Intervals are exact binomial ones at 95 %.

    python benchmarks/smooth_bounds.py off --seeds 20
    python benchmarks/smooth_bounds.py on --seeds 40 --workers 2
"""

import os

for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")  # one core per run; set before numpy is loaded, inherited by the workers

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial

import numpy as np
from contest.problem import Problem, Truth, cube, with_gaussian_noise
from contest.problems import bowls, named_problem
from contest.truth import lowest_found

from paraboloid import Ball, Box, algorithms, run
from paraboloid.core import Domain, Measurements, Vector
from paraboloid.numerics import n_terms

BUDGETS = ("3p", "10p", "1000")
QUIETEST = 2.0  # decades of the noise below the spread of the response


def _noisy(name: str, d: int, truth: Truth, least: float, rng: np.random.Generator) -> Problem:
    """Return the problem with normal noise of 0.01 to 1 times the spread of the response over the box."""
    spread = float(np.std(truth(rng.uniform(-1, 1, (4000, d)))))
    sigma = spread * 10 ** -rng.uniform(0, QUIETEST)
    return with_gaussian_noise(name, cube(d, -1.0, 1.0), truth, least=least, sigma=sigma)


def build_separable(
    name: str, one: Callable[[Vector], Vector], rates: tuple[float, float], d: int, seed: int
) -> Problem:
    """Return Σ one(r_i (x_i - c_i)), a function that is least, and zero, at zero; rates at random between two."""
    rng = np.random.default_rng([seed, d, 11])
    centre, rate = rng.uniform(-0.6, 0.6, d), rng.uniform(*rates, d)
    return _noisy(f"{name}_d{d}", d, lambda x: np.asarray(np.sum(one(rate * (x - centre)), axis=1)), 0.0, rng)


def build_bell(d: int, seed: int) -> Problem:
    """Return 1 - exp(-|x - c|²/2w²), a hill upside down, w from 0.5 to 1.2 times √d."""
    rng = np.random.default_rng([seed, d, 12])
    centre, width2 = rng.uniform(-0.6, 0.6, d), d * rng.uniform(0.5, 1.2) ** 2
    return _noisy(f"bell_d{d}", d, lambda x: -np.expm1(-np.sum((x - centre) ** 2, axis=1) / (2 * width2)), 0.0, rng)


def build_needle(seed: int) -> Problem:
    """Return log₁₀(x/0.02)² on 0.001 to 1, a knob that should have been logarithmic, here in unit coordinates."""
    rng = np.random.default_rng([seed, 13])
    return _noisy("needle_d1", 1, lambda x: np.log10((0.5005 + 0.4995 * x[:, 0]) / 0.02) ** 2, 0.0, rng)


def build_wavy(d: int, seed: int) -> Problem:
    """Return a draw of a Gaussian process with a range of 0.5, 1 or 2, and a bowl so that most minima are inside."""
    rng = np.random.default_rng([seed, d, 14])
    length = (0.5, 1.0, 2.0)[seed % 3]
    waves, phases = rng.standard_normal((200, d)) / length, rng.uniform(0, 2 * np.pi, 200)
    sizes, bowl = rng.standard_normal(200) / 10, rng.uniform(0, 2)

    def truth(x: np.ndarray[tuple[int, int], np.dtype[np.float64]]) -> Vector:
        return np.asarray(np.cos(x @ waves.T + phases) @ sizes + bowl * np.sum(x**2, axis=1) / d)

    tried = rng.uniform(-1, 1, (2000, d))
    starts = tried[np.argsort(truth(tried))[:12]]
    least, _ = lowest_found(lambda x: float(truth(x[None, :])[0]), starts, cube(d, -1.0, 1.0), tol=1e-12)
    return _noisy(f"wavy_d{d}", d, truth, least, rng)


def _each(
    name: str, build: Callable[[int, int], Problem], dimensions: Iterable[int]
) -> dict[str, Callable[[int], Problem]]:
    return {f"{name}_d{d}": partial(build, d) for d in dimensions}


FAMILIES: dict[str, Callable[[int], Problem]] = {
    **_each("exp", partial(build_separable, "exp", lambda u: np.expm1(u) - u, (-3.0, 3.0)), (1, 2, 3, 5)),
    **_each("cosh", partial(build_separable, "cosh", lambda u: np.cosh(u) - 1, (1.5, 3.0)), (1, 2, 5)),
    **_each("quartic", partial(build_separable, "quartic", lambda u: u**2 / 4 + u**4, (0.5, 2.0)), (1, 2, 5)),
    **_each("periodic", partial(build_separable, "periodic", lambda u: 1 - np.cos(u), (1.0, 4.0)), (1, 2, 3)),
    **_each("bell", build_bell, (1, 2, 4)),
    **_each("wavy", build_wavy, (1, 2, 3, 5)),
    **_each("logistic", bowls.build_logistic, (2, 5)),
    "needle_d1": build_needle,
    **{name: partial(named_problem, name) for name in ("simopt_cntnews1", "dose_d3", "simopt_san1")},
}
NOISES = ("gauss", "t3", "skew", "unequal")


@dataclass(frozen=True, slots=True)
class Found:
    """What one search said and what was true."""

    regret: float
    bound: float
    is_quadratic: bool


def budget_of(words: str, d: int) -> int:
    """Return a number, or so many times p."""
    return int(words[:-1]) * n_terms(d) if words.endswith("p") else int(words)


def domain_of(problem: Problem) -> Domain:
    """Return the region of a problem."""
    return Ball(np.zeros(problem.d)) if problem.is_ball else Box(problem.bounds)


def search(problem: Problem, T: int, seed: int, *, smooth: bool = True) -> Found:
    """Return what the search finds with T measurements."""
    rng = np.random.default_rng([seed, T])
    session = run.Session(algorithms.adaptive(domain_of(problem), budget=T, seed=seed, smooth=smooth))
    while not session.is_done:
        asked = session.ask()
        values = [
            problem.measure(np.repeat(x[None], int(n), 0), rng)
            for x, n in zip(asked.points, asked.repeats, strict=True)
        ]
        session.tell(Measurements.from_values(values))
    result = session.result
    assert result is not None and result.certificate is not None
    certificate = result.certificate
    return Found(problem.regret(result.x), certificate.regret_bound, certificate.is_quadratic)
