"""Paraboloid as a method of `scipy.optimize.minimize`.

SciPy calls a method that is a function with ``fun, x0`` and, by keyword, ``args, jac, hess, hessp, bounds, constraints,
callback`` and every entry of ``options`` (``tol`` among them, if it was given).
"""

import functools
import inspect
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import Bounds, OptimizeResult, OptimizeWarning

from paraboloid.core import Box, UsageError, Vector
from paraboloid.minimise import minimize

__all__ = ["scipy_method"]

OPTIONS = ("budget", "eps", "confidence", "algorithm", "executor", "workers", "timeout", "rng", "data")
"""What `minimize` takes and SciPy has no word for."""
TO_USER = 3  # frames from the warning to the caller of SciPy's minimize: ours, SciPy's, the caller's


def scipy_method(
    fun: Callable[..., Any],
    x0: npt.ArrayLike,
    args: Any = (),
    *,
    bounds: Any = None,
    callback: Callable[..., object] | None = None,
    **others: Any,
) -> OptimizeResult:
    """Minimise a noisy function as a method of `scipy.optimize.minimize`; give it as ``method=``.

    Parameters
    ----------
    fun
        Measures once at a setting: ``fun(x, *args)``. NaN, infinity or an exception is a failed measurement. If it
        names a further parameter ``rng``, it is given a generator of its own for each measurement.
    x0
        Tells the number of knobs and must lie within the bounds; it is not measured, and the answer does not depend on
        it: the search covers the whole range.
    args
        Further arguments of ``fun``.
    bounds
        A finite range for each knob: (low, high) pairs or `scipy.optimize.Bounds`. Needed.
    callback
        Called after each round but the last as ``callback(x)``, or as ``callback(intermediate_result=result)`` if its
        only parameter has that name; ``StopIteration`` ends the search, and what is known is returned.
    others
        SciPy's ``jac``, ``hess``, ``hessp`` and ``constraints`` are refused unless they are None or empty. SciPy's
        ``options``: ``budget`` (the number of measurements) or ``eps`` (how near the best value the answer must be, at
        ``confidence``; ``tol`` means the same), ``confidence``, ``rng``, ``workers``, ``executor``, ``timeout``,
        ``data`` and ``algorithm`` as `paraboloid.minimize` takes them. Unknown ones give an ``OptimizeWarning``.

    Returns
    -------
    scipy.optimize.OptimizeResult
        What `paraboloid.minimize` returns: ``x`` is the minimum of the fitted model, ``fun`` its value there.

    Examples
    --------
    >>> import numpy as np
    >>> import paraboloid
    >>> from scipy.optimize import minimize
    >>> noise = np.random.default_rng(1)
    >>> def loss(x, target):
    ...     return np.sum((x - target) ** 2) + 0.1 * noise.standard_normal()
    >>> options = {"budget": 100, "rng": 0}
    >>> bounds = [(-1, 1), (-1, 1)]
    >>> result = minimize(loss, [0, 0], args=(0.5,), method=paraboloid.scipy_method, bounds=bounds, options=options)
    >>> bool(np.all(np.abs(result.x - 0.5) < 0.2)), result.nfev, result.success
    (True, 100, True)
    """
    _refuse_what_is_not_used(others)
    box = _box(bounds, x0)
    return minimize(
        _Objective(fun, args if isinstance(args, tuple) else (args,)),
        box,
        callback=None if callback is None else _translated(callback),
        **_options(others),
    )


def _refuse_what_is_not_used(others: dict[str, Any]) -> None:
    """Raise if derivatives or constraints are given; take them out of ``others``."""
    for name in ("jac", "hess", "hessp"):
        if others.pop(name, None) is not None:
            raise UsageError(
                f"{name} was given, but this method measures a noisy function and uses no derivatives. Leave {name} "
                f"out; if the function is exact, a gradient method of SciPy such as 'L-BFGS-B' is the better choice."
            )
    constraints = others.pop("constraints", ())
    is_empty = isinstance(constraints, list | tuple | dict) and not constraints
    if constraints is not None and not is_empty:
        raise UsageError(
            f"constraints were given ({constraints!r}), but this method knows finite bounds only. Leave them out and "
            f"choose bounds within which every setting may be measured."
        )


def _options(others: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of `minimize` among SciPy's options; warn of the others, as SciPy's methods do."""
    others = dict(others)
    tol = others.pop("tol", None)
    known = {name: others.pop(name) for name in OPTIONS if name in others}
    if others:
        names = ", ".join(others)
        warnings.warn(
            f"Unknown solver options: {names}; this method knows {', '.join(OPTIONS)}.",
            OptimizeWarning,
            stacklevel=TO_USER + 1,
        )
    if known.get("eps") is None and tol is not None:
        known["eps"] = tol
    if known.get("budget") is None and known.get("eps") is None:
        raise UsageError(
            "this method must be told when to end: give options={'budget': 200} (how many measurements), "
            "options={'eps': 0.1} (how near the best value, in units of the value), or both."
        )
    return known


def _box(bounds: Any, x0: npt.ArrayLike) -> Box:
    """Return the box of SciPy's bounds, in either of its two forms; it must hold x0."""
    start = np.atleast_1d(np.asarray(x0, dtype=np.float64))
    low, high = _low_and_high(bounds, start.size)
    is_open = ~(np.isfinite(low) & np.isfinite(high))
    if np.any(is_open):
        raise UsageError(
            f"this method needs a finite range for every knob, but bounds leave x[{np.flatnonzero(is_open)[0]}] open. "
            f"Give bounds=[(low, high), ...] with the range over which you would measure."
        )
    box = Box([(float(a), float(b)) for a, b in zip(low, high, strict=True)])
    outside = ~((start >= low) & (start <= high))
    if np.any(outside):
        k = int(np.flatnonzero(outside)[0])
        raise UsageError(
            f"x0 must lie within the bounds, but x0[{k}] = {start[k]:g} is not between {low[k]:g} and {high[k]:g}. "
            f"See whether x0 and bounds name the knobs in the same order."
        )
    return box


def _low_and_high(bounds: Any, d: int) -> tuple[Vector, Vector]:
    """Return both ends of every range, shape (d,) each, infinite where there is none."""
    if bounds is None:
        return np.full(d, -np.inf), np.full(d, np.inf)
    try:
        if isinstance(bounds, Bounds):
            ends = np.stack([np.broadcast_to(np.asarray(end, dtype=np.float64), d) for end in (bounds.lb, bounds.ub)])
        else:
            pairs = [(-np.inf if a is None else a, np.inf if b is None else b) for a, b in bounds]
            ends = np.array(pairs, dtype=np.float64).T
    except (TypeError, ValueError) as error:
        raise UsageError(f"bounds must be (low, high) pairs or scipy.optimize.Bounds, got {bounds!r}.") from error
    if ends.shape != (2, d):
        raise UsageError(
            f"x0 has {d} numbers, but bounds has {ends.shape[-1] if ends.size else 0} ranges; give one each."
        )
    return ends[0], ends[1]


@dataclass(frozen=True, slots=True)
class _Objective:
    """The function with its further arguments, and SciPy's freedom to return an array of one number.

    A class and no closure, since it must travel to worker processes.
    """

    fun: Callable[..., Any]
    args: tuple[Any, ...]

    @property
    def __signature__(self) -> inspect.Signature:
        """What is left to be given after the arguments, so that a parameter ``rng`` is seen by `minimize`."""
        return inspect.signature(functools.partial(self.fun, None, *self.args))

    def __call__(self, x: Vector, **keywords: Any) -> Any:
        value = self.fun(x, *self.args, **keywords)
        return value.item() if isinstance(value, np.ndarray) and value.size == 1 else value


def _translated(callback: Callable[..., object]) -> Callable[[OptimizeResult], object]:
    """Return the callback as `minimize` calls it, by the rule by which SciPy tells its two forms apart."""
    if set(inspect.signature(callback).parameters) == {"intermediate_result"}:
        return lambda result: callback(intermediate_result=result)
    return lambda result: callback(np.copy(result.x))
