"""Noise that is a huge factor on one side: most of what single values tell is then told by the low ones.

Where a measurement is the height above some value c times a factor of many powers of ten that is rarely small (now and
then a run fails, hangs or diverges), its logarithm is spread over a wide range whose lower edge is that of the height:
a mean follows the range, and so does a middle. The share q of the values below a curve tells more of it, the more
often values lie near that curve. So with the heights y - c of the values, c the lowest of them, the model is

    P(y - c ≤ g(z)) = q,    g(z) = g₀ + |Lᵀ(z - m)|²,

fitted on a logarithmic scale, r = log(y - c) - log g(z), with the law ∝ 1/(exp(-(1 - q)Sr) + exp(qSr)): Koenker and
Bassett's quantile regression with a smooth corner of width 1/S. Of a few levels q that one is taken at which quadratics
explain most of whether a value lies below the quantile of all (the score test of a quadratic in quantile regression).

==================  ======================  =========================================================
symbol              code                    meaning
==================  ======================  =========================================================
q                   ``level``               share of the values below the curve
g, g₀               ``g``, ``floor``        the curve, its least value
m, L                ``m``, ``L``            minimiser, and root of half the curvature
S                   ``rate``                how fast the law falls: its left side by (1 - q)S, its right by qS
ψ, κ                ``psi``, ``kappa``      score of r, and its mean slope: r is worth ψ/κ
==================  ======================  =========================================================
"""

import math
from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit

from paraboloid.core import Evidence, Matrix, Sample, Shape, Vector
from paraboloid.numerics.closing_in import Closed, _closed, _regret, _single_values, _State, FINEST, SAFE, SURE
from paraboloid.numerics.fit import QuadraticFit, fit_quadratic
from paraboloid.numerics.tails import Limited
from paraboloid.numerics.window import Window, selected
from paraboloid.numerics.quadratic_model import features, n_terms, upper_triangle

LEVELS = (0.05, 0.1, 0.2, 0.35, 0.5)
NU = 1.0
STEPS = 200
STARTS = 4


@dataclass(frozen=True, slots=True, eq=False)
class _Values:
    points: Matrix
    rows: np.ndarray
    y: Vector
    count: Vector
    low: float
    unit: float

    @property
    def logs(self):
        return np.log(self.y)


def _values(evidence: Evidence, sample: Sample) -> _Values:
    low = float(sample.values.min())
    above = sample.values - low
    kept = above > 0
    unit = float(np.median(above[kept]))
    return _Values(evidence.points, sample.rows[kept], above[kept] / unit, sample.counts[kept].astype(float), low, unit)


def _statistics(values: _Values) -> Vector:
    """Return for each level how well a quadratic explains whether a value lies below the quantile: χ² by chance."""
    phi = features(values.points)[values.rows]
    w = values.count / values.count.sum()
    phi = phi[:, 1:] - w @ phi[:, 1:]
    order = np.argsort(values.y, kind="stable")
    reached = np.empty(len(w))
    reached[order] = np.cumsum(w[order])
    root = np.sqrt(values.count)[:, None]
    Q, _ = np.linalg.qr(root * phi)
    found = []
    for level in LEVELS:
        below = (reached <= level).astype(float)
        share = w @ below
        found.append(float(np.sum((Q.T @ (root[:, 0] * (below - share))) ** 2)) / (share * (1 - share) + 1e-300))
    return np.array(found)


def _law(r: Vector, level: float, rate: float, count: Vector):
    """-log density summed, psi, derivative by log rate."""
    a, b = (1 - level) * rate, level * rate
    below = expit(rate * r)
    total = float(count.sum())
    value = float(count @ np.logaddexp(-a * r, b * r)) - total * (math.log(rate * math.sin(math.pi * level) / math.pi))
    psi = -a + rate * below
    return value, psi, float(count @ (psi * r)) - total


def _grow(v: Vector, values: _Values, logs: Vector, level: float):
    d = values.points.shape[1]
    m, L, floor, rate = _unpacked(v, d)
    away = values.points - m
    g = floor + np.sum((away @ L) ** 2, axis=1)
    value, psi, by_rate = _law(logs - np.log(g)[values.rows], level, rate, values.count)
    by_g = -np.bincount(values.rows, weights=values.count * psi, minlength=len(g)) / g
    pulled = away * by_g[:, None]
    H = L @ L.T
    trace = np.trace(H) / d
    diagonal = np.diag(L)
    value += NU * (d / 2 * math.log(trace) - float(np.sum(np.log(diagonal)))) + float(m @ m) / 8
    by_L = 2 * (pulled.T @ away) @ L + NU / trace * L
    by_L[np.diag_indices(d)] = np.diag(by_L) * diagonal - NU
    gradient = np.concatenate([m / 4 - 2 * H @ pulled.sum(axis=0), by_L[np.tril_indices(d)], [by_g.sum() * floor, by_rate]])
    return value, gradient


def _unpacked(v, d):
    L = np.zeros((d, d))
    L[np.tril_indices(d)] = v[d:-2]
    L[np.diag_indices(d)] = np.exp(np.diag(L))
    return v[:d], L, math.exp(v[-2]), math.exp(v[-1])


def _begin(values: _Values, logs, m: Vector, level: float) -> Vector:
    d = m.size
    height = np.sum((values.points[values.rows] - m) ** 2, axis=1)
    mid = float(np.quantile(logs, level))
    L = np.diag(np.full(d, (mid - math.log(float(height.mean()) + 1e-300)) / 2))
    rate = 1 / (level * (1 - level)) / max(float(np.mean(np.abs(logs - mid))), 0.1) / 2
    return np.concatenate([m, L[np.tril_indices(d)], [mid - 2.0, math.log(rate)]])


def fit_grow(values: _Values, level: float, starts: Matrix):
    d = values.points.shape[1]
    logs = values.logs
    low, high = float(logs.min()) - 3, float(logs.max()) + 3
    k = d * (d + 1) // 2
    big = math.exp(high / 2) * 10
    bounds = [(-2.0, 2.0)] * d
    for i, j in zip(*np.tril_indices(d)):
        bounds.append(((low - 5) / 2, (high + 25) / 2) if i == j else (None, None))
    bounds += [(low, high), (-4.0, 3.0)]
    best = None
    for m in starts:
        o = minimize(_grow, _begin(values, logs, m, level), args=(values, logs, level), jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": STEPS})
        if np.isfinite(o.fun) and (best is None or o.fun < best.fun):
            best = o
    return best.x, -best.fun - float(values.count @ logs)


def _even(v: Vector, values: _Values, phi, level: float):
    theta, scale, rate = v[:-2], math.exp(v[-2]), math.exp(v[-1])
    e = values.y - (phi @ theta)[values.rows]
    wide = np.hypot(scale, e)
    value, psi, by_rate = _law(np.arcsinh(e / scale), level, rate, values.count)
    value += float(values.count @ np.log(wide))
    by_q = -np.bincount(values.rows, weights=values.count * (psi / wide + e / wide**2), minlength=len(phi))
    by_scale = float(values.count @ (-psi * e / wide + scale**2 / wide**2))
    return value, np.concatenate([phi.T @ by_q, [by_scale, by_rate]])


def fit_even(values: _Values, level: float, begins: list[Vector]):
    """Return the likelihood of noise that is the same everywhere."""
    phi = features(values.points)
    p = phi.shape[1]
    constant = np.zeros(p)
    constant[0] = float(np.quantile(values.y, level))
    best = -np.inf
    aparts = [np.sort(np.abs(values.y - (phi @ begin)[values.rows])) for begin in (*begins, constant)]
    least = max(min(float(e[2 * p]) for e in aparts), 1e-12)
    for begin, e in zip((*begins, constant), aparts):
        v = np.concatenate([begin, [math.log(max(least, float(e[len(e) // 4]))), 0.0]])
        o = minimize(_even, v, args=(values, phi, level), jac=True, method="L-BFGS-B", bounds=[(None, None)] * p + [(math.log(least), 40), (-4, 3)], options={"maxiter": STEPS})
        if np.isfinite(o.fun):
            best = max(best, -o.fun)
    return best


def curve(m, L, floor):
    d = m.size
    H = 2 * L @ L.T
    return np.concatenate([[floor + m @ H @ m / 2], -H @ m, H[upper_triangle(d)]])


def starts_of(values: _Values) -> Matrix:
    order = np.argsort(values.y, kind="stable")[:STARTS]
    return np.vstack([np.zeros((1, values.points.shape[1])), np.unique(values.points[values.rows[order]], axis=0)])


ENOUGH = 4
HUGE = 100.0
SHARE = 0.05


def close_in_low(evidence: Evidence, limited: Limited, fit: QuadraticFit, shape: Shape) -> Closed | None:
    sample = _single_values(evidence)
    d, n = evidence.dimension, evidence.n_measurements
    if sample is None or np.any(evidence.precision > 0) or n < ENOUGH * n_terms(d) or limited.n_far < SHARE * n:
        return None
    measured = selected(evidence, evidence.points, evidence.counts > 0)
    values = _values(measured, sample)
    if not len(values.y) > ENOUGH * n_terms(d) - 2:
        return None
    if CRITERION == "stat":
        level = LEVELS[int(np.argmax(_statistics(values)))]
        v, likelihood = fit_grow(values, level, starts_of(values))
    else:
        v, likelihood, level = best_level(values)
    m, L, floor, rate = _unpacked(v, d)
    g = floor + np.sum(((values.points - m) @ L) ** 2, axis=1)
    r = values.logs - np.log(g)[values.rows]
    low, high = np.quantile(r, [0.1, 0.9])
    if high - low < math.log(HUGE):
        return None
    theta = fit.theta / values.unit
    theta[0] -= values.low / values.unit
    gain = likelihood - fit_even(values, level, [theta, curve(m, L, floor)])
    if DEBUG: print("    level", level, "gain", gain, "spread", high - low, "floor", floor*values.unit, "rate", rate)
    if gain < SURE:
        return None
    psi = -(1 - level) * rate + rate * expit(rate * r)
    near = expit(rate * r)
    kappa = rate**2 * float(values.count @ (near * (1 - near))) / float(values.count.sum())
    slope = float(values.count @ psi**2) / float(values.count.sum()) / kappa**2
    seen = np.bincount(values.rows, weights=values.count, minlength=len(g))
    unit = values.unit
    mean = np.bincount(values.rows, weights=values.count * psi, minlength=len(g)) / np.maximum(seen, 1) / kappa
    scatter = np.bincount(values.rows, weights=values.count * (psi / kappa - mean[values.rows]) ** 2, minlength=len(g))
    pseudo = replace(
        measured,
        counts=seen.astype(np.int64),
        means=values.low + unit * g * (1 + mean),
        scatter=unit**2 * g**2 * scatter,
        precision=seen / (slope * unit**2 * g**2),
    )
    window = Window(m, np.linalg.inv(L.T) * math.sqrt(float(np.median(g))))
    pseudo = selected(pseudo, pseudo.points, seen > 0)
    local = replace(pseudo, points=window.to_local(pseudo.points))
    begin = fit_quadratic(local, Shape.BALL)
    state = _State(window, local, begin, floor * unit, likelihood, slope, np.ones(1))
    target = max(floor * unit, SAFE * _regret(begin), FINEST * float(np.ptp(values.y)) * unit)
    if DEBUG: print("    target", target, "regret", _regret(begin), "begin", window.from_local(begin.minimiser[None,:]), m)
    return _closed(state, pseudo, target, shape)


DEBUG = False

import os
CRITERION = os.environ.get("CRIT", "stat")
LOCAL = float(os.environ.get("LOCAL", "0"))
EXTRA = float(os.environ.get("EXTRA", "0"))


def spread_of(values, v, level):
    d = values.points.shape[1]
    m, L, floor, rate = _unpacked(v, d)
    g = floor + np.sum(((values.points - m) @ L) ** 2, axis=1)
    near = expit(rate * (values.logs - np.log(g)[values.rows]))
    w = values.count * g[values.rows]**-LOCAL
    w = w / w.sum()
    psi = rate * (near - 1 + level)
    kappa = rate**2 * float(w @ (near * (1 - near)))
    return float(w @ psi**2) / kappa**2


def best_level(values):
    best, found = np.inf, None
    p = n_terms(values.points.shape[1])
    starts = starts_of(values)
    for level in LEVELS:
        if level * values.count.sum() < EXTRA * p: continue
        v, likelihood = fit_grow(values, level, starts)
        variance = spread_of(values, v, level)
        if DEBUG: print("      level", level, "variance", variance)
        if variance < best:
            best, found = variance, (v, likelihood, level)
    return found
