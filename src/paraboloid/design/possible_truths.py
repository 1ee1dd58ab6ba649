"""Truths that the data allow, drawn at random: what the recommended point would lose in each, and where its minimum is.

Some are quadratics: θ around its estimate. The others are quadratics with a smooth discrepancy, drawn from the settings
of `numerics.contrasts`, each as often as it is likely given the contrasts and what is assumed before any data. Then
four responses in ten are quadratics (`QUADRATIC`); nearly all others depart from the best one over the region by 5 to
50 per cent of its spread, as curves that saturate, have a wall or a skew do (`PARTS`); and for eight quadratics there
is one departure as small as the noise may hide, whatever the spread. That is no belief: more responses are quadratics.
But a bound that holds in 95 of 100 over all of them may fail for most that are none, and this one is to hold for these
alone. So it matters how much of the spread the noise is. Where it is little, an ordinary departure would be seen, and
the bound is nearly that of a quadratic. Where it is a third, no number of measurements at the few places that are best
for a quadratic tells the two apart, and only checks narrow the bound.

A drawn truth that is not quadratic loses the larger of two: half gᵀH⁻¹g by its own gradient and Hessian at the point
recommended, and the height of that point above a measured place, or one on the way to it.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import linalg

from paraboloid.core import Matrix, Shape, Vector
from paraboloid.numerics import LackOfFit, QuadraticFit, features, gradient_map, vector_to_matrix
from paraboloid.numerics.contrasts import KINDS, LENGTHS, SIZES, TIP, Contrasts, Discrepancy
from paraboloid.numerics.lack_of_fit import FEWEST as FEWEST_CONTRASTS
from paraboloid.numerics.positive import solve_each

__all__ = ["Truths", "is_suspected", "quadratic_truths", "with_other_truths"]

DRAWS = 4000
TOGETHER, FEWEST_TOGETHER = 2**14, 250  # half the numbers, and draws, of one part: the next takes the memory of it
OTHERS = 2000  # draws of the discrepancies, if they were certain
FEWEST = 20  # draws of one of them
RARE = 1e-3  # chance below which a discrepancy is left out
QUADRATIC, ORDINARY, SLIGHT = 0.4, 0.55, 0.05  # assumed beforehand: what the guarantee off quadratics rests on (docs)
COUNTED = tuple(kind for kind in KINDS if kind != (LENGTHS[0], TIP))  # a dip of its own about the place recommended?
PARTS = (0.067, 0.12, 0.21, 0.38)  # of the spread: the middles of four equal parts, in logarithms, of 5 to 50 per cent
SHIFTING = SIZES[1:]  # of slight departures; the least moves the minimum no more than noise does
STEP = 0.15  # of the differences that gradient and Hessian come from: half the shortest range at one knob
PLACES = 60  # measured ones that are compared with the point recommended, the lowest
WAYS = (1.0, 0.5, 0.2)  # parts of the way to them
SEED = 20231210  # the draws are fixed, so that a certificate is a function of the evidence alone


@dataclass(frozen=True, slots=True, eq=False)
class Truths:
    """Losses (n,), minimisers (n, d) and chances (n,), which sum to one.

    Examples
    --------
    >>> import numpy as np
    >>> Truths(np.array([1.0, 3.0]), np.zeros((2, 1)), np.array([0.9, 0.1])).bound(0.8)
    1.0
    """

    losses: Vector
    minimisers: Matrix
    chances: Vector

    def bound(self, confidence: float) -> float:
        """Return the loss that is not exceeded with this chance."""
        return float(_quantiles(self.losses, self.chances, [confidence])[0])

    def interval(self, confidence: float) -> Matrix:
        """Return for each knob where the minimiser is with this chance, (d, 2), within the region."""
        inside = np.clip(self.minimisers.T, -1.0, 1.0)
        tails = (1 - confidence) / 2, (1 + confidence) / 2
        return np.array([_quantiles(knob, self.chances, tails) for knob in inside])


def _quantiles(values: Vector, chances: Vector, levels: Sequence[float]) -> Vector:
    """Return the quantiles; only values that may be one of them are sorted: those in the middle cannot."""
    n, least = len(values), float(chances.min())
    edges = [min(level, 1 - level) / least + 2 if least > 0 else n for level in levels]
    tail = int(min(n, max(edges)))  # of the rarest hardly anything is left where the values speak against it
    order = np.argpartition(values, [tail - 1, n - tail]) if 2 * tail < n else np.argsort(values)
    for end in (order[:tail], order[n - tail :]) if 2 * tail < n else ():
        end[:] = end[np.argsort(values[end])]
    reached = np.cumsum(chances[order])
    found = np.searchsorted(reached, np.multiply(levels, reached[-1]))
    quantiles: Vector = values[order[np.minimum(found, n - 1)]]
    return quantiles


def quadratic_truths(fit: QuadraticFit, covariance: Matrix, shape: Shape) -> Truths:
    """Return quadratics that the data allow.

    >>> import numpy as np
    >>> from paraboloid.numerics import QuadraticFit
    >>> fit = QuadraticFit(np.array([0.0, 0.0, 2.0]), 0.01 * np.eye(3), 1.0, 50.0, np.zeros(1))
    >>> quadratic_truths(fit, fit.covariance, Shape.BOX).losses.shape
    (4000,)
    """
    z, d = fit.minimiser, fit.minimiser.size
    rng = np.random.default_rng(SEED)
    p = fit.theta.size
    freedom = max(fit.freedom, 1.0)
    normal = rng.standard_normal((DRAWS, p - 1))
    normal *= np.sqrt(freedom / rng.chisquare(freedom, (DRAWS, 1)))  # in place: new memory costs most
    root, slopes = _root(covariance[1:, 1:]), gradient_map(z)[:, 1:]  # the constant does not matter
    losses, minimisers = np.empty(DRAWS), np.empty((DRAWS, d))
    size = 2 * max(FEWEST_TOGETHER, TOGETHER // (d * d))  # even: signs of what has no minimum alternate
    for begin in range(0, DRAWS, size):
        part = slice(begin, begin + size)
        drawn = root @ normal[part].T
        drawn += fit.theta[1:, None]
        H = vector_to_matrix(drawn[d:], d).transpose(2, 0, 1)
        losses[part], away = _local_losses(H, (slopes @ drawn).T, z, shape)
        np.subtract(z, away, out=minimisers[part])
    return Truths(losses, minimisers, np.full(DRAWS, 1 / DRAWS))


def _root(covariance: Matrix) -> Matrix:
    scale = np.sqrt(np.diag(covariance))
    correlation = covariance / (scale[:, None] * scale)
    correlation.flat[:: len(scale) + 1] += 1e-12
    root, failed = linalg.lapack.dpotrf(correlation, lower=1, clean=1)
    if failed:
        raise linalg.LinAlgError("the covariance is not positive definite")
    spread: Matrix = scale[:, None] * root
    return spread


def _local_losses(H: Matrix, gradient: Matrix, z: Vector, shape: Shape) -> tuple[Vector, Matrix]:
    """Return ½ gᵀH⁻¹g and the step H⁻¹g of each truth, infinite where it has no minimum."""
    H, gradient = _held_by_the_edge(H, gradient, z, shape)
    step, has_minimum = solve_each(H, gradient)
    with np.errstate(all="ignore"):  # the steps of truths without a minimum mean nothing, and may overflow
        losses = np.where(has_minimum, np.einsum("ni,ni->n", step, gradient) / 2, np.inf)
    sign = np.where(np.arange(len(H)) % 2, 1.0, -1.0)[:, None]
    return losses, np.where(has_minimum[:, None], step, np.inf * sign)


def is_suspected(fit: QuadraticFit, shape: Shape, lack: LackOfFit) -> bool:
    """Return whether anything at all speaks against a quadratic: by departures of any size, and by ordinary ones.

    The former are measured in units of the noise. Where noise is little beside the response's spread, they come up now
    and then by chance, and are so slight that no response departs from a quadratic by so little.

    >>> import numpy as np
    >>> from paraboloid.core import Evidence, Measurements
    >>> from paraboloid.numerics import fit_quadratic, lack_of_fit
    >>> z, noise = np.linspace(-1, 1, 41)[:, None], 0.1 * np.random.default_rng(0).standard_normal((41, 1))
    >>> values = [Measurements.from_values(truth + noise) for truth in (z**2, np.exp(2 * z))]
    >>> told = [Evidence.empty(1).with_measurements(z, one) for one in values]
    >>> fits = [fit_quadratic(evidence, Shape.BOX) for evidence in told]
    >>> [is_suspected(fit, Shape.BOX, lack_of_fit(one, fit, Shape.BOX)) for fit, one in zip(fits, told)]
    [False, True]
    """
    contrasts = lack.contrasts
    if contrasts is None or lack.n_contrasts < FEWEST_CONTRASTS or lack.log_bayes_factor <= 0 or not contrasts.is_full:
        return False
    nowhere = np.zeros((0, fit.minimiser.size))
    found = contrasts.discrepancies(nowhere, sizes=PARTS, least=np.inf, spread=_spread(fit, shape))
    total = float(np.logaddexp.reduce([one.log_bayes_factor for one in found]))
    return total > math.log(contrasts.n_kinds() * len(PARTS))


def with_other_truths(
    truths: Truths, fit: QuadraticFit, covariance: Matrix, shape: Shape, contrasts: Contrasts
) -> Truths:
    """Return the truths with those that are not quadratic among them, each with its chance."""
    z = fit.minimiser
    inside = contrasts.points[np.abs(contrasts.points).max(axis=1) <= 1 + 1e-9]
    lowest = inside[np.argsort(features(inside) @ fit.theta, kind="stable")[:PLACES]]
    places = np.vstack([_stencil(z), *[z + way * (lowest - z) for way in WAYS]])
    found, logs = _found(contrasts, fit, places, _spread(fit, shape))
    total = np.logaddexp.reduce([*logs, np.log(QUADRATIC)])
    rng = np.random.default_rng([SEED, 1])
    quadratics = fit.theta, _root(covariance), features(places)
    values, chances = [], [truths.chances * np.exp(np.log(QUADRATIC) - total)]
    for one, chance in zip(found, np.exp(logs - total), strict=True):
        if chance < RARE:
            continue
        n = max(FEWEST, int(OTHERS * chance))
        values.append(_drawn(one, quadratics, n, rng))
        chances.append(np.full(n, chance / n))
    if not values:
        return Truths(truths.losses, truths.minimisers, chances[0])
    losses, minimisers = _losses(np.vstack(values), places, z, shape)
    return Truths(
        np.concatenate([truths.losses, losses]), np.vstack([truths.minimisers, minimisers]), np.concatenate(chances)
    )


def _found(contrasts: Contrasts, fit: QuadraticFit, places: Matrix, spread: float) -> tuple[list[Discrepancy], Vector]:
    """Return the discrepancies and the logarithms of their chances, all but for the same factor."""
    found, logs = [], []
    for prior, sizes, unit in ((ORDINARY, PARTS, spread), (SLIGHT, SHIFTING, None)):
        each = np.log(prior / ((contrasts.n_kinds(COUNTED) + 1) * len(sizes)))
        least = float(np.log(RARE * QUADRATIC) - each)  # rarer than RARE, whatever the others are
        smooth = contrasts.discrepancies(places, COUNTED, sizes=sizes, least=least, spread=unit)
        for one in (*smooth, *contrasts.bent(places, fit, sizes, least, unit)):
            found.append(one)
            logs.append(one.log_bayes_factor + each)
    return found, np.array(logs)


def _spread(fit: QuadraticFit, shape: Shape) -> float:
    """Return the standard deviation of the fitted quadratic over the region."""
    d, H = fit.minimiser.size, fit.hessian
    slope = gradient_map(np.zeros(d)) @ fit.theta
    if shape is Shape.BOX:
        variance = slope @ slope / 3 + np.sum(H**2) / 18 - np.sum(np.diag(H) ** 2) * (1 / 18 - 1 / 45)
    else:
        squares, trace = np.sum(H**2), np.trace(H)
        variance = slope @ slope / (d + 2) + (squares / 2 - trace * trace / (2 * (d + 2))) / ((d + 2) * (d + 4))
    return float(np.sqrt(variance))


def _drawn(one: Discrepancy, quadratics: tuple[Vector, Matrix, Matrix], n: int, rng: np.random.Generator) -> Matrix:
    """Return n truths at the places, (n, m)."""
    theta, root, phi = quadratics
    freedom = max(one.freedom, 1.0)
    heavy = np.sqrt(freedom / rng.chisquare(freedom, (n, 1)))
    fitted = theta + heavy * (rng.standard_normal((n, len(theta))) @ root.T)
    added = one.mean + heavy * one.drawn(rng.standard_normal((n, one.n_parts)))
    values: Matrix = fitted @ phi.T + added
    return values


def _losses(values: Matrix, places: Matrix, z: Vector, shape: Shape) -> tuple[Vector, Matrix]:
    """Return what z loses in each truth, and where that truth is lowest."""
    d = z.size
    gradient, H = _derivatives(values, d)
    local, step = _local_losses(H, gradient, z, shape)
    n_stencil = 2 * d + 1 + d * (d - 1) // 2
    lowest = np.argmin(values[:, n_stencil:], axis=1)
    height = np.maximum(values[:, 0] - values[np.arange(len(values)), n_stencil + lowest], 0.0)
    is_local = np.isfinite(local) & (local >= height)
    minimisers = np.where(is_local[:, None], z - step, places[n_stencil + lowest])
    return np.where(is_local, local, height), minimisers


def _stencil(z: Vector) -> Matrix:
    """Return z, a step up and down along every knob, and steps up along every two."""
    steps = STEP * np.eye(z.size)
    i, j = np.triu_indices(z.size, 1)
    return z + np.vstack([np.zeros((1, z.size)), steps, -steps, steps[i] + steps[j]])


def _derivatives(values: Matrix, d: int) -> tuple[Matrix, Matrix]:
    """Return gradients (n, d) and Hessians (n, d, d) from the values at the stencil, the first of each row."""
    i, j = np.triu_indices(d, 1)
    here, up, down = values[:, :1], values[:, 1 : d + 1], values[:, d + 1 : 2 * d + 1]
    both = values[:, 2 * d + 1 : 2 * d + 1 + len(i)]
    H = np.zeros((len(values), d, d))
    H[:, range(d), range(d)] = (up + down - 2 * here) / STEP**2
    H[:, i, j] = H[:, j, i] = (both - up[:, i] - up[:, j] + here) / STEP**2
    return (up - down) / (2 * STEP), H


def _held_by_the_edge(H: Matrix, gradient: Matrix, z: Vector, shape: Shape) -> tuple[Matrix, Matrix]:
    """Return Hessians and gradients without the directions in which the edge holds the minimiser of that truth."""
    d = z.size
    if shape is Shape.BOX:
        held = (np.abs(z) >= 1 - 1e-9) & (gradient * np.sign(z) < 0)
        if not held.any():
            return H, gradient
        gradient = np.where(held, 0.0, gradient)
        free = ~held
        return H * (free[:, :, None] & free[:, None, :]) + held[:, :, None] * np.eye(d), gradient
    norm = float(np.linalg.norm(z))
    if norm < 1 - 1e-9:
        return H, gradient
    u = z / norm
    multiplier = np.maximum(-gradient @ u, 0.0)
    held = multiplier > 0
    across = np.where(held[:, None, None], np.eye(d) - np.outer(u, u), np.eye(d))
    bent = across @ (H + multiplier[:, None, None] * np.eye(d)) @ across
    bent = bent + held[:, None, None] * np.outer(u, u)
    return bent, np.einsum("nij,nj->ni", across, gradient)
