"""Measurements one at a time: what each would gain, the best of them in turn, and better ones in their places.

The gain of a measurement is the drop of tr(WΣ) that it brings, φᵀΣWΣφ/(σ² + φᵀΣφ). Choosing the largest in turn is good
where Σ changes little by each. As long as there are fewer measurements than coefficients it is not: each choice is then
made as if none would follow, and the last coefficients hang on small differences of large values. Replacing each by the
best one in its place, with all others there, lowers tr(WΣ) to a third to a fifth for ten knobs. One turn is not enough:
of p measurements for twenty knobs, with the Hessian known, two leave 0.7 of what one leaves, and six leave half.
"""

import math
from typing import TypeAlias

import numpy as np

from paraboloid.core import Counts, Matrix, Shape, Vector
from paraboloid.design.solver import Climb, ascend
from paraboloid.numerics import features

__all__ = ["Precise", "choose_greedily", "choose_in_turn", "exchange"]

EQUAL = 1e-6  # relative difference of gains below which rounding would choose, between mirror images for one
LARGEST = 1000  # power of two
LEAST = 0.005  # part of tr(WΣ) that a turn should gain: a point that gains less than its share of it stays
TOGETHER = 2**14  # entries of Σ that are worked on together: with what they take they fit into a processor's cache
POLISHING = 10  # steps of the ascent from the best candidate
HEDGE = 0.03
"""Of the largest variance that the model predicts: added to the noise where points are chosen one by one.

The gain is a ratio, and where the noise is small beside what is not known yet, a place that tells hardly anything gains
as much as the one that tells most; the answer then hangs on differences that noise blurs. Fades as data come."""

Precise: TypeAlias = tuple[Matrix, Matrix, float]
"""Σ, W and σ²: what is known, what it is wanted for, and the noise of one measurement."""


def _best(gains: Vector) -> int:
    highest = gains.max()
    return int(np.argmax(gains >= highest - EQUAL * abs(highest)))


class _Gains:
    """Σ and ΣWΣ after measurements were added or taken out, and with them the gains of the candidates."""

    def __init__(self, known: Precise, points: Matrix) -> None:
        Sigma, W, sigma2 = known
        # Noise near one: of values as small as 1e-90 the squares of variances underflow. A power of two changes no bit.
        unit = math.ldexp(1.0, min(max(-math.frexp(sigma2)[1], -LARGEST), LARGEST))
        self.Sigma, self.sigma2 = unit * Sigma, unit * sigma2
        self.SW = self.Sigma @ W @ self.Sigma
        self.phi = features(points)
        self.drop = np.sum((self.phi @ self.SW) * self.phi, axis=1)
        self.variance = np.sum((self.phi @ self.Sigma) * self.phi, axis=1)
        self._size = max(1, TOGETHER // len(W))

    def update(self, f: Vector, sign: float) -> None:
        """Add a measurement where the features are f, or take it out (sign -1).

        Sherman-Morrison: Σ' = Σ - g gᵀ/(±σ² + φᵀΣφ), g = Σφ, and the same for ΣWΣ and the candidates' scores.
        """
        g, h = self.Sigma @ f, self.SW @ f
        den, num = sign * self.sigma2 + float(f @ g), float(f @ h)
        pg, ph = self.phi @ g, self.phi @ h
        self.drop += (-2 * pg * ph + pg**2 * num / den) / den
        self.variance -= pg**2 / den
        for begin in range(0, len(f), self._size):
            rows = slice(begin, begin + self._size)
            gg, gh = g[rows, None] * g, g[rows, None] * h
            self.Sigma[rows] -= gg / den
            np.negative(gh, out=gh)  # in place: finding memory takes longer than the arithmetic
            gh -= h[rows, None] * g
            gg *= num
            gg /= den
            gh += gg
            gh /= den
            self.SW[rows] += gh

    def climb(self, noise: float) -> Climb:
        """Return φ ↦ gain and half its derivative."""

        def climb(phi: Matrix) -> tuple[Vector, Matrix]:
            r, g = phi @ self.SW, phi @ self.Sigma
            num, den = np.add.reduce(r * phi, axis=1), noise + np.add.reduce(g * phi, axis=1)
            return num / den, r / den[:, None] - g * (num / den**2)[:, None]

        return climb

    @property
    def hedged(self) -> float:
        return self.sigma2 + HEDGE * float(self.variance.max())


def choose_greedily(shape: Shape, known: Precise, candidates: Matrix, n: int, *, polish: bool) -> Matrix:
    """Return n points (n, d), each the best candidate after those before it, moved up to where it gains most."""
    gains = _Gains(known, candidates)
    chosen, phi = np.empty((n, candidates.shape[1])), np.ascontiguousarray(gains.phi)
    for k in range(n):
        noise = gains.hedged
        best = _best(gains.drop / (noise + gains.variance))
        chosen[k], f = candidates[best], phi[best]
        if polish:
            higher, _ = ascend(shape, gains.climb(noise), candidates[[best]], steps=POLISHING)
            chosen[k], f = higher[0], features(higher)[0]
        gains.update(f, 1.0)
    return chosen


def choose_in_turn(known: Precise, points: Matrix, n: int) -> Counts:
    """Return the indices of n of the points, none twice, those that gain most first."""
    gains = _Gains(known, points)
    chosen, phi = np.empty(n, dtype=np.int64), np.ascontiguousarray(gains.phi)
    for k in range(n):
        score = gains.drop / (gains.hedged + gains.variance)
        score[chosen[:k]] = -np.inf
        chosen[k] = _best(score)
        gains.update(phi[chosen[k]], 1.0)
    return chosen


def exchange(shape: Shape, known: Precise, candidates: Matrix, points: Matrix) -> Matrix:
    """Return better points: each in turn is replaced by the one that is best in its place.

    ``known`` is Σ with all the points (n, d) measured. A point that cannot be bettered stays.
    """
    gains = _Gains(known, candidates)
    least = LEAST / len(points) * float(np.sum(gains.Sigma * known[1]))
    points = points.copy()
    for k, point in enumerate(points):
        f = features(point[None, :])[0]
        swap = _swap(gains, f)
        starts = np.stack([point, candidates[_best(_candidate_drops(gains, f))]])
        moved, height = ascend(shape, swap, starts, steps=POLISHING)
        best = _best(height)
        if height[best] > least:
            gains.update(features(moved[[best]])[0], 1.0)
            gains.update(f, -1.0)
            points[k] = moved[best]
    return points


def _candidate_drops(gains: _Gains, f: Vector) -> Vector:
    """Return the same as `_swap` at the candidates, from the scores that are kept: p times less work."""
    g, h, variance = gains.Sigma @ f, gains.SW @ f, gains.sigma2 + gains.variance
    rest, c = gains.sigma2 - float(f @ g), gains.phi @ g
    num = rest * gains.drop + 2 * c * (gains.phi @ h) - variance * float(f @ h)
    drops: Vector = num / np.maximum(variance * rest + c**2, 1e-300)
    return drops


def _swap(gains: _Gains, f: Vector) -> Climb:
    """Return φ ↦ the drop of tr(WΣ) when φ takes the place of f, and half its derivative.

    In one step: to take f out first leaves a direction almost unknown, beside which all others vanish in rounding.
    """
    g, h, sigma2 = gains.Sigma @ f, gains.SW @ f, gains.sigma2
    rest, lost = sigma2 - float(f @ g), float(f @ h)

    def climb(phi: Matrix) -> tuple[Vector, Matrix]:
        r, q = phi @ gains.SW, phi @ gains.Sigma
        c, b = phi @ g, phi @ h
        variance = sigma2 + np.add.reduce(q * phi, axis=1)
        num = rest * np.add.reduce(r * phi, axis=1) + 2 * c * b - variance * lost
        den = np.maximum(variance * rest + c**2, 1e-300)
        slope = rest * r + b[:, None] * g + c[:, None] * h - lost * q
        return num / den, slope / den[:, None] - (rest * q + c[:, None] * g) * (num / den**2)[:, None]

    return climb
