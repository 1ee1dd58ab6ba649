"""The door for code: `minimize` measures a Python function and returns a SciPy-style result."""

import logging
import numbers
import operator
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, SupportsIndex, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.optimize import OptimizeResult

from paraboloid.algorithms import adaptive, conclude
from paraboloid.core import (
    Domain,
    Evidence,
    Experiment,
    Knob,
    MeasurementError,
    Measurements,
    Procedure,
    Result,
    Status,
    UsageError,
    Vector,
    as_domain,
)
from paraboloid.run import Session

__all__ = ["maximize", "minimize"]

logger = logging.getLogger("paraboloid")

Objective: TypeAlias = Callable[..., Any]
MOST_FAILED = 0.5  # share of failed measurements above which a run stops, once there are FAILED_AFTER
FAILED_AFTER = 5


def minimize(
    fun: Objective,
    domain: Domain | Sequence[Knob | Sequence[float]],
    *,
    budget: SupportsIndex | None = None,
    eps: float | None = None,
    confidence: float = 0.95,
    algorithm: Callable[..., Procedure] | None = None,
    executor: Executor | None = None,
    rng: int | np.random.SeedSequence | np.random.Generator | None = None,
    callback: Callable[[OptimizeResult], object] | None = None,
    vectorized: bool = False,
    data: Sequence[npt.ArrayLike] | None = None,
) -> OptimizeResult:
    """Find the setting with the least mean of a noisy function, with as few measurements as possible.

    Parameters
    ----------
    fun
        Measures once at a setting ``x`` (array of d numbers in knob units) and returns a value, or ``(value, standard
        error)``. NaN, infinity or an exception is a failed measurement: counted, never turned into a penalty.
    domain
        A `Box`, a `Ball`, or (low, high) pairs as SciPy takes them.
    budget
        Number of measurements; or give ``eps``, or both.
    eps
        Stop when the answer is this near to the best value, at ``confidence``.
    algorithm
        Another procedure in place of `paraboloid.algorithms.adaptive`, called with its arguments.
    executor
        Anything with ``submit``, such as a process pool; measurements of a round then run side by side.
    rng
        Seed of the search's own choices.
    callback
        Called after each round with the result so far; ``StopIteration`` stops cleanly.
    vectorized
        Whether ``fun`` takes settings of shape (n, d) and returns n values, or n rows (value, standard error), at once.
    data
        Old measurements: settings (n, d), values (n,) and, if known, their standard errors (n,).

    Returns
    -------
    scipy.optimize.OptimizeResult
        ``x`` is the minimum of the fitted model, ``fun`` its value there with ``fun_se``; ``x_ci`` and ``x_cov``;
        ``regret``, the expected f(x) - min f, and ``regret_bound`` at ``confidence``; ``hess``, ``hess_eig``,
        ``sigma``, ``nfev``, ``nfail``, ``rounds``, ``stop_reason``, ``caveats``, ``forecast`` (a function of the number
        of further measurements). ``x_best_observed`` is where the best mean was *seen*: luck plays a part in it, do not
        use it as the answer.

    Examples
    --------
    >>> import numpy as np
    >>> import paraboloid
    >>> noise = np.random.default_rng(1)
    >>> def yield_loss(x):
    ...     return (x[0] - 0.3) ** 2 + 2 * (x[1] + 0.5) ** 2 + 0.1 * noise.standard_normal()
    >>> result = paraboloid.minimize(yield_loss, [(-1, 1), (-1, 1)], budget=100, rng=0)
    >>> bool(np.all(np.abs(result.x - [0.3, -0.5]) < 0.15)), result.nfev
    (True, 100)
    """
    return _optimise(
        fun,
        as_domain(domain),
        _Options(budget, eps, confidence, algorithm or adaptive, executor, rng, callback, vectorized, data),
        sign=1.0,
    )


def maximize(fun: Objective, domain: Domain | Sequence[Knob | Sequence[float]], **options: Any) -> OptimizeResult:
    """Find the setting with the greatest mean; takes what `minimize` takes, and is its mirror image.

    Examples
    --------
    >>> import paraboloid
    >>> result = paraboloid.maximize(lambda x: 5 - (x[0] - 2) ** 2, [(0, 3)], budget=9, rng=0)
    >>> round(float(result.x[0]), 2), round(result.fun, 2)
    (2.0, 5.0)
    """
    names = {"budget", "eps", "confidence", "algorithm", "executor", "rng", "callback", "vectorized", "data"}
    unknown = set(options) - names
    if unknown:
        raise UsageError(f"maximize does not know {', '.join(sorted(unknown))}; it takes {', '.join(sorted(names))}.")
    made = _Options(**{"confidence": 0.95, **options, "algorithm": options.get("algorithm") or adaptive})
    return _optimise(fun, as_domain(domain), made, sign=-1.0)


@dataclass(frozen=True, slots=True)
class _Options:
    budget: SupportsIndex | None = None
    eps: float | None = None
    confidence: float = 0.95
    algorithm: Callable[..., Procedure] = adaptive
    executor: Executor | None = None
    rng: int | np.random.SeedSequence | np.random.Generator | None = None
    callback: Callable[[OptimizeResult], object] | None = None
    vectorized: bool = False
    data: Sequence[npt.ArrayLike] | None = None


def _optimise(fun: Objective, domain: Domain, options: _Options, *, sign: float) -> OptimizeResult:
    if not callable(fun):
        raise UsageError(f"fun must be a function of a setting x, got {fun!r}.")
    evidence = _old_data(domain, options.data, sign)
    seed = int(np.random.default_rng(options.rng).integers(2**31))
    session = Session(
        options.algorithm(
            domain,
            budget=options.budget,
            eps=options.eps,
            confidence=options.confidence,
            seed=seed,
            evidence=evidence,
        )
    )
    measurer = _Measurer(fun, options.executor, options.vectorized, sign)
    attempts = 0
    while not session.is_done:
        experiment = session.ask()
        try:
            measurements = measurer.measure(experiment)
            evidence = evidence.with_measurements(domain.to_unit(experiment.points), measurements)
            attempts += experiment.n_measurements
            is_last = options.budget is not None and attempts >= operator.index(options.budget)
            measurer.check_failures(attempts, nothing_else=is_last and evidence.n_measurements == 0)
            session.tell(measurements)
            if options.callback is not None and evidence.n_measurements and not session.is_done:
                so_far = conclude(evidence, domain, confidence=options.confidence)
                options.callback(_translate(so_far, evidence, domain, measurer, session))
        except (StopIteration, KeyboardInterrupt) as stop:
            # Ctrl-C, too, returns what is known: measurements are expensive. What was measured of this round counts.
            if isinstance(stop, KeyboardInterrupt):
                evidence = measurer.with_partial(evidence, domain, experiment)
            if evidence.n_measurements == 0:
                raise  # nothing is known yet
            result = conclude(evidence, domain, confidence=options.confidence, status=Status.STOPPED)
            return _translate(result, evidence, domain, measurer, session)
    return _translate(session.result, evidence, domain, measurer, session)


def _old_data(domain: Domain, data: Sequence[npt.ArrayLike] | None, sign: float) -> Evidence:
    """Return old measurements as evidence, in unit coordinates."""
    evidence = Evidence.empty(domain.dimension)
    if data is None:
        return evidence
    if len(data) not in (2, 3):
        raise UsageError("data must be (settings, values) or (settings, values, standard errors).")
    x = np.asarray(data[0], dtype=np.float64)
    x = x[:, None] if x.ndim == 1 and domain.dimension == 1 else np.atleast_2d(x)
    y = np.asarray(data[1], dtype=np.float64).ravel() * sign
    if len(x) != len(y) or not np.all(np.isfinite(y)):
        raise UsageError(f"data needs one finite value per setting, got {len(x)} settings and {len(y)} values.")
    precision = None
    if len(data) == 3:
        sem = np.asarray(data[2], dtype=np.float64).ravel()
        if sem.shape != y.shape or not np.all(np.isfinite(sem) & (sem > 0)):
            raise UsageError("standard errors in data must be one number above 0 per value.")
        precision = sem**-2.0
    ones = np.ones(len(y), dtype=np.int64)
    return evidence.with_measurements(domain.to_unit(x), Measurements(ones, y, np.zeros(len(y)), precision=precision))


class _Measurer:
    """Calls the user's function, keeps what failed and why, and turns values into measurements."""

    def __init__(self, fun: Objective, executor: Executor | None, vectorized: bool, sign: float) -> None:
        self._fun = fun
        self._executor = executor
        self._vectorized = vectorized
        self._sign = sign
        self.n_failures = 0
        self.n_calls = 0
        self.last_failure = ""
        self._partial: list[tuple[int, float, float]] = []

    @property
    def sign(self) -> float:
        """+1 to minimise, -1 to maximise."""
        return self._sign

    def measure(self, experiment: Experiment) -> Measurements:
        """Return the measurements of an experiment."""
        index = np.repeat(np.arange(experiment.n_points), experiment.repeats)
        points = experiment.points[index]
        self._partial = []
        if self._vectorized:
            answers = self._all_at_once(points)
            for k, answer in zip(index, answers, strict=True):
                self._keep(int(k), answer, experiment.points[k])
        elif self._executor is not None:
            futures = [self._executor.submit(_call, self._fun, x, self.n_calls + i) for i, x in enumerate(points)]
            for k, future in zip(index, futures, strict=True):
                self._keep(int(k), future.result(), experiment.points[k])
        else:
            for i, k in enumerate(index):
                self._keep(int(k), _call(self._fun, points[i], self.n_calls), experiment.points[k])
        measurements = self._summary(experiment.n_points)
        self._partial = []  # nothing is left over for an interrupt to count again
        return measurements

    def _all_at_once(self, points: npt.NDArray[np.float64]) -> list[Any]:
        answer = _call(self._fun, points, self.n_calls)
        if isinstance(answer, Exception):
            return [answer] * len(points)
        answer = np.asarray(answer)
        if answer.shape == (len(points), 2):
            return [tuple(row) for row in answer]
        if answer.shape != (len(points),):
            raise MeasurementError(
                f"a vectorized fun must return one value per setting, or rows (value, standard error): {len(points)} "
                f"settings, got shape {answer.shape}."
            )
        return list(answer)

    def _keep(self, k: int, answer: Any, x: Vector) -> None:
        self.n_calls += 1
        try:
            value, sem = _as_value(answer)
        except MeasurementError as error:
            self.n_failures += 1
            self.last_failure = f"at x = {np.array2string(x, precision=6)}: {error}"
            logger.warning("measurement failed %s", self.last_failure)
            value, sem = float("nan"), 0.0
        self._partial.append((k, self._sign * value, sem))

    def _summary(self, n_points: int) -> Measurements:
        """Return what was kept, point by point: weighted by standard errors where all values have one."""
        index = np.array([k for k, _, _ in self._partial], dtype=np.int64)
        values = np.array([value for _, value, _ in self._partial])
        errors = np.array([sem for _, _, sem in self._partial])
        ok = np.isfinite(values)
        where, y, sem = index[ok], values[ok], errors[ok]
        known = y.size > 0 and bool(np.all(sem > 0))
        weights = sem**-2.0 if known else np.ones(y.size)
        shift = float(y[0]) if y.size else 0.0  # a large common offset costs no digits

        def total(amounts: Vector) -> Vector:
            return np.bincount(where, weights=amounts, minlength=n_points).astype(np.float64)

        means = total(weights * (y - shift)) / np.maximum(total(weights), 1e-300)
        return Measurements(
            np.bincount(where, minlength=n_points),
            means + shift,
            total((y - shift - means[where]) ** 2),
            failures=np.bincount(index[~ok], minlength=n_points),
            precision=total(weights) if known else None,
        )

    def with_partial(self, evidence: Evidence, domain: Domain, experiment: Experiment) -> Evidence:
        """Return the evidence with what was measured of an interrupted experiment."""
        if not self._partial:
            return evidence
        return evidence.with_measurements(domain.to_unit(experiment.points), self._summary(experiment.n_points))

    def check_failures(self, attempts: int, *, nothing_else: bool = False) -> None:
        """Raise if so many measurements failed that going on would waste the rest."""
        if nothing_else or (attempts >= FAILED_AFTER and self.n_failures > MOST_FAILED * attempts):
            raise MeasurementError(
                f"{self.n_failures} of {attempts} measurements failed, the last one {self.last_failure}. "
                f"Mend the function, or choose a domain in which it works."
            )


def _call(fun: Objective, x: Vector, number: int) -> Any:
    """Call the function once; its number makes every call unique for executors that remember answers."""
    try:
        return fun(np.array(x))
    except Exception as error:
        return error


def _as_value(answer: Any) -> tuple[float, float]:
    """Return (value, standard error or 0), or raise a `MeasurementError` that says what came instead."""
    if isinstance(answer, Exception):
        raise MeasurementError(f"{type(answer).__name__}: {answer}") from answer
    value, sem = answer, 0.0
    if isinstance(answer, tuple | list) and len(answer) == 2:
        value, sem = answer[0], _as_number(answer[1], "standard error")
        if sem <= 0:
            raise MeasurementError(f"a standard error must be above 0, got {answer[1]!r}")
    return _as_number(value, "value"), sem


def _as_number(given: Any, what: str) -> float:
    if isinstance(given, np.ndarray) and given.ndim == 0:
        given = given[()]
    if isinstance(given, bool | np.bool_) or not isinstance(given, numbers.Real | Decimal):
        raise MeasurementError(f"{what} must be a number, got {given!r}")
    try:
        number = float(given)
    except (ValueError, OverflowError) as error:  # a signalling NaN, an integer beyond floats
        raise MeasurementError(f"{what} must be a number that fits a float ({error})") from error
    if not np.isfinite(number):
        raise MeasurementError(f"{what} must be finite, got {given!r}")
    return number


def _translate(
    result: Result, evidence: Evidence, domain: Domain, measurer: _Measurer, session: Session[Result]
) -> OptimizeResult:
    """Return the result in SciPy's form, signs turned back for a maximum."""
    c = result.certificate
    seen = np.where(evidence.counts > 0, evidence.means, np.inf)
    translated = OptimizeResult()
    translated.update(
        x=np.array(result.x),
        success=result.status in (Status.BUDGET_SPENT, Status.ACCURACY_REACHED),
        status=list(Status).index(result.status),
        message=result.status.value if c is None else " ".join([result.status.value, *c.caveats]),
        stop_reason=result.status.name,
        nfev=measurer.n_calls,
        nfail=measurer.n_failures,
        nit=session.n_rounds,
        rounds=session.n_rounds,
        x_best_observed=domain.from_unit(evidence.points[int(np.argmin(seen))]),
        hess=None if result.hessian is None else measurer.sign * np.array(result.hessian),
        x_cov=None if result.estimate.covariance is None else np.array(result.estimate.covariance),
    )
    if c is not None:
        translated.update(
            fun=measurer.sign * c.fun,
            fun_se=c.fun_se,
            x_ci=np.array(c.x_ci),
            hess_eig=measurer.sign * np.array(c.hess_eig),
            hess_eig_se=np.array(c.hess_eig_se),
            sigma=c.sigma,
            regret=c.regret,
            regret_bound=c.regret_bound,
            confidence=c.confidence,
            caveats=list(c.caveats),
            forecast=c.regret_after,
        )
    return translated
