"""The door for code: `minimize` measures a Python function and returns a SciPy-style result."""

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any, SupportsIndex, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.optimize import OptimizeResult

from paraboloid.algorithms import adaptive, conclude
from paraboloid.answer import Counted, translate
from paraboloid.core import (
    Domain,
    Evidence,
    Experiment,
    Knob,
    Measurements,
    Procedure,
    Result,
    Status,
    UsageError,
    as_domain,
)
from paraboloid.report import Rows
from paraboloid.run import ExecutorLost, Measurer, Session, TooManyFailures

__all__ = ["maximize", "minimize"]

Objective: TypeAlias = Callable[..., Any]


def minimize(
    fun: Objective,
    domain: Domain | Sequence[Knob | Sequence[float]],
    *,
    budget: SupportsIndex | None = None,
    eps: float | None = None,
    confidence: float = 0.95,
    algorithm: Callable[..., Procedure] | None = None,
    executor: Any = None,
    workers: SupportsIndex | None = None,
    timeout: float | None = None,
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
        Anything with ``submit``, such as a process pool or a Dask client, or a function that makes one, called again
        if it breaks; measurements of a round then run side by side. The answer does not depend on who is first.
    workers
        In place of ``executor``, a number of processes; one that dies or hangs is replaced.
    timeout
        Seconds that one call of ``fun`` on a worker may take; then this measurement has failed.
    rng
        Seed of the search's own choices, and of the noise if ``fun`` names a parameter ``rng``: each measurement is
        then given a generator of its own.
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
        ``regret``, the expected f(x) - min f, and ``regret_bound`` at ``confidence``; ``regret_bound_if_quadratic``,
        what that bound would be if the response were known to be a quadratic over the whole range, infinite where
        ``regret_bound`` is; ``hess``, ``hess_eig``, ``sigma``, ``nfev``, ``nfail``, ``rounds``, ``stop_reason``,
        ``caveats``, ``forecast`` (a function of the number of further measurements). ``x_best_observed`` is where the
        best mean was *seen*: luck plays a part in it, do not use it as the answer. ``print(result)`` says the main
        things, and ``result.report("out.html")`` writes a report.

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
    options = _Options(
        budget=budget,
        eps=eps,
        confidence=confidence,
        algorithm=algorithm or adaptive,
        executor=executor,
        workers=workers,
        timeout=timeout,
        rng=rng,
        callback=callback,
        vectorized=vectorized,
        data=data,
    )
    return _optimise(fun, as_domain(domain), options, sign=1.0)


def maximize(fun: Objective, domain: Domain | Sequence[Knob | Sequence[float]], **options: Any) -> OptimizeResult:
    """Find the setting with the greatest mean; takes what `minimize` takes, and is its mirror image.

    Examples
    --------
    >>> import paraboloid
    >>> result = paraboloid.maximize(lambda x: 5 - (x[0] - 2) ** 2, [(0, 3)], budget=9, rng=0)
    >>> round(float(result.x[0]), 2), round(result.fun, 2)
    (2.0, 5.0)
    """
    names = {field.name for field in fields(_Options)}
    unknown = set(options) - names
    if unknown:
        raise UsageError(f"maximize does not know {', '.join(sorted(unknown))}; it takes {', '.join(sorted(names))}.")
    made = _Options(**{**options, "algorithm": options.get("algorithm") or adaptive})
    return _optimise(fun, as_domain(domain), made, sign=-1.0)


@dataclass(frozen=True, slots=True)
class _Options:
    budget: SupportsIndex | None = None
    eps: float | None = None
    confidence: float = 0.95
    algorithm: Callable[..., Procedure] = adaptive
    executor: Any = None
    workers: SupportsIndex | None = None
    timeout: float | None = None
    rng: int | np.random.SeedSequence | np.random.Generator | None = None
    callback: Callable[[OptimizeResult], object] | None = None
    vectorized: bool = False
    data: Sequence[npt.ArrayLike] | None = None


def _optimise(fun: Objective, domain: Domain, options: _Options, *, sign: float) -> OptimizeResult:
    if not callable(fun):
        raise UsageError(f"fun must be a function of a setting x, got {fun!r}.")
    if options.workers is not None and options.executor is not None:
        raise UsageError("give workers= (a number of processes) or executor=, not both.")
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
    executor = options.executor if options.workers is None else _n_workers(options.workers)
    with Measurer(
        fun, executor, timeout=options.timeout, seed=seed, vectorized=options.vectorized, sign=sign
    ) as measurer:
        return _Search(domain, options, session, measurer, evidence).run()


def _n_workers(given: SupportsIndex) -> int:
    try:
        return operator.index(given)
    except TypeError as error:
        raise UsageError(
            f"workers must be a whole number of processes, got {given!r}; for others use executor=."
        ) from error


class _Search:
    """The rounds of one search, and the answer wherever they end."""

    def __init__(
        self, domain: Domain, options: _Options, session: Session[Result], measurer: Measurer, evidence: Evidence
    ) -> None:
        self._domain, self._options = domain, options
        self._session, self._measurer = session, measurer
        self._evidence = evidence
        self._rows = [Rows.of_evidence(evidence, measurer.sign)] if len(evidence.counts) else []

    def run(self) -> OptimizeResult:
        """Return the result, be it of the whole search or of what was measured when it was stopped."""
        while not self._session.is_done:
            experiment = self._session.ask()
            try:
                self._round(experiment)
            except (StopIteration, KeyboardInterrupt) as stop:
                # Ctrl-C, too, returns what is known, this round's part included: measurements are expensive.
                if isinstance(stop, KeyboardInterrupt):
                    self._take(experiment, self._measurer.so_far(experiment))
                if self._evidence.n_measurements == 0:
                    raise  # nothing is known yet
                return self._so_far(Status.STOPPED)
            except (ExecutorLost, TooManyFailures) as error:
                self._take(experiment, self._measurer.so_far(experiment))
                error.result = self._so_far(Status.STOPPED) if self._evidence.n_measurements else None
                raise
        return self._translated(self._session.result)

    def _round(self, experiment: Experiment) -> None:
        measurements = self._measurer.measure(experiment)
        self._take(experiment, measurements)
        budget = self._options.budget
        is_last = budget is not None and self._measurer.n_calls >= operator.index(budget)
        self._measurer.check_failures(nothing_else=is_last and self._evidence.n_measurements == 0)
        self._session.tell(measurements)
        if self._options.callback is not None and self._evidence.n_measurements and not self._session.is_done:
            self._options.callback(self._so_far(Status.BUDGET_SPENT))

    def _take(self, experiment: Experiment, measurements: Measurements) -> None:
        if measurements.n_measurements + measurements.n_failures:
            points, sign = self._domain.to_unit(experiment.points), self._measurer.sign
            self._evidence = self._evidence.with_measurements(points, measurements)
            self._rows.append(Rows.of(self._session.n_rounds + 1, points, measurements, sign))

    def _so_far(self, status: Status) -> OptimizeResult:
        options = self._options
        return self._translated(conclude(self._evidence, self._domain, confidence=options.confidence, status=status))

    def _translated(self, result: Result) -> OptimizeResult:
        measurer, rounds = self._measurer, self._session.n_rounds
        return translate(
            result,
            self._evidence,
            self._domain,
            sign=measurer.sign,
            counted=Counted(measurer.n_calls, measurer.n_failures, rounds),
            is_over=True,
            sentence=result.status.value,
            rows=tuple(self._rows),
        )


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
    if precision is None:
        return evidence.with_measurements(domain.to_unit(x), Measurements.from_values(y[:, None]))
    ones = np.ones(len(y), dtype=np.int64)
    return evidence.with_measurements(domain.to_unit(x), Measurements(ones, y, np.zeros(len(y)), precision=precision))
