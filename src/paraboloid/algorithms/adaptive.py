"""The adaptive search: optimal design for the regret, round by round. Ours, beyond the paper; see docs/adaptive.md.

Knows nothing of the Hessian, the offset or the noise, and aims at a mean regret of σ²V*/T, V* the instance limit of
`theory.instance_limit_bounds`; benchmarks/regret.py measures how near it comes.

What to measure next is a pure function of the evidence so far: `propose`; so is the answer: `conclude`. The procedure
is a loop over the two.

==================  ======================  ===========================================================
symbol              code                    meaning
==================  ======================  ===========================================================
T                   ``budget``              measurements that may be taken, failed ones included
ε                   ``eps``                 stop when the regret bound is below it
n_k                 ``round_size``          measurements up to the end of round k, see `algorithms.rounds`
==================  ======================  ===========================================================
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import SupportsIndex

import numpy as np

from paraboloid.algorithms.rounds import ROUNDS, default_rounds, even_round, round_size, round_size_for_accuracy
from paraboloid.core import (
    Ball,
    Certificate,
    Counts,
    Domain,
    Estimate,
    Evidence,
    Experiment,
    Knob,
    Matrix,
    Procedure,
    Result,
    Shape,
    Status,
    UsageError,
    as_domain,
    check_budget,
    check_positive,
    measure,
)
from paraboloid.design import (
    Quality,
    assess,
    away_from_failures,
    merge,
    next_batch,
    next_smooth_batch,
    pilot,
    with_checks,
    without_bound,
)
from paraboloid.numerics import (
    LackOfFit,
    Limited,
    QuadraticFit,
    SmoothFit,
    fit_quadratic,
    fit_saddle,
    fit_smooth,
    lack_of_fit,
    limit_tails,
    n_terms,
    weigh_by_variance,
)
from paraboloid.theory import instance_limit_bounds

__all__ = ["adaptive", "conclude", "propose"]

LARGEST_BUDGET = 10**9  # of a search that is asked for an accuracy only
VOUCHING = 8  # contrasts that must speak for a quadratic before a search ends on the word of its bound
PATIENCE = 50  # times p measurements without any bound, after which such a search gives up


@dataclass(frozen=True, slots=True, eq=False)
class Constants:
    """What the adaptive search is told."""

    domain: Domain
    budget: int
    eps: float | None
    confidence: float
    rounds: int
    planned: int
    batch: int | None
    seed: int
    evidence: Evidence
    smooth: bool


def adaptive(
    domain: Domain | Sequence[Knob | Sequence[float]],
    *,
    budget: SupportsIndex | None = None,
    eps: float | None = None,
    confidence: float = 0.95,
    rounds: SupportsIndex | None = None,
    batch: SupportsIndex | None = None,
    seed: SupportsIndex = 0,
    evidence: Evidence | None = None,
    smooth: bool = True,
) -> Procedure:
    """Return the adaptive search: pilot, rounds that grow geometrically, an answer from all data.

    Parameters
    ----------
    domain
        A `Box`, a `Ball`, or (low, high) pairs.
    budget
        Number of measurements, failed ones included; needed unless ``eps`` is given.
    eps
        Stop as soon as the regret bound at ``confidence`` is below it.
    confidence
        Of the bound and of the intervals.
    rounds
        At most so many experiments: 8 if not given, not limited when ``batch`` or ``eps`` is given.
    batch
        Every experiment but the last has just so many measurements: workers, wells, places on a bench.
    seed
        Of the search's own random choices, keyed by the number of measurements taken.
    evidence
        What was measured before, in unit coordinates; points outside the domain are used too.
    smooth
        Whether to look for a response that is not quadratic over the whole range, and to follow it; False where it is
        known to be quadratic.

    Examples
    --------
    >>> import numpy as np
    >>> from paraboloid import problems, run
    >>> from paraboloid.core import Ball
    >>> problem = problems.NoisyQuadratic(np.diag([100.0, 10.0]), [0.3, -0.2])
    >>> result = run.simulate(adaptive(Ball([0.0, 0.0]), budget=200), problem, rng=1)
    >>> result.n_measurements, result.n_rounds, bool(problem.regret(result.x) < result.certificate.regret_bound)
    (200, 8, True)
    """
    where = as_domain(domain)
    if budget is None and eps is None:
        raise UsageError("give budget= (how many measurements) or eps= (how good the answer must be), or both.")
    if not isinstance(confidence, int | float | np.floating) or not 0 < confidence < 1:
        raise UsageError(f"confidence must lie between 0 and 1, got {confidence!r}. Usual is 0.95.")
    T = LARGEST_BUDGET if budget is None else check_budget(budget, smallest=1, what_for="a search")
    size = None if batch is None else check_budget(batch, smallest=1, what_for="one batch")
    planned = (
        default_rounds(where.dimension, T)
        if rounds is None
        else check_budget(rounds, smallest=1, what_for="a number of rounds")
    )
    most = ROUNDS if rounds is None else planned
    if rounds is None and (size is not None or eps is not None):
        most = math.ceil(T / (size or 1))
    if size is not None and size * most < T and budget is not None:
        raise UsageError(
            f"{most} rounds of {size} are {size * most} measurements, fewer than the budget {T}. "
            f"Give a larger batch, more rounds, or the smaller budget."
        )
    before = Evidence.empty(where.dimension) if evidence is None else evidence
    if before.dimension != where.dimension:
        raise UsageError(f"evidence has {before.dimension} knobs, but the domain has {where.dimension}.")
    accuracy = None if eps is None else check_positive("eps", eps)
    number = check_budget(seed, smallest=0, what_for="a seed")
    return _adaptive(
        Constants(where, T, accuracy, float(confidence), most, planned, size, number, before, bool(smooth))
    )


def _adaptive(c: Constants) -> Procedure:
    evidence = c.evidence
    start = evidence.n_attempts
    for k in range(c.rounds):
        taken = evidence.n_attempts - start
        is_last = k == c.rounds - 1 and c.budget < LARGEST_BUDGET
        model = None if evidence.n_measurements == 0 else _modelled(evidence, c.domain.shape, c.smooth)
        n = c.budget - taken if is_last else _round_size(taken, c, k, model)
        points, repeats = _proposed(evidence, model, n, shape=c.domain.shape, seed=c.seed)
        experiment = Experiment(c.domain.from_unit(points), repeats, allows_failures=True)
        y = yield from measure(experiment)
        evidence = evidence.with_measurements(c.domain.to_unit(experiment.points), y)
        taken = evidence.n_attempts - start
        if c.eps is not None and taken > 2 * evidence.dimension + 1 and evidence.n_measurements:
            bound = _regret_bound(evidence, c)
            if bound <= c.eps:
                return _concluded(evidence, c, Status.ACCURACY_REACHED)
            if np.isinf(bound) and c.budget == LARGEST_BUDGET and taken > PATIENCE * n_terms(evidence.dimension):
                return _concluded(evidence, c, Status.NO_BOUND)
        if taken >= c.budget:
            break
    return _concluded(evidence, c, Status.BUDGET_SPENT)


def _concluded(evidence: Evidence, c: Constants, status: Status) -> Result:
    return conclude(evidence, c.domain, confidence=c.confidence, status=status, smooth=c.smooth)


def _round_size(taken: int, c: Constants, k: int, model: "Model | None") -> int:
    """Return how many measurements round k takes."""
    left, d = c.budget - taken, c.domain.dimension
    if c.batch is not None:
        return min(c.batch, left)
    if c.eps is None:
        if taken and model is not None and model.smooth is not None:
            return even_round(taken, budget=c.budget, rounds=c.rounds - k)
        return round_size(taken, d=d, budget=c.budget, rounds=c.planned)
    bound = np.inf if model is None or taken <= 2 * d else _bound_of(model, c)
    return min(left, round_size_for_accuracy(taken, d=d, eps=c.eps, bound=bound))


def _regret_bound(evidence: Evidence, c: Constants) -> float:
    return _bound_of(_modelled(evidence, c.domain.shape, c.smooth), c)


def _bound_of(model: "Model", c: Constants) -> float:
    if model.smooth is not None or (model.lack is not None and model.lack.n_contrasts < VOUCHING):
        return np.inf
    return assess(model.fit, model.evidence, c.domain.shape, c.confidence).regret_bound


@dataclass(frozen=True, slots=True, eq=False)
class Model:
    """What is believed of the response: a quadratic, and where it surely is none a discrepancy on top of it."""

    fit: QuadraticFit
    evidence: Evidence
    limited: Limited
    lack: LackOfFit | None
    smooth: SmoothFit | None


def _modelled(evidence: Evidence, shape: Shape, smooth: bool) -> Model:
    fit, weighted, limited = _fitted(evidence, shape)
    lack = lack_of_fit(evidence, fit) if smooth else None
    is_sure = lack is not None and lack.is_sure
    return Model(fit, weighted, limited, lack, fit_smooth(evidence, shape, fit.minimiser) if is_sure else None)


def _fitted(evidence: Evidence, shape: Shape) -> tuple[QuadraticFit, Evidence, Limited]:
    """Return the fit, and the evidence as it was fitted: tails limited, weighted by variance, where that is safe."""
    limited = limit_tails(evidence, shape)
    fit = fit_quadratic(limited.evidence, shape)
    weighted = weigh_by_variance(limited.evidence, fit)
    return (fit if weighted is limited.evidence else fit_quadratic(weighted, shape)), weighted, limited


def propose(
    evidence: Evidence, n: int, *, shape: Shape, seed: int = 0, pending: Matrix | None = None, smooth: bool = True
) -> tuple[Matrix, Counts]:
    """Return points (k, d) in unit coordinates and repeats (k,) of the n measurements that are worth most now.

    A pure function of its arguments: random choices are keyed by the seed and the number of measurements taken.
    Points that are being measured elsewhere are ``pending``, shape (m, d): they count as information that will come.

    >>> points, repeats = propose(Evidence.empty(2), 5, shape=Shape.BALL)
    >>> points.shape, int(repeats.sum())
    ((5, 2), 5)
    """
    model = None if evidence.n_measurements == 0 else _modelled(evidence, shape, smooth)
    return _proposed(evidence, model, n, shape=shape, seed=seed, pending=pending)


def _proposed(
    evidence: Evidence, model: Model | None, n: int, *, shape: Shape, seed: int, pending: Matrix | None = None
) -> tuple[Matrix, Counts]:
    d = evidence.dimension
    waiting = np.zeros((0, d)) if pending is None else np.asarray(pending, dtype=np.float64)
    if model is None:
        beginning = pilot(shape, d, len(waiting) + n, np.random.default_rng([seed, evidence.n_attempts]))
        return merge(beginning[len(waiting) :], np.ones(n, dtype=np.int64))
    rng = np.random.default_rng([seed, evidence.n_attempts + len(waiting)])
    if model.smooth is not None:
        points, repeats = next_smooth_batch(model.smooth.expecting(waiting), shape, n, rng)
        return away_from_failures(points, evidence, model.smooth.minimiser), repeats
    points, repeats = next_batch(model.fit.expecting(waiting), shape, n, rng)
    if model.lack is not None:
        points, repeats = with_checks(points, repeats, model.fit, shape, evidence.n_attempts + len(waiting), rng)
    return away_from_failures(points, evidence, model.fit.minimiser), repeats


def conclude(
    evidence: Evidence,
    domain: Domain,
    *,
    confidence: float = 0.95,
    status: Status = Status.BUDGET_SPENT,
    smooth: bool = True,
) -> Result:
    """Return the answer from all evidence, with its certificate; a pure function of its arguments.

    >>> from paraboloid.core import Box, Measurements
    >>> import numpy as np
    >>> z = np.linspace(-1, 1, 9)[:, None]
    >>> evidence = Evidence.empty(1).with_measurements(z, Measurements.from_values((z - 0.5) ** 2))
    >>> conclude(evidence, Box([(0, 4)])).x.round(2)
    array([3.])
    """
    d = domain.dimension
    if evidence.n_measurements == 0:
        raise UsageError("no measurement gave a value, so there is no answer. See why they failed, and try again.")
    model = _modelled(evidence, domain.shape, smooth)
    if model.smooth is not None and model.lack is not None:
        return _smooth_answer(model.smooth, model.lack, model.limited, domain, confidence, status)
    fit, evidence, limited = model.fit, model.evidence, model.limited
    _, limit = instance_limit_bounds(fit.hessian, fit.minimiser, _unit_domain(domain.shape, d))
    quality = assess(fit, evidence, domain.shape, confidence)
    saddle = fit_saddle(evidence, domain.shape)
    if saddle is not None:
        fit, quality = saddle, without_bound(saddle, quality)
    jacobian = domain.jacobian(fit.minimiser)
    inverse = np.linalg.inv(jacobian)
    certificate = Certificate(
        regret=quality.regret,
        regret_bound=quality.regret_bound,
        confidence=confidence,
        x_ci=domain.from_unit(quality.z_interval.T).T,
        fun=fit.value(fit.minimiser),
        fun_se=quality.value_se,
        hess_eig=quality.eigenvalues,
        hess_eig_se=quality.eigenvalue_se,
        sigma=math.sqrt(fit.sigma2),
        regret_unit=fit.sigma2 * limit,
        caveats=(*_caveats(fit, quality, domain), *_outliers(limited)),
        lack_of_fit=None if model.lack is None else model.lack.log_bayes_factor,
    )
    x = domain.from_unit(fit.minimiser)
    covariance = jacobian @ quality.z_covariance @ jacobian.T
    return Result(Estimate(x, covariance), status, inverse.T @ fit.hessian @ inverse, certificate)


def _smooth_answer(
    smooth: SmoothFit, lack: LackOfFit, limited: Limited, domain: Domain, confidence: float, status: Status
) -> Result:
    """Return the answer where the response is not quadratic: no bound is known for it, and none is given."""
    z = smooth.minimiser
    A = smooth.curvature(z)
    _, gradient_covariance = smooth.gradient_covariance(z, z[None, :])
    inverse = np.linalg.inv(A)
    jacobian = domain.jacobian(z)
    back = np.linalg.inv(jacobian)
    regret = smooth.scale * float(np.sum(inverse * gradient_covariance)) / 2
    _, limit = instance_limit_bounds(A, 0.99 * z, _unit_domain(domain.shape, z.size))  # a little inside the edge
    edges = np.stack([np.full(z.size, -1.0), np.full(z.size, 1.0)])
    certificate = Certificate(
        regret=regret,
        regret_bound=np.inf,
        confidence=confidence,
        x_ci=domain.from_unit(edges).T,
        fun=float(smooth.value(z[None, :])[0]),
        fun_se=float(smooth.deviation(z[None, :])[0]),
        hess_eig=np.asarray(smooth.scale * np.linalg.eigvalsh(smooth.derivatives(z)[2]), dtype=np.float64),
        hess_eig_se=np.full(z.size, np.nan),
        sigma=smooth.scale * math.sqrt(smooth.sigma2),
        regret_unit=smooth.scale * smooth.sigma2 * limit,
        caveats=(_not_quadratic(lack), *_outliers(limited)),
        lack_of_fit=lack.log_bayes_factor,
        is_quadratic=False,
    )
    covariance = jacobian @ inverse @ gradient_covariance @ inverse @ jacobian.T
    return Result(Estimate(domain.from_unit(z), covariance), status, smooth.scale * back.T @ A @ back, certificate)


def _not_quadratic(lack: LackOfFit) -> str:
    odds = math.exp(min(lack.log_bayes_factor, 60.0))
    return (
        f"the response is not a paraboloid over the whole range (odds {odds:.2g} to 1): it was measured ever nearer to "
        f"the best setting and fitted with a smooth correction; for such an answer no bound can be given. For one, "
        f"search a smaller range about it."
    )


def _unit_domain(shape: Shape, d: int) -> Domain:
    return as_domain([(-1.0, 1.0)] * d) if shape is Shape.BOX else Ball(np.zeros(d))


def _caveats(fit: QuadraticFit, quality: Quality, domain: Domain) -> tuple[str, ...]:
    """Return what stands against the answer, each with what to do."""
    found = []
    z = fit.minimiser
    size = np.abs(z) if domain.shape is Shape.BOX else np.full(1, np.linalg.norm(z))
    if np.any(size >= 1 - 1e-9):
        held = (
            [name for name, at in zip(domain.names, np.abs(z), strict=True) if at >= 1 - 1e-9]
            if domain.shape is Shape.BOX
            else ["the ball"]
        )
        found.append(f"the best setting lies at the edge of {', '.join(held)}; widen or move that range and go on.")
    for k in np.flatnonzero(quality.is_flat):
        found.append(
            f"no curvature was seen along {_named(quality.directions[:, k], domain)}: the value is flat there, or has "
            f"no minimum; measure more, or hold one of these knobs fixed."
        )
    if not np.isfinite(quality.regret_bound) and not found:
        found.append("too few measurements for a bound; measure more.")
    return tuple(found)


def _outliers(limited: Limited) -> tuple[str, ...]:
    """Return a sentence about values far from all others, if there are any."""
    if not limited.n_far:
        return ()
    far = "1 value lies" if limited.n_far == 1 else f"{limited.n_far} values lie"
    done = "its effect was" if limited.n_far == 1 else "their effect was"
    return (f"{far} far from the fit ({done} limited to {limited.weight:.0%}); look whether something went wrong.",)


def _named(direction: np.ndarray[tuple[int], np.dtype[np.float64]], domain: Domain) -> str:
    """Return a direction of unit coordinates in knob units, its largest parts first."""
    moves = np.diag(domain.jacobian(np.zeros(domain.dimension))) * direction
    order = [k for k in np.argsort(-np.abs(direction)) if abs(direction[k]) > 0.2]
    return ", ".join(f"{domain.names[k]} {moves[k]:+.3g}" for k in order)
