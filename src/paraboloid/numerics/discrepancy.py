"""What the contrasts of `numerics.contrasts` see of a discrepancy, how likely each size of it is, and what it adds.

The likelihood is that of covariance σ²(I + s U Uᵀ) against σ²I, σ² integrated out of both: with G = UᵀU,

    log B(s) = -½ log |I + s G| - (f/2) log (r(s) + scatter)/(|u|² + scatter),   r(s) = uᵀ(I + s U Uᵀ)⁻¹u,

and G and Uᵀu are enough, by Woodbury's identity. Most sizes are hopeless, and that is known from others without a new
factor: ½ log |I + s G| is a convex function of log s that grows, and r falls, but s r(s) does not.

==================  ======================  =========================================================
symbol              code                    meaning
==================  ======================  =========================================================
G, Uᵀu              ``gram``, ``Uu``        of what the contrasts see of it, (k, k) and (k,)
s                   ``size``                its variance, in units of the noise's
f                   ``freedom``             degrees of freedom of the noise
==================  ======================  =========================================================
"""

import functools
import math
from dataclasses import dataclass

import numpy as np
from scipy import linalg

from paraboloid.core import Matrix, Vector

__all__ = ["SIZES", "Discrepancy", "Seen"]

SIZES = (0.3, 5.0, 100.0, 3000.0)  # of the discrepancy's variance, in units of the noise's
KEPT = 11  # kinds of discrepancies whose numbers are kept: as many as there are on a box
HOPELESS = -40.0  # log Bayes factor below which one is lost in the rounding of their sum
LARGE = 40  # columns, up to which a new factor takes no longer than a bound
ROUNDING = 1e-9  # of the values' spread


@dataclass(frozen=True, slots=True, eq=False)
class Discrepancy:
    """One discrepancy of the set, given the contrasts: how likely it is, and what it may add to the fitted quadratic.

    Parameters
    ----------
    log_bayes_factor
        Against none.
    mean
        Of what it adds at the places asked for, (m,), in the value's unit.
    freedom
        Degrees of freedom of the noise that the covariance is a multiple of.
    follows, unseen, lower
        Of what it adds: F (m, r), what the points tell of it; E (m, k), what they do not; and the factor L (r, r) of
        what they tell. The covariance is F(LLᵀ)⁻¹Fᵀ + EEᵀ.
    """

    log_bayes_factor: float
    mean: Vector
    freedom: float
    follows: Matrix
    unseen: Matrix
    lower: Matrix

    @property
    def n_parts(self) -> int:
        """How many independent numbers one draw takes."""
        return int(self.follows.shape[1] + self.unseen.shape[1])

    @property
    def root(self) -> Matrix:
        """A root of the covariance at the places, (m, r + k)."""
        known = linalg.blas.dtrsm(1.0, self.lower, self.follows.T, lower=1).T
        return np.concatenate([known, self.unseen], axis=1)

    def drawn(self, normal: Matrix) -> Matrix:
        """Return what is added to the mean, (n, m), from independent standard normal numbers (n, r + k)."""
        if len(normal) > len(self.mean):
            return normal @ self.root.T
        # Of few draws there are fewer columns to solve for than places.
        told, rest = normal[:, : len(self.lower)], normal[:, len(self.lower) :]
        known = linalg.blas.dtrsm(1.0, self.lower, told.T, lower=1, trans_a=1).T
        both: Matrix = known @ self.follows.T + rest @ self.unseen.T
        return both


@dataclass(frozen=True, slots=True)
class _Tried:
    """A size, ½ log |I + s G| and r(s)."""

    size: float
    level: float
    left: float


@dataclass(frozen=True, slots=True, eq=False)
class Seen:
    """What the contrasts see of a discrepancy of one range and growth: verdict and bound ask for the same ones.

    Parameters
    ----------
    gram, Uu, uu
        G, Uᵀu and |u|².
    scatter, freedom
        Of the repeats, in units of the noise, and the degrees of freedom of that and of u.
    pull, typical
        What a quadratic takes of the discrepancy, (p, k), and its unit.
    """

    gram: Matrix
    Uu: Vector
    uu: float
    scatter: float
    freedom: float
    pull: Matrix
    typical: float

    def told(self, size: float, work: Matrix) -> tuple[Matrix, Vector, float] | None:
        """Return the root of I + s G, what of u follows from U, and r(s); the root is in ``work``, (k, k).

        None for weights of too many orders of magnitude for this size.
        """
        K = np.multiply(self.gram, size, out=work)
        K.reshape(-1)[:: len(K) + 1] += 1.0
        root, failed = linalg.lapack.dpotrf(K.T, lower=1, clean=0, overwrite_a=1)
        if failed:
            return None
        explained = linalg.blas.dtrsv(root, self.Uu, lower=1)
        return root, explained, max(self.uu - size * float(explained @ explained), ROUNDING**2 * self.uu)

    def log_bayes_factors(self, sizes: tuple[float, ...]) -> tuple[float, ...]:
        """Return the log Bayes factor of each size, in growing order: of a hopeless one what it is below."""
        return _log_bayes_factors(self, sizes)[0]

    def of(self, tried: _Tried) -> float:
        """Return the log Bayes factor."""
        square = self.uu + self.scatter
        change = self.freedom / 2 * math.log((tried.left + self.scatter) / square) if square > 0 else 0.0
        return -tried.level - change

    def at_most(self, size: float, tried: tuple[_Tried, ...]) -> float:
        """Return what the log Bayes factor of this size is below, by other sizes, in growing order."""
        before = [one for one in tried if one.size <= size][-2:]
        if not before:
            return np.inf
        last = before[-1]
        left = max([last.left * last.size / size, *(one.left for one in tried if one.size >= size)])
        steepness = (last.level - before[0].level) / math.log(last.size / before[0].size) if len(before) > 1 else 0.0
        return self.of(_Tried(size, last.level + steepness * math.log(size / last.size), left))


@functools.lru_cache(maxsize=2 * KEPT)
def _log_bayes_factors(seen: Seen, sizes: tuple[float, ...]) -> tuple[tuple[float, ...], tuple[_Tried, ...]]:
    """Return the log Bayes factor of each size, and the sizes that were tried.

    Only the numbers are kept. The roots of a few likely ones are made again where they are needed; to keep them all
    would take as long as to make them, for memory costs most when it is new.
    """
    work, found, is_large = np.empty(seen.gram.shape), [], len(seen.gram) > LARGE
    others = _log_bayes_factors(seen, SIZES)[1] if is_large and sizes != SIZES else ()
    tried: tuple[_Tried, ...] = ()
    for size in sizes:
        if is_large and size > 0:
            highest = seen.at_most(size, tuple(sorted((*others, *tried), key=lambda one: one.size)))
            if highest < HOPELESS:
                found.append(highest)
                continue
        told = seen.told(size, work)
        if told is None:
            found.append(-np.inf)
            continue
        root, _, left = told
        one = _Tried(size, float(np.add.reduce(np.log(root.diagonal()))), left)
        found.append(seen.of(one))
        if size > 0:  # a response without any spread has discrepancies of no size, which say nothing of others
            tried = (*tried, one)
    return tuple(found), tried
