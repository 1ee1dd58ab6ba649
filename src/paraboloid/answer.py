"""The answer in SciPy's form: what both doors, `paraboloid.minimize` and `Study.recommend`, return."""

import os
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from rich.console import Group
from scipy.optimize import OptimizeResult

from paraboloid.core import Certificate, Domain, Evidence, Result, Shape, Status, Vector
from paraboloid.report import (
    Rows,
    Subject,
    check_writable,
    html_report,
    short_html,
    short_table,
    short_text,
    write_report,
)

__all__ = ["Counted", "Recommendation", "best_observed", "translate"]

INSIDE = 1 + 1e-9


@dataclass(frozen=True, slots=True)
class Counted:
    """What it took: measurements, failed ones among them, rounds."""

    n_measurements: int
    n_failures: int
    n_rounds: int


class Recommendation(OptimizeResult):
    """A result in SciPy's form that can say what it means: printed, in a notebook, or as a report.

    ``subject`` is what the report is made of; it is no field of the result and not shown with them.

    Examples
    --------
    >>> import paraboloid
    >>> result = paraboloid.minimize(lambda x: (x[0] - 1) ** 2, [(0, 3)], budget=9, rng=0)
    >>> print(result)
    x1             1.000000  (1.000000 to 1.000000)
    value          ...
    """

    subject: Subject

    def report(
        self, path: str | os.PathLike[str], *, worsening: float | None = None, title: str = "", force: bool = False
    ) -> Path:
        """Write the report, one HTML file that is complete in itself, and return where it is.

        Parameters
        ----------
        path
            The file; an earlier report is replaced, anything else only with ``force``.
        worsening
            Tolerances are given for a worsening of the value by so much; the scatter of one measurement if not given.
        title
            Its heading.
        force
            Whether a file that is no report of ours may be replaced.
        """
        where = check_writable(path, force=force)
        subject = replace(self.subject, title=title) if title else self.subject
        return write_report(where, html_report(subject, worsening=worsening), force=force)

    def __str__(self) -> str:
        return short_text(self.subject)

    def _repr_html_(self) -> str:
        return short_html(self.subject)

    def __rich__(self) -> Group:
        return short_table(self.subject)


def translate(
    result: Result,
    evidence: Evidence,
    domain: Domain,
    *,
    sign: float,
    counted: Counted,
    is_over: bool,
    sentence: str,
    rows: tuple[Rows, ...] = (),
) -> Recommendation:
    """Return a result in SciPy's form, signs turned back for a maximum."""
    c = result.certificate
    caveats = () if c is None else c.caveats
    translated = Recommendation()
    subject = Subject(
        domain,
        evidence,
        result,
        sign,
        sentence,
        is_over,
        0.95 if c is None else c.confidence,
        counted.n_rounds,
        rows=rows,
    )
    object.__setattr__(translated, "subject", subject)  # an attribute, where SciPy's own setting makes a field
    translated.update(
        x=np.array(result.x),
        success=is_over and result.status in (Status.BUDGET_SPENT, Status.ACCURACY_REACHED),
        status=list(Status).index(result.status),
        message=" ".join([sentence, *(caveat[:1].upper() + caveat[1:] for caveat in caveats)]),
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
        "regret_bound_if_quadratic": c.regret_bound_if_quadratic,
        "confidence": c.confidence,
        "caveats": list(c.caveats),
        "forecast": c.regret_after,
        "lack_of_fit": c.lack_of_fit,
        "is_quadratic": c.is_quadratic,
    }


def best_observed(evidence: Evidence, domain: Domain) -> Vector | None:
    """Return where the best mean was seen inside the domain (luck plays a part in it), or None."""
    size = np.abs(evidence.points).max(axis=1, initial=0.0)
    if domain.shape is Shape.BALL:
        size = np.linalg.norm(evidence.points, axis=1)
    seen = np.where((evidence.counts > 0) & (size <= INSIDE), evidence.means, np.inf)
    best = int(np.argmin(seen))
    return domain.from_unit(evidence.points[best]) if np.isfinite(seen[best]) else None
