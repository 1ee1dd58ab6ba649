"""What an algorithm believes and returns."""

import enum
import math
from dataclasses import dataclass

import numpy.typing as npt

from paraboloid.core.arrays import Matrix, Vector, frozen_array
from paraboloid.core.checks import check_positive

__all__ = ["Certificate", "Estimate", "Result", "Status", "doubt_about_shape"]

MUCH = 2.0  # times as wide as for a quadratic: a bound of which it is said that doubt about the shape makes it so


class Status(enum.Enum):
    """How a run ended, each with its sentence."""

    BUDGET_SPENT = "The budget is spent; x is the answer from all of it."
    ACCURACY_REACHED = "The regret bound has fallen below the wanted accuracy."
    NO_BOUND = "No bound on the regret can be given for this surface, so the wanted accuracy was not reached."
    STOPPED = "The run was stopped by its caller; x is the answer from what was measured until then."
    NOTHING_TO_LEARN = "No direction is curved enough to be worth a measurement; x is the centre."


@dataclass(frozen=True, slots=True, eq=False)
class Estimate:
    """What is believed of the minimiser: its place, and the covariance of its error where that is known.

    Parameters
    ----------
    x
        The estimated minimiser, shape (d,).
    covariance
        Covariance of ``x`` for noise of unit variance, shape (d, d), or None where the algorithm gives none.
    """

    x: Vector
    covariance: Matrix | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "x", frozen_array("x", self.x, 1))
        if self.covariance is not None:
            object.__setattr__(self, "covariance", frozen_array("covariance", self.covariance, 2))


def doubt_about_shape(bound: float | None, if_quadratic: float | None) -> str:
    """Return why a bound on the regret is so wide, if doubt about the shape is the reason; an empty text if not.

    >>> doubt_about_shape(0.96, 0.07)[:79]
    'at most 0.07 if the response is a paraboloid; the rest is doubt about its shape'
    >>> doubt_about_shape(0.13, 0.07), doubt_about_shape(math.inf, math.inf), doubt_about_shape(None, None)
    ('', '', '')
    """
    if bound is None or if_quadratic is None or not math.isfinite(bound) or bound <= 0 or bound < MUCH * if_quadratic:
        return ""
    return (
        f"at most {if_quadratic:.3g} if the response is a paraboloid; the rest is doubt about its shape, "
        f"which a search with eps checks"
    )


@dataclass(frozen=True, slots=True, eq=False)
class Certificate:
    """How good an answer is, as far as the measurements say; all in the units of the knobs and of the value.

    Parameters
    ----------
    regret, regret_bound
        Expected f(x) - f(x₀), and its upper bound at ``confidence``; the bound is infinite where none can be given.
    confidence
        Of the bound and of the intervals.
    x_ci
        Interval of each knob's best setting, shape (d, 2).
    fun, fun_se
        Fitted value at x and its standard error.
    hess_eig, hess_eig_se
        Eigenvalues of the curvature in unit coordinates and their standard errors, shape (d,).
    sigma
        Standard deviation of one measurement.
    regret_unit
        Regret of an optimal design of one measurement, σ²V*: n more measurements bring about regret_unit/n.
    caveats
        What stands against the answer or its bound, as sentences that say what to do.
    lack_of_fit, is_quadratic
        Log Bayes factor of a response that is not quadratic over the whole range against one that is, None where it was
        not looked for; and whether the answer is that of a quadratic.
    regret_bound_if_quadratic
        What ``regret_bound`` would be if the response were known to be quadratic over the whole range: never above it,
        and infinite where it is.
    """

    regret: float
    regret_bound: float
    confidence: float
    x_ci: Matrix
    fun: float
    fun_se: float
    hess_eig: Vector
    hess_eig_se: Vector
    sigma: float
    regret_unit: float
    caveats: tuple[str, ...] = ()
    lack_of_fit: float | None = None
    is_quadratic: bool = True
    regret_bound_if_quadratic: float = math.inf

    def regret_after(self, n_more: float) -> float:
        """Return the forecast of the expected regret after ``n_more`` well-placed measurements."""
        return 1 / (1 / max(self.regret, 1e-300) + n_more / max(self.regret_unit, 1e-300))

    def measurements_for(self, eps: float) -> int:
        """Return how many more well-placed measurements the forecast needs for an expected regret of ``eps``."""
        return max(0, math.ceil(self.regret_unit * (1 / check_positive("eps", eps) - 1 / max(self.regret, 1e-300))))


@dataclass(frozen=True, slots=True, eq=False)
class Result:
    """What an algorithm returns; the driver fills in the counts.

    Parameters
    ----------
    estimate
        The answer, see `Estimate`.
    status
        How the run ended.
    hessian
        The Hessian that the algorithm was given or has estimated, shape (d, d), if it has one.
    certificate
        How good the answer is, if the algorithm can tell.
    n_measurements, n_points, n_rounds, n_failures
        Single measurements, measured points (a point measured in two experiments counts twice), experiments, and
        measurements that gave no value.
    """

    estimate: Estimate
    status: Status
    hessian: Matrix | None = None
    certificate: Certificate | None = None
    n_measurements: int = 0
    n_points: int = 0
    n_rounds: int = 0
    n_failures: int = 0

    @property
    def x(self) -> Vector:
        """The estimated minimiser."""
        return self.estimate.x

    def __str__(self) -> str:
        lines = [
            f"x              {_short(self.x)}",
            f"status         {self.status.value}",
            f"measurements   {self.n_measurements:,} at {self.n_points:,} points in {self.n_rounds:,} experiments",
        ]
        if self.n_failures:
            lines.append(f"failed         {self.n_failures:,} measurements gave no value")
        if self.certificate is not None:
            c = self.certificate
            lines.append(f"value          {c.fun:.6g} ± {c.fun_se:.2g}, one measurement scatters by {c.sigma:.3g}")
            expected = f"{c.regret:.3g} expected" if math.isfinite(c.regret) else "not known"
            has_bound = math.isfinite(c.regret_bound)
            at_most = f"below {c.regret_bound:.3g} at {c.confidence:.0%}" if has_bound else "no bound"
            lines.append(f"regret         {expected}, {at_most}")
            doubt = doubt_about_shape(c.regret_bound, c.regret_bound_if_quadratic)
            lines += [f"shape          {doubt}"] if doubt else []
            lines += [f"caveat         {caveat}" for caveat in c.caveats[:3]]
        return "\n".join(lines)


def _short(x: npt.ArrayLike) -> str:
    numbers = [f"{float(value):.6g}" for value in frozen_array("x", x, 1)]
    shown = numbers if len(numbers) <= 8 else [*numbers[:7], f"... ({len(numbers)} in all)"]
    return "(" + ", ".join(shown) + ")"
