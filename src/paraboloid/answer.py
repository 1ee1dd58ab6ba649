"""The answer in SciPy's form: what both doors, `paraboloid.minimize` and `Study.recommend`, return."""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import OptimizeResult

from paraboloid.core import Certificate, Domain, Evidence, Result, Shape, Status, Vector

__all__ = ["Counted", "best_observed", "translate"]

INSIDE = 1 + 1e-9


@dataclass(frozen=True, slots=True)
class Counted:
    """What it took: measurements, failed ones among them, rounds."""

    n_measurements: int
    n_failures: int
    n_rounds: int


def translate(
    result: Result, evidence: Evidence, domain: Domain, *, sign: float, counted: Counted, is_over: bool, sentence: str
) -> OptimizeResult:
    """Return a result in SciPy's form, signs turned back for a maximum."""
    c = result.certificate
    caveats = () if c is None else c.caveats
    translated = OptimizeResult()
    translated.update(
        x=np.array(result.x),
        success=is_over and result.status in (Status.BUDGET_SPENT, Status.ACCURACY_REACHED),
        status=list(Status).index(result.status),
        message=" ".join([sentence, *caveats]),
        stop_reason=result.status.name if is_over else "RUNNING",
        nfev=counted.n_measurements,
        nfail=counted.n_failures,
        nit=counted.n_rounds,
        rounds=counted.n_rounds,
        x_best_observed=best_observed(evidence, domain),
        hess=None if result.hessian is None else sign * np.array(result.hessian),
        x_cov=None if result.estimate.covariance is None else np.array(result.estimate.covariance),
    )
    if c is not None:
        translated.update(_certified(c, sign))
    return translated


def _certified(c: Certificate, sign: float) -> dict[str, object]:
    return {
        "fun": sign * c.fun,
        "fun_se": c.fun_se,
        "x_ci": np.array(c.x_ci),
        "hess_eig": sign * np.array(c.hess_eig),
        "hess_eig_se": np.array(c.hess_eig_se),
        "sigma": c.sigma,
        "regret": c.regret,
        "regret_bound": c.regret_bound,
        "confidence": c.confidence,
        "caveats": list(c.caveats),
        "forecast": c.regret_after,
    }


def best_observed(evidence: Evidence, domain: Domain) -> Vector | None:
    """Return where the best mean was seen inside the domain (luck plays a part in it), or None."""
    size = np.abs(evidence.points).max(axis=1, initial=0.0)
    if domain.shape is Shape.BALL:
        size = np.linalg.norm(evidence.points, axis=1)
    seen = np.where((evidence.counts > 0) & (size <= INSIDE), evidence.means, np.inf)
    best = int(np.argmin(seen))
    return domain.from_unit(evidence.points[best]) if np.isfinite(seen[best]) else None
