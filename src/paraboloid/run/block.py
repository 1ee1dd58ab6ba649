"""Many measurements in one call, of which only the summary travels: what a worker runs."""

import traceback
from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import FunctionType
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from paraboloid.core import Counts, Matrix, MeasurementError, Measurements, Vector
from paraboloid.run.answers import read_answer, read_answers

__all__ = ["Block", "Objective", "Tally", "combine", "cut", "measure_block", "merge", "with_values"]

Objective: TypeAlias = Callable[..., Any]
CallAll: TypeAlias = Callable[[Matrix, Callable[[Any], None]], None]  # settings, and what keeps an answer

CHUNK = 2**14
"""A vectorized function is given at most so many settings at once: they and their values stay in the cache."""

LONG = 2**10
"""From so many repeats at one point on, their mean is taken by numpy alone, without an index of points."""


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """What a block of measurements gave, with the reason of its last failure.

    Parameters
    ----------
    measurements
        Counts, means, scatter and failures at each point; single values where they were to be kept.
    reason
        Why the last failed measurement failed, with its setting; empty if none did.
    traceback
        Its traceback, if the function raised.

    Examples
    --------
    >>> block = measure_block(lambda x: 1 / float(x[0]), [[0.0], [2.0]], [1, 3])
    >>> block.measurements.counts, block.measurements.failures, block.reason
    (array([0, 3]), array([1, 0]), 'at x = [0.]: ZeroDivisionError: float division by zero')
    """

    measurements: Measurements
    reason: str = ""
    traceback: str = ""


def measure_block(
    fun: Objective,
    points: npt.ArrayLike,
    repeats: npt.ArrayLike = 1,
    *,
    rng: np.random.Generator | None = None,
    vectorized: bool = False,
    keep_values: bool = False,
) -> Block:
    """Measure each point as often as its repeats say, and return count, mean and scatter only.

    Memory is bounded whatever the repeats, and means are merged stably (Chan et al. 1979), so that ten million
    measurements of a fast simulator cost little more than the simulator.

    Parameters
    ----------
    fun
        Measures at a setting; with ``vectorized`` at settings (n, d), giving n values or n rows (value, sem).
    points
        Settings, shape (k, d), or one setting (d,).
    repeats
        How often at each, shape (k,), or one number for all.
    rng
        Given to the function as its keyword ``rng``, if not None.
    keep_values
        Whether the single values are returned, too.

    Examples
    --------
    >>> import numpy as np
    >>> def simulate(x, rng):
    ...     return x[:, 0] ** 2 + rng.standard_normal(len(x))
    >>> block = measure_block(simulate, [3.0], 1_000_000, rng=np.random.default_rng(0), vectorized=True)
    >>> block.measurements.counts, block.measurements.means.round(2)
    (array([1000000]), array([9.]))
    """
    where = np.atleast_2d(np.asarray(points, dtype=np.float64))
    counts = np.broadcast_to(np.asarray(repeats, dtype=np.int64), (len(where),))
    keywords: dict[str, Any] = {} if rng is None else {"rng": rng}
    tally = Tally(where, counts, keep_values=keep_values)
    if len(where) == 1 and counts[0] == 1 and not vectorized:
        return tally.measure_once(fun, keywords)
    tally.measure(fun, keywords, vectorized=vectorized)
    return Block(tally.measurements(), tally.reason, tally.traceback)


@dataclass(frozen=True, slots=True)
class _Raised:
    """Stands in for the answer of a call that raised."""

    reason: str
    traceback: str


class Tally:
    """The running summary of one block; after an interrupt it holds what was measured until then."""

    def __init__(self, points: Matrix, repeats: Counts, *, keep_values: bool) -> None:
        self._points, self._repeats = points, repeats
        self._kept: list[tuple[Counts, Vector]] | None = [] if keep_values else None
        self._done: list[Measurements] = []
        self._long: list[tuple[int, int, float, float]] = []  # point, count, mean and scatter of many values at once
        self._template: tuple[int, Matrix] = -1, points  # settings that were built for a point, to be copied
        self._singles: list[tuple[int, Counts, list[Any]]] = []  # what single calls gave or raised, not yet read,
        # with the first of the points that they were for, and its repeats and those of the points after it
        self.reason = ""
        self.traceback = ""

    def measure(self, fun: Objective, keywords: dict[str, Any], *, vectorized: bool) -> None:
        """Call the function until every point has its repeats."""
        if vectorized:
            for first, counts in pieces(self._repeats):
                self._together(fun, keywords, first, counts)
            return
        call_all = _call_all(fun, keywords)
        for first, counts in cut(self._repeats, CHUNK):
            self._one_by_one(call_all, first, counts)
            self._flush()

    def measure_singly(self, fun: Objective, generators: Iterator[np.random.Generator]) -> None:
        """Call the function until every point has its repeats, each time with a generator of its own."""

        def call_all(settings: Matrix, keep: Callable[[Any], None]) -> None:
            for x in settings:
                keep(fun(x, rng=next(generators)))

        self._one_by_one(call_all, 0, self._repeats)

    def measure_once(self, fun: Objective, keywords: dict[str, Any]) -> Block:
        """Return the block of one single measurement: the same as by the long way, in a tenth of the time."""
        self._one_by_one(_call_all(fun, keywords), 0, self._repeats)
        value, sem = self._read(self._singles[0][2][0], 0)
        is_good = value == value
        counts, values = np.array([int(is_good)]), np.array([value if is_good else 0.0])
        single = Measurements(
            counts,
            values,
            np.zeros(1),
            None if self._kept is None else (values[:1] if is_good else values[:0],),
            1 - counts,
            np.array([sem**-2.0]) if is_good and sem > 0 else None,
        )
        return Block(single, self.reason, self.traceback)

    def _one_by_one(self, call_all: CallAll, first: int, counts: Counts) -> None:
        """Call the function at a point and at those after it, so often at each; what it gives is read later, at once.

        The list keeps what came before an error or an interrupt.
        """
        answers: list[Any] = []
        self._singles.append((first, counts, answers))
        settings = np.repeat(self._points[first : first + len(counts)], counts, axis=0)  # a call may change its own
        while len(answers) < len(settings):
            try:
                call_all(settings[len(answers) :], answers.append)
            except Exception as error:
                answers.append(_Raised(f"{type(error).__name__}: {error}", traceback.format_exc()))

    def _read(self, answer: Any, k: int) -> tuple[float, float]:
        if isinstance(answer, _Raised):
            self._explain(answer.reason, self._points[k], answer.traceback)
            return np.nan, 0.0
        try:
            return read_answer(answer)
        except MeasurementError as error:
            self._explain(str(error), self._points[k])
            return np.nan, 0.0

    def _read_all(self, answers: list[Any], k: int) -> tuple[Vector, Vector]:
        """Return values and standard errors, 0 where there is none; a value that failed is not a number."""
        if set(map(type, answers)) <= {float, np.float64}:
            values = np.array(answers, dtype=np.float64)
            if np.isfinite(values).all():
                return values, np.zeros(len(values))
        pairs = np.array([self._read(answer, k) for answer in answers], dtype=np.float64).reshape(-1, 2)
        return pairs[:, 0], pairs[:, 1]

    def _together(self, fun: Objective, keywords: dict[str, Any], first: int, counts: Counts) -> None:
        n = int(counts.sum())
        try:
            answer = fun(self._settings(first, counts), **keywords)
        except Exception as error:
            self._explain(f"{type(error).__name__}: {error}", self._points[first], traceback.format_exc())
            values, sem, reason = np.full(n, np.nan), np.zeros(n), ""
        else:
            if len(counts) == 1 and self._took_long(first, answer, n):
                return
            values, sem, reason = read_answers(answer, n)
        if reason:
            worst = first + int(np.searchsorted(np.cumsum(counts), np.flatnonzero(np.isnan(values))[-1], side="right"))
            self._explain(reason, self._points[worst])
        index = np.repeat(np.arange(first, first + len(counts)), counts)
        self._add(index, values, sem)

    def _settings(self, first: int, counts: Counts) -> Matrix:
        """Return the settings for one call, which the function may change as it likes."""
        if len(counts) > 1 or counts[0] < LONG:
            return np.repeat(self._points[first : first + len(counts)], counts, axis=0)
        if self._template[0] != first or len(self._template[1]) < counts[0]:
            built = np.empty((int(counts[0]), self._points.shape[1]))
            for j, setting in enumerate(self._points[first]):  # knob by knob: row by row is ten times slower
                built[:, j] = setting
            self._template = first, built
        return np.array(self._template[1][: counts[0]])  # a copy is several times faster than building it

    def _took_long(self, k: int, answer: Any, n: int) -> bool:
        """Take many plain values at one point by numpy's fastest way; False if they are not so plain."""
        if n < LONG or not isinstance(answer, np.ndarray) or answer.shape != (n,) or answer.dtype != np.float64:
            return False
        with np.errstate(all="ignore"):
            mean = float(answer.mean())
            away = answer - mean
            scatter = float(away @ away)
        if not np.isfinite(scatter):  # some value is not finite; or they are too large, and fail later
            return False
        self._long.append((k, n, mean, scatter))
        if self._kept is not None:
            self._kept.append((np.full(n, k), np.array(answer)))
        return True

    def _add(self, index: Counts, values: Vector, sem: Vector) -> None:
        ok = np.isfinite(values)
        known = bool(np.any(ok)) and bool(np.all(sem[ok] > 0))
        failures = np.bincount(index[~ok], minlength=len(self._points))
        if self._kept is not None:
            self._kept.append((index[ok], values[ok]))
        ones, zeros = np.ones(int(ok.sum()), dtype=np.int64), np.zeros(int(ok.sum()))
        precision = sem[ok] ** -2.0 if known else zeros
        self._merge(combine(failures, index[ok], ones, values[ok], zeros, precision))

    def _merge(self, new: Measurements) -> None:
        self._done.append(new)
        if len(self._done) >= 64:
            self._done = [self._all_so_far()]

    def _all_so_far(self) -> Measurements:
        if self._long:
            index, counts, means, scatter = (np.array(column) for column in zip(*self._long, strict=True))
            self._long = []
            none = np.zeros(len(self._points), dtype=np.int64)
            self._done.append(combine(none, index, counts, means, scatter, np.zeros(len(index))))
        return merge(len(self._points), [(np.arange(len(self._points)), part) for part in self._done])

    def _explain(self, reason: str, x: Vector, trace: str = "") -> None:
        self.reason = f"at x = {np.array2string(x, precision=6)}: {reason}"
        self.traceback = trace

    def _flush(self) -> None:
        singles, self._singles = self._singles, []
        for first, counts, answers in singles:
            if not self._took_plain(first, counts, answers):
                self._take_apart(first, counts, answers)

    def _took_plain(self, first: int, counts: Counts, answers: list[Any]) -> bool:
        """Take plain numbers at many points, a few at each, all at once; False if they are not so plain."""
        if counts.max() >= LONG or not set(map(type, answers)) <= {float, np.float64}:
            return False
        values = np.array(answers, dtype=np.float64)
        if not np.isfinite(values).all():
            return False
        index = np.repeat(np.arange(first, first + len(counts)), counts)[: len(values)]  # fewer after an interrupt
        self._add(index, values, np.zeros(len(values)))
        return True

    def _take_apart(self, first: int, counts: Counts, answers: list[Any]) -> None:
        """Take answers of any kind, point by point."""
        few: list[tuple[Counts, Vector, Vector]] = []
        begin = 0
        for k, n in enumerate(counts.tolist(), start=first):
            values, sem = self._read_all(answers[begin : begin + n], k)
            begin += n
            if sem.any() or not self._took_long(k, values, len(values)):
                few.append((np.full(len(values), k), values, sem))
        if few:
            index, values, sem = (np.concatenate(column) for column in zip(*few, strict=True))
            self._add(index, values, sem)

    def measurements(self) -> Measurements:
        """Return the summary of what was measured so far."""
        self._flush()
        whole = self._all_so_far()
        if self._kept is None:
            return whole
        return with_values(whole, self._kept)


def _call_all(fun: Objective, keywords: dict[str, Any]) -> CallAll:
    """Return what calls a function at settings, one after another, and keeps what it gives.

    Each way has a loop of its own, with the generator as second argument where the function takes it so: Python calls a
    function fastest like this, and 10⁷ calls of a fast function should cost little more than the function.
    """
    if "rng" not in keywords:

        def call_all(settings: Matrix, keep: Callable[[Any], None]) -> None:
            for x in settings:
                keep(fun(x))

        return call_all
    rng = keywords["rng"]

    def call_all_by_position(settings: Matrix, keep: Callable[[Any], None]) -> None:
        for x in settings:
            keep(fun(x, rng))

    def call_all_by_keyword(settings: Matrix, keep: Callable[[Any], None]) -> None:
        for x in settings:
            keep(fun(x, rng=rng))

    is_second = isinstance(fun, FunctionType) and fun.__code__.co_varnames[: fun.__code__.co_argcount][1:2] == ("rng",)
    return call_all_by_position if is_second else call_all_by_keyword


def with_values(summary: Measurements, kept: list[tuple[Counts, Vector]]) -> Measurements:
    """Return the summary with the single values, given as pairs (index of point, values) in the order measured."""
    nothing = (np.zeros(0, dtype=np.int64), np.zeros(0))
    index = np.concatenate([nothing[0], *(where for where, _ in kept)])
    values = np.concatenate([nothing[1], *(part for _, part in kept)])
    order = np.argsort(index, kind="stable")
    ordered, ends = values[order], np.cumsum(summary.counts).tolist()
    rows = tuple(ordered[begin:end] for begin, end in zip([0, *ends], ends, strict=False))  # np.split takes far longer
    return Measurements(summary.counts, summary.means, summary.scatter, rows, summary.failures, summary.precision)


def merge(n_points: int, parts: list[tuple[Counts, Measurements]]) -> Measurements:
    """Return the summary of several parts, each measured at the points whose indices it brings."""
    if len(parts) == 1 and np.array_equal(parts[0][0], np.arange(n_points)):
        return parts[0][1]
    none = np.zeros(0, dtype=np.int64)
    index = np.concatenate([none, *(where for where, _ in parts)])
    failures = np.concatenate([none, *(part.failures for _, part in parts if part.failures is not None)])
    counts = np.concatenate([none, *(part.counts for _, part in parts)])
    columns = (
        np.concatenate([none.astype(np.float64), *column])
        for column in (
            [part.means for _, part in parts],
            [part.scatter for _, part in parts],
            [np.zeros(part.counts.size) if part.precision is None else part.precision for _, part in parts],
        )
    )
    means, scatter, precision = columns
    failed = np.bincount(index, weights=failures, minlength=n_points).astype(np.int64)
    has = counts > 0
    return combine(failed, index[has], counts[has], means[has], scatter[has], precision[has])


def combine(
    failures: Counts, index: Counts, counts: Counts, means: Vector, scatter: Vector, precision: Vector
) -> Measurements:
    """Return summaries of groups of values, point by point: weighted by standard errors where all groups have them.

    ``failures`` is counted for each point; the others have one entry for each group, at the point of its index.
    """
    n_points = len(failures)
    known = counts.size > 0 and bool(np.all(precision > 0))
    weights = precision if known else counts.astype(np.float64)
    shift = float(means[0]) if means.size else 0.0  # a large common offset costs no digits

    def total(amounts: Vector) -> Vector:
        return np.bincount(index, weights=amounts, minlength=n_points).astype(np.float64)

    mean = total(weights * (means - shift)) / np.maximum(total(weights), 1e-300)
    return Measurements(
        total(counts.astype(np.float64)).astype(np.int64),
        mean + shift,
        total(scatter + counts * (means - shift - mean[index]) ** 2),
        failures=failures,
        precision=total(weights) if known else None,
    )


def pieces(repeats: Counts) -> Iterator[tuple[int, Counts]]:
    """Yield what a vectorized function is given at once, as `cut` does: a point of many repeats has calls of its own.

    Points of few repeats go together. Long calls at one point are what numpy does fastest.

    >>> [(first, counts.tolist()) for first, counts in pieces(np.array([3, 5, 40_000, 2]))]
    [(0, [3, 5]), (2, [13334]), (2, [13334]), (2, [13332]), (3, [2])]
    """
    first, marks = 0, np.flatnonzero(repeats >= LONG).tolist()
    for mark in [*marks, len(repeats)]:
        for start, counts in cut(repeats[first:mark], CHUNK) if first < mark else ():
            yield first + start, counts
        if mark < len(repeats):
            n = int(repeats[mark])
            size = -(-n // -(-n // CHUNK))  # equal parts
            for done in range(0, n, size):
                yield mark, np.array([min(size, n - done)])
        first = mark + 1


def cut(repeats: Counts, size: int) -> Iterator[tuple[int, Counts]]:
    """Yield (first point, repeats of it and of the points after it) for consecutive pieces of ``size`` measurements.

    >>> [(first, counts.tolist()) for first, counts in cut(np.array([2, 1, 5]), 3)]
    [(0, [2, 1]), (2, [3]), (2, [2])]
    """
    ends = np.cumsum(repeats)
    marks = ends.tolist()
    n = marks[-1] if marks else 0
    for start in range(0, n, size):
        stop = min(start + size, n)
        first, last = bisect_right(marks, start), bisect_right(marks, stop - 1)
        if first == last:
            yield first, np.array([stop - start])
        else:
            own = slice(first, last + 1)
            yield first, np.minimum(ends[own], stop) - np.maximum(ends[own] - repeats[own], start)
