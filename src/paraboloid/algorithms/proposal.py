"""What the adaptive search measures next: a pure function of the evidence so far, the number wanted and a seed."""

from dataclasses import dataclass, replace

import numpy as np

from paraboloid.algorithms.rounds import planned_ahead
from paraboloid.core import Counts, Evidence, Matrix, Shape
from paraboloid.design import (
    away_from_failures,
    believed,
    check_points,
    is_suspected,
    merge,
    next_batch,
    next_smooth_batch,
    pilot,
    pilot_with_checks,
    scattered_batch,
    scattered_once,
)
from paraboloid.numerics import Closed, Model, SmoothFit, fit_smooth, modelled, n_low, n_terms, project_onto_region

__all__ = ["Batch", "begun", "propose", "proposed"]

LOW_ONES = 5  # measurements near the minimum that are enough to see whether the noise is smaller there
FEWEST = 2  # measurements of a round that ask for another shape: one alone tells next to nothing
VERIFYING = 3  # times p measurements in a round: enough to measure every place twice where some values are wild


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
    batch = Batch(n, seed, evidence.n_attempts, waiting, left, is_doubted)
    if evidence.n_measurements == 0:
        return begun(batch, shape, smooth)
    return proposed(evidence, modelled(evidence, shape, smooth), batch, shape)


@dataclass(frozen=True, slots=True, eq=False)
class Batch:
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


def begun(batch: Batch, shape: Shape, smooth: bool) -> tuple[Matrix, Counts]:
    """Return the pilot, without those of its points that are being measured."""
    n_waiting, d = batch.waiting.shape
    beginning = pilot(shape, d, n_waiting + batch.n, np.random.default_rng([batch.seed, batch.taken]))
    if smooth:
        beginning = pilot_with_checks(beginning, shape, np.random.default_rng([batch.seed, batch.taken, 1]))
    return merge(beginning[n_waiting:], np.ones(batch.n, dtype=np.int64))


def proposed(evidence: Evidence, model: Model, batch: Batch, shape: Shape) -> tuple[Matrix, Counts]:
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
        points, repeats = _hedged(evidence, model, batch, rng)
    there = project_onto_region(shape, model.window.from_local(points))
    return away_from_failures(there, evidence, model.minimiser), repeats


def _hedged(evidence: Evidence, model: Model, batch: Batch, rng: np.random.Generator) -> tuple[Matrix, Counts]:
    """Return a batch for a quadratic; half of it asks what is suspected, the rest is designed in that knowledge."""
    ahead = planned_ahead(evidence.n_measurements + len(batch.waiting), batch.n, d=evidence.dimension, left=batch.left)
    asking = _asking(evidence, model, batch, rng)
    if asking is None:
        return _designed(model, batch, rng, ahead)
    n = int(asking[1].sum())
    if n == batch.n:
        return asking
    others, again = _designed(model, replace(batch, n=batch.n - n, taken=batch.taken + n), rng, ahead, asking)
    return merge(np.vstack([asking[0], others]), np.concatenate([asking[1], again]))


def _asking(evidence: Evidence, model: Model, batch: Batch, rng: np.random.Generator) -> tuple[Matrix, Counts] | None:
    """Return the half of a batch that asks what is suspected: noise that grows with the height, or another shape.

    None if neither is. What tells most of either lies near its minimum: there it is soon seen whether it is so.
    """
    half = batch.n // 2
    if model.suspected is not None:
        half = half if batch.n > 1 else int(rng.integers(2))
        return _within(model, model.suspected, replace(batch, n=half), rng) if half else None
    if half < FEWEST or not _is_suspected(model):
        return None
    shape = fit_smooth(evidence, model.shape, model.fit.minimiser)
    return next_smooth_batch(shape.expecting(batch.waiting), model.shape, half, rng)


def _within(model: Model, closed: Closed, batch: Batch, rng: np.random.Generator) -> tuple[Matrix, Counts]:
    """Return a batch for a quadratic in a window, in unit coordinates of the domain."""
    local = replace(model, fit=closed.fit, evidence=closed.evidence, lack=None, window=closed.window, shape=Shape.BALL)
    points, repeats = _designed(local, batch, rng, None)
    return project_onto_region(model.shape, closed.window.from_local(points)), repeats


def _is_suspected(model: Model) -> bool:
    return model.is_plain and model.lack is not None and is_suspected(model.fit, model.shape, model.lack)


def _designed(
    model: Model,
    batch: Batch,
    rng: np.random.Generator,
    ahead: int | None,
    beside: tuple[Matrix, Counts] | None = None,
) -> tuple[Matrix, Counts]:
    """Return a batch for a quadratic, with checks where other shapes are looked for: designed with these in mind.

    And with what is measured ``beside`` it. Its points are in the coordinates of the window.
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
    fit = believed(model.fit, model.evidence, model.shape)
    expecting = fit.expecting(model.window.to_local(batch.waiting)).expecting(checks, counts)
    if beside is not None:
        expecting = expecting.expecting(*beside)
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
