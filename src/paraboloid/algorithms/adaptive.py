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
from dataclasses import dataclass, replace
from typing import SupportsIndex

import numpy as np

from paraboloid.algorithms.accuracy import Progress, progress_towards
from paraboloid.algorithms.conclusion import conclude
from paraboloid.algorithms.rounds import (
    ROUNDS,
    default_rounds,
    planned_ahead,
    round_size_for_accuracy,
    round_size_for_model,
)
from paraboloid.core import (
    Counts,
    Domain,
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
    away_from_failures,
    check_points,
    likely_instance,
    merge,
    next_batch,
    next_smooth_batch,
    pilot,
    pilot_with_checks,
    scattered_batch,
    scattered_once,
)
from paraboloid.numerics import Model, SmoothFit, modelled, n_low, n_terms, project_onto_region

__all__ = ["adaptive", "propose"]

LARGEST_BUDGET = 10**9  # of a search that is asked for an accuracy only
LOW_ONES = 5  # measurements near the minimum that are enough to see whether the noise is smaller there
LIKELY = 2  # times p measurements: with fewer, the prior and not noise has spread the fitted curvatures
VERIFYING = 3  # times p measurements in a round: enough to measure every place twice where some values are wild
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
    """Return the adaptive search: pilot, growing rounds, an answer from all data.

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
    start, model, progress = evidence.n_attempts, _modelled(evidence, c), Progress()
    for k in range(c.rounds):
        taken = evidence.n_attempts - start
        is_last = k == c.rounds - 1 and c.budget < LARGEST_BUDGET
        n = c.budget - taken if is_last else _round_size(taken, c, k, model, progress)
        batch = _Batch(n, c.seed, evidence.n_attempts, np.zeros((0, c.domain.dimension)), c.budget - taken - n)
        if model is None:
            points, repeats = _begun(batch, c.domain.shape, c.smooth)
        else:
            points, repeats = _proposed(evidence, model, replace(batch, is_doubted=progress.is_doubted), c.domain.shape)
        experiment = Experiment(c.domain.from_unit(points), repeats, allows_failures=True)
        y = yield from measure(experiment)
        evidence = evidence.with_measurements(c.domain.to_unit(experiment.points), y)
        taken = evidence.n_attempts - start
        model = _modelled(evidence, c)
        if c.eps is not None and taken > 2 * evidence.dimension and model is not None:
            progress = progress_towards(c.eps, model, c.confidence)
            if progress.reaches(c.eps) and taken > 2 * evidence.dimension + 1:
                return _concluded(evidence, model, c, Status.ACCURACY_REACHED)
            is_patient = taken <= PATIENCE * n_terms(evidence.dimension)
            if np.isinf(progress.bound) and c.budget == LARGEST_BUDGET and not is_patient:
                return _concluded(evidence, model, c, Status.NO_BOUND)
        if taken >= c.budget:
            break
    return _concluded(evidence, model, c, Status.BUDGET_SPENT)


def _modelled(evidence: Evidence, c: Constants) -> Model | None:
    return None if evidence.n_measurements == 0 else modelled(evidence, c.domain.shape, c.smooth)


def _concluded(evidence: Evidence, model: Model | None, c: Constants, status: Status) -> Result:
    return conclude(evidence, c.domain, confidence=c.confidence, status=status, smooth=c.smooth, model=model)


def _round_size(taken: int, c: Constants, k: int, model: Model | None, progress: Progress) -> int:
    """Return how many measurements round k takes."""
    left, d = c.budget - taken, c.domain.dimension
    if c.batch is not None:
        return min(c.batch, left)
    if c.eps is None:
        return round_size_for_model(model, taken, d=d, budget=c.budget, planned=c.planned, rounds_left=c.rounds - k)
    return min(left, round_size_for_accuracy(taken, d=d, eps=c.eps, bound=progress.forecast(c.eps)))


def propose(
    evidence: Evidence,
    n: int,
    *,
    shape: Shape,
    seed: int = 0,
    pending: Matrix | None = None,
    smooth: bool = True,
    left: int | None = None,
    is_doubted: bool = False,
) -> tuple[Matrix, Counts]:
    """Return points (k, d) in unit coordinates and repeats (k,) of the n measurements that are worth most now.

    A pure function of its arguments: random choices are keyed by the seed and the number of measurements taken.
    Points that are being measured elsewhere are ``pending``, shape (m, d): they count as information that will come.
    After the n measurements so many may be ``left``; None says that there is no limit. ``is_doubted`` where the answer
    is good enough if the response is a quadratic (`algorithms.accuracy`): half of the n then ask whether it is one.

    >>> points, repeats = propose(Evidence.empty(2), 5, shape=Shape.BALL)
    >>> points.shape, int(repeats.sum())
    ((5, 2), 5)
    """
    waiting = np.zeros((0, evidence.dimension)) if pending is None else np.asarray(pending, dtype=np.float64)
    batch = _Batch(n, seed, evidence.n_attempts, waiting, left, is_doubted)
    if evidence.n_measurements == 0:
        return _begun(batch, shape, smooth)
    return _proposed(evidence, modelled(evidence, shape, smooth), batch, shape)


@dataclass(frozen=True, slots=True, eq=False)
class _Batch:
    """What is wanted: n measurements after so many that were taken, with points that are being measured elsewhere."""

    n: int
    seed: int
    taken: int
    waiting: Matrix
    left: int | None = None
    is_doubted: bool = False

    @property
    def counted(self) -> int:
        """Measurements taken or under way: what random choices are keyed by."""
        return self.taken + len(self.waiting)


def _begun(batch: _Batch, shape: Shape, smooth: bool) -> tuple[Matrix, Counts]:
    """Return the pilot, without those of its points that are being measured."""
    n_waiting, d = batch.waiting.shape
    beginning = pilot(shape, d, n_waiting + batch.n, np.random.default_rng([batch.seed, batch.taken]))
    if smooth:
        beginning = pilot_with_checks(beginning, shape, np.random.default_rng([batch.seed, batch.taken, 1]))
    return merge(beginning[n_waiting:], np.ones(batch.n, dtype=np.int64))


def _proposed(evidence: Evidence, model: Model, batch: _Batch, shape: Shape) -> tuple[Matrix, Counts]:
    """Return a batch in one of four ways, by what the model says of shape and noise."""
    n, rng = batch.n, np.random.default_rng([batch.seed, batch.counted])
    is_many = n >= VERIFYING * n_terms(evidence.dimension)
    is_verifying = model.limited.is_exact and not model.limited.is_quadratic and is_many
    if model.smooth is not None:
        again = 2 if is_verifying else 1  # values that agree are no wild ones
        points, repeats = _followed(model, model.smooth, batch.waiting, n // again, shape, rng)
        repeats = again * repeats + (np.arange(len(repeats)) < n % again)
    elif model.is_low:
        points, repeats = scattered_once(model.window, n, shape, rng)
    elif model.is_rippled and is_verifying:
        points, repeats = scattered_batch(model.fit.minimiser, n, rng)
    else:
        measured = evidence.n_measurements + len(batch.waiting)
        ahead = planned_ahead(measured, n, d=evidence.dimension, left=batch.left)
        points, repeats = _designed(model, batch, rng, ahead)
    there = project_onto_region(shape, model.window.from_local(points))
    return away_from_failures(there, evidence, model.minimiser), repeats


def _designed(model: Model, batch: _Batch, rng: np.random.Generator, ahead: int | None) -> tuple[Matrix, Counts]:
    """Return a batch for a quadratic, with checks where other shapes are looked for: designed with these in mind.

    Its points are in the coordinates of the window.
    """
    n, d = batch.n, model.fit.minimiser.size
    checks, counts = np.zeros((0, d)), np.zeros(0, dtype=np.int64)
    if model.lack is not None:
        missing = max(0, LOW_ONES - n_low(model.evidence, model.fit))
        checks, counts = check_points(
            model.fit, model.shape, batch.counted, n, rng, model.lack, missing, batch.is_doubted
        )
    rest = n - int(counts.sum())
    if rest == 0:
        return checks, counts
    is_told = model.evidence.n_measurements >= LIKELY * n_terms(d)
    fit = likely_instance(model.fit, model.shape) if is_told else model.fit
    expecting = fit.expecting(model.window.to_local(batch.waiting)).expecting(checks, counts)
    points, repeats = next_batch(expecting, model.shape, rest, rng, ahead)
    return merge(np.vstack([points, checks]), np.concatenate([repeats, counts]))


def _followed(
    model: Model, smooth: SmoothFit, waiting: Matrix, n: int, shape: Shape, rng: np.random.Generator
) -> tuple[Matrix, Counts]:
    """Return a batch for a shape that is followed; half of it over the whole range where a window may be the wrong one.

    Its points are in the coordinates of the window.
    """
    far = 0 if model.outer is None else n // 2
    if model.outer is not None and n == 1:
        far = int(rng.integers(2))
    expecting = smooth.expecting(model.window.to_local(waiting))
    near, repeats = next_smooth_batch(expecting, model.shape, n - far, rng)
    if model.outer is None or far == 0:
        return near, repeats
    elsewhere, again = next_smooth_batch(model.outer.expecting(waiting), shape, far, rng)
    return merge(np.vstack([near, model.window.to_local(elsewhere)]), np.concatenate([repeats, again]))
