"""The answer of the adaptive search and its certificate, from all evidence: what was found, what is known of it."""

import math
from dataclasses import dataclass

import numpy as np

from paraboloid.core import (
    Ball,
    Box,
    Certificate,
    Domain,
    Estimate,
    Evidence,
    Matrix,
    Result,
    Shape,
    Status,
    UsageError,
    Vector,
    as_domain,
)
from paraboloid.design import Quality, assess_closely, believed, without_bound
from paraboloid.numerics import (
    LackOfFit,
    Limited,
    Model,
    QuadraticFit,
    features,
    fit_saddle,
    gradient_map,
    modelled,
    project_onto_region,
)
from paraboloid.numerics.lack_of_fit import FEWEST
from paraboloid.theory import instance_limit_bounds

__all__ = ["conclude"]

MOST_NAMED = 6  # knobs in a sentence
GROWING = "the noise grows with the height above the minimum: the search closed in on it, to where the noise is small"
EITHER = (
    "the response is not a paraboloid over the whole range, or the noise grows with the height above the minimum, "
    "which the values do not tell apart: the search closed in on it, to where either matters least"
)
EXACT = (
    "most values are exact, and the response is not a paraboloid: the search closed in on its minimum, to where that "
    "matters least"
)
FACTOR = (
    "the noise multiplies the height by a factor, so that the answer is where the middle of the values is least; their "
    "mean is least at the same place if the factor varies in the same way everywhere."
)


def conclude(
    evidence: Evidence,
    domain: Domain,
    *,
    confidence: float = 0.95,
    status: Status = Status.BUDGET_SPENT,
    smooth: bool = True,
    model: Model | None = None,
) -> Result:
    """Return the answer from all evidence, with its certificate; a pure function of its arguments.

    ``model`` is what `modelled` says of this evidence, where that is known already.

    >>> from paraboloid.core import Box, Measurements
    >>> import numpy as np
    >>> z = np.linspace(-1, 1, 9)[:, None]
    >>> evidence = Evidence.empty(1).with_measurements(z, Measurements.from_values((z - 0.5) ** 2))
    >>> conclude(evidence, Box([(0, 4)])).x.round(2)
    array([3.])
    """
    if evidence.n_measurements == 0:
        raise UsageError("no measurement gave a value, so there is no answer. See why they failed, and try again.")
    model = modelled(evidence, domain.shape, smooth) if model is None else model
    if model.is_plain:
        return _with_bound(model, evidence, domain, confidence, status)
    return _without_bound(model, evidence, domain, confidence, status)


def _with_bound(model: Model, raw: Evidence, domain: Domain, confidence: float, status: Status) -> Result:
    """Return the answer where the response counts as a paraboloid over the whole range."""
    evidence = model.evidence
    fit = believed(model.fit, evidence, model.shape)
    _, limit = instance_limit_bounds(fit.hessian, fit.minimiser, _unit_domain(domain.shape, domain.dimension))
    quality, lack = assess_closely(model, raw, confidence)  # how sure the place is, the data alone say
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
        caveats=(*_caveats(fit, quality, domain, lack), *_outliers(model.limited)),
        lack_of_fit=None if model.lack is None else model.lack.log_bayes_factor,
        regret_bound_if_quadratic=quality.regret_bound_if_quadratic,
    )
    x = domain.from_unit(fit.minimiser)
    covariance = jacobian @ quality.z_covariance @ jacobian.T
    return Result(Estimate(x, covariance), status, inverse.T @ fit.hessian @ inverse, certificate)


def _without_bound(model: Model, evidence: Evidence, domain: Domain, confidence: float, status: Status) -> Result:
    """Return the answer where noise or shape differ over the range: no bound is known for it, and none is given."""
    d, lack, window = domain.dimension, model.lack, model.window
    assert lack is not None
    best = _Best.of(model)
    z = project_onto_region(domain.shape, model.minimiser[None, :])[0]
    inverse = np.linalg.inv(best.curvature)
    jacobian = domain.jacobian(z) @ window.spread
    back, outward = np.linalg.inv(jacobian), np.linalg.inv(window.spread)
    _, limit = instance_limit_bounds(best.curvature, 0.99 * best.place, _unit_domain(model.shape, d))  # not at the edge
    edges = np.stack([np.full(d, -1.0), np.full(d, 1.0)])
    where = _half(evidence, z, domain)
    certificate = Certificate(
        regret=float(np.sum(inverse * best.gradient_covariance)) / 2,
        regret_bound=np.inf,
        confidence=confidence,
        x_ci=domain.from_unit(edges).T,
        fun=best.value if model.lowest is None else model.least,
        fun_se=best.value_se if model.lowest is None else 0.0,
        hess_eig=np.asarray(np.linalg.eigvalsh(outward.T @ best.curvature @ outward), dtype=np.float64),
        hess_eig_se=np.full(d, np.nan),
        sigma=math.sqrt(best.sigma2),
        regret_unit=best.sigma2 * limit,
        caveats=(
            _not_quadratic(lack, where) if model.smooth else _closed_in(_why(model), where),
            *([] if model.level is None else [_factor(model.level)]),
            *_outliers(model.limited),
        ),
        lack_of_fit=lack.log_bayes_factor,
        is_quadratic=model.smooth is None,
    )
    covariance = jacobian @ inverse @ best.gradient_covariance @ inverse @ jacobian.T
    return Result(Estimate(domain.from_unit(z), covariance), status, back.T @ best.curvature @ back, certificate)


@dataclass(frozen=True, slots=True, eq=False)
class _Best:
    """What is known at the minimiser, in the coordinates of the model's window and in the value's unit."""

    place: Vector
    curvature: Matrix
    gradient_covariance: Matrix
    value: float
    value_se: float
    sigma2: float

    @classmethod
    def of(cls, model: Model) -> "_Best":
        if model.smooth is None:
            fit, w = model.fit, model.fit.minimiser
            G, phi = gradient_map(w), features(w[None, :])[0]
            deviation = float(np.sqrt(max(phi @ fit.covariance @ phi, 0.0)))
            return cls(w, fit.hessian, G @ fit.covariance @ G.T, fit.value(w), deviation, fit.sigma2)
        smooth, w = model.smooth, model.smooth.minimiser
        unit, (_, covariance) = smooth.scale, smooth.gradient_covariance(w, w[None, :])
        value, deviation = float(smooth.value(w[None, :])[0]), float(smooth.deviation(w[None, :])[0])
        noise = unit**2 * float(smooth.noise(w[None, :])[0])
        return cls(w, unit * smooth.curvature(w), unit**2 * covariance, value, deviation, noise)


def _half(evidence: Evidence, z: Vector, domain: Domain) -> str:
    """Return how near to z half of the measurements were taken, knob by knob, a log knob's by its factor."""
    away = np.abs(evidence.points - z)
    order = np.argsort(away, axis=0)
    reached = np.cumsum(evidence.counts[order], axis=0)
    middle = np.sum(reached < reached[-1] / 2, axis=0)
    reach = np.take_along_axis(away, np.take_along_axis(order, middle[None, :], axis=0), axis=0)[0]
    here, there = domain.from_unit(np.stack([z, z + np.where(z > 0, -reach, reach)]))
    named = [
        f"{name} ×/÷ {max(b / a, a / b):.2g}" if is_log else f"{name} ± {abs(b - a):.2g}"
        for name, is_log, a, b in zip(domain.names, _is_log(domain), here.tolist(), there.tolist(), strict=True)
    ]
    return ", ".join([*named[:MOST_NAMED], *(["..."] if len(named) > MOST_NAMED else [])])


def _is_log(domain: Domain) -> list[bool]:
    return [knob.log for knob in domain.knobs] if isinstance(domain, Box) else [False] * domain.dimension


def _not_quadratic(lack: LackOfFit, where: str) -> str:
    odds = math.exp(min(lack.log_bayes_factor, 60.0))
    return (
        f"the response is not a paraboloid over the whole range (odds {odds:.2g} to 1): it was measured ever nearer to "
        f"the best setting (half of all measurements within {where} of it) and fitted with a smooth correction; for "
        f"such an answer no bound can be given. For one, search a smaller range about it."
    )


def _why(model: Model) -> str:
    if model.limited.is_exact:
        return EXACT
    return EITHER if model.is_either else GROWING


def _closed_in(why: str, where: str) -> str:
    return (
        f"{why} (half of all measurements within {where} of the best setting); for such an answer no bound is given. "
        f"For one, search a smaller range about it."
    )


def _factor(level: float) -> str:
    if level == 0.5:
        return FACTOR
    return (
        f"the noise multiplies the height by a factor that is often huge, so that the answer is where the lowest "
        f"{100 * level:.2g} % of the values are least, and not their mean, which a few huge values decide."
    )


def _unit_domain(shape: Shape, d: int) -> Domain:
    return as_domain([(-1.0, 1.0)] * d) if shape is Shape.BOX else Ball(np.zeros(d))


def _caveats(fit: QuadraticFit, quality: Quality, domain: Domain, lack: LackOfFit | None) -> tuple[str, ...]:
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
            f"no curvature was seen along {_named(quality.directions[:, k], domain)}: the value is "
            f"flat there, or has no minimum; measure more, or hold one of these knobs fixed."
        )
    if not np.isfinite(quality.regret_bound) and lack is not None and lack.n_contrasts < FEWEST:
        found.append(
            "too few different settings were measured to see whether the response is a paraboloid, so no bound can be "
            "given; measure more."
        )
    elif not np.isfinite(quality.regret_bound) and lack is not None and lack.is_open:
        found.append(
            f"the values leave it open whether the response is a paraboloid over the whole range (they say "
            f"{math.exp(lack.log_bayes_factor):.1f} to 1 that it is none), so no bound can be given; measure more, or "
            f"search a smaller range about the best setting."
        )
    elif not np.isfinite(quality.regret_bound) and lack is not None and lack.is_contradicted:
        found.append(
            f"at a setting that was measured several times the mean lies {lack.farthest:.0f} standard errors from the "
            f"fitted paraboloid, so no bound can be given; look at the means of such settings, and search a smaller "
            f"range about the lowest."
        )
    elif not np.isfinite(quality.regret_bound) and not found:
        found.append("too few measurements for a bound; measure more.")
    return tuple(found)


def _outliers(limited: Limited) -> tuple[str, ...]:
    """Return a sentence about values far from all others, if there are any."""
    if not limited.n_far:
        return ()
    far = "1 value lies" if limited.n_far == 1 else f"{limited.n_far} values lie"
    done = "its effect was" if limited.n_far == 1 else "their effect was"
    return (f"{far} far from the fit ({done} limited to {limited.weight:.0%}); look whether something went wrong.",)


def _named(direction: Vector, domain: Domain) -> str:
    """Return a direction of unit coordinates in knob units, a log knob's by its factor, its largest parts first."""
    here, there = domain.from_unit(np.stack([np.zeros(domain.dimension), direction]))
    is_log = _is_log(domain)
    order = [k for k in np.argsort(-np.abs(direction)) if abs(direction[k]) > 0.2]
    moves = [f"×{there[k] / here[k]:.3g}" if is_log[k] else f"{there[k] - here[k]:+.3g}" for k in order]
    return ", ".join(f"{domain.names[k]} {move}" for k, move in zip(order, moves, strict=True))
