"""The adaptive search: optimal design for the regret, round by round. Ours, beyond the paper; see docs/adaptive.md.

Knows nothing of the Hessian, the offset or the noise, and aims at a mean regret of σ²V*/T, V* the instance limit of
`theory.instance_limit_bounds`; benchmarks/regret.py measures how near it comes.

What to measure next is a pure function of the evidence so far: `propose` of `algorithms.proposal`; so is the answer:
`conclude`. The procedure is a loop over the two.

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
from paraboloid.algorithms.proposal import Batch, begun, proposed
from paraboloid.algorithms.rounds import (
    ROUNDS,
    default_rounds,
    round_size_for_accuracy,
    round_size_for_model,
)
from paraboloid.core import (
    Domain,
    Evidence,
    Experiment,
    Knob,
    Procedure,
    Result,
    Status,
    UsageError,
    as_domain,
    check_budget,
    check_positive,
    measure,
)
from paraboloid.numerics import Model, modelled, n_terms

__all__ = ["adaptive"]

LARGEST_BUDGET = 10**9  # of a search that is asked for an accuracy only
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
        batch = Batch(n, c.seed, evidence.n_attempts, np.zeros((0, c.domain.dimension)), c.budget - taken - n)
        if model is None:
            points, repeats = begun(batch, c.domain.shape, c.smooth)
        else:
            points, repeats = proposed(evidence, model, replace(batch, is_doubted=progress.is_doubted), c.domain.shape)
        experiment = Experiment(c.domain.from_unit(points), repeats, allows_failures=True)
        y = yield from measure(experiment)
        evidence = evidence.with_measurements(c.domain.to_unit(experiment.points), y)
        taken = evidence.n_attempts - start
        model = _modelled(evidence, c)
        if c.eps is not None and taken > 2 * evidence.dimension and model is not None:
            progress = progress_towards(c.eps, evidence, model, c.confidence)
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
