"""Which algorithm a study follows: named in its log by a text and plain arguments, and built anew from these alone.

A file must not decide which code is run. The algorithms of `paraboloid.algorithms` may be named by any log; a factory
of somebody else's, ``module:factory``, is imported only if the caller names it as well.
"""

import importlib
import inspect
import json
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from paraboloid import algorithms
from paraboloid.core import Evidence, Procedure, UsageError
from paraboloid.study.settings import ADAPTIVE, Settings

__all__ = ["arguments_of", "build", "function_named", "is_ours", "name_of", "takes_domain"]

OURS: dict[str, Callable[..., Any]] = {
    ADAPTIVE: algorithms.adaptive,
    "hessian_dependent": algorithms.hessian_dependent,
    "quadratic_search": algorithms.quadratic_search,
    "universal": algorithms.universal,
}
"""Procedures of `paraboloid.algorithms` by their names."""

PUT_IT_IN_A_MODULE = (
    'Define it at the top of a module that can be imported, and give "module:factory", with its constants in arguments='
)


def name_of(given: str | Callable[..., Any]) -> str:
    """Return the text by which a log names an algorithm, or raise a `UsageError`.

    >>> name_of(algorithms.universal), name_of("lab.steps:differences")
    ('universal', 'lab.steps:differences')
    """
    if isinstance(given, str):
        if given in OURS or _is_path(given):
            return given
        raise UsageError(f'algorithm must be one of {", ".join(OURS)} or a text "module:factory", got {given!r}.')
    for name, factory in OURS.items():
        if given is factory:
            return name
    module, qualified = getattr(given, "__module__", None), getattr(given, "__qualname__", "")
    text = f"{module}:{qualified}"
    if not callable(given) or module in (None, "__main__") or not _is_path(text):
        raise UsageError(f"algorithm {given!r} cannot be found again by its name. {PUT_IT_IN_A_MODULE}.")
    if function_named(text) is not given:
        raise UsageError(f"algorithm {given!r} is not what {text} names. {PUT_IT_IN_A_MODULE}.")
    return text


def is_ours(name: str) -> bool:
    """Tell whether a log may name this algorithm by itself.

    >>> is_ours("universal"), is_ours("os:system")
    (True, False)
    """
    return name in OURS


def arguments_of(given: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the arguments of an algorithm in plain types, or raise a `UsageError`.

    >>> arguments_of({"hessian": np.eye(2)})
    {'hessian': [[1.0, 0.0], [0.0, 1.0]]}
    """
    try:
        plain: dict[str, Any] = json.loads(json.dumps(dict(given or {}), default=_plain, allow_nan=False))
    except (TypeError, ValueError) as error:
        raise UsageError(
            f"arguments must be numbers, texts, truths, lists and mappings of them by name, got {given!r} ({error}). "
            f"Build anything else in a factory of your own: {PUT_IT_IN_A_MODULE}."
        ) from error
    return plain


def build(settings: Settings) -> Procedure:
    """Return the algorithm of a study from the beginning: the same whenever it is built."""
    factory = OURS[settings.algorithm] if is_ours(settings.algorithm) else function_named(settings.algorithm)
    filled = {**_offered(settings, _parameters(factory)), **settings.arguments}
    try:
        inspect.signature(factory).bind(**filled)
    except TypeError as error:
        raise UsageError(
            f"algorithm {settings.algorithm} cannot be called with {', '.join(filled) or 'nothing'} ({error}). "
            f"Give what is missing in arguments=, and nothing that it does not name."
        ) from error
    made = factory(**filled)
    if not inspect.isgenerator(made):
        raise UsageError(f"algorithm {settings.algorithm} must return a generator of experiments, got {made!r}.")
    return made  # type: ignore[return-value]  # what it yields and returns is checked where it is driven


def takes_domain(settings: Settings) -> bool:
    """Tell whether the algorithm works in the units of the knobs: it does if it names a parameter ``domain``."""
    factory = OURS[settings.algorithm] if is_ours(settings.algorithm) else function_named(settings.algorithm)
    return "domain" in _parameters(factory)


def _offered(settings: Settings, named: set[str]) -> dict[str, Any]:
    """Return what the study knows and the factory names."""
    d = settings.domain.dimension
    known: dict[str, Callable[[], Any]] = {
        "domain": lambda: settings.domain,
        "dimension": lambda: d,
        "budget": lambda: settings.budget,
        "eps": lambda: settings.eps,
        "confidence": lambda: settings.confidence,
        "batch": lambda: settings.batch,
        "seed": lambda: settings.seed,
        "rng": lambda: np.random.default_rng(settings.seed),
        "evidence": lambda: Evidence.empty(d),
    }
    for name in ("eps", "batch"):
        if getattr(settings, name) is not None and name not in named:
            raise UsageError(f"algorithm {settings.algorithm} takes no {name}, got {getattr(settings, name)!r}.")
    offered = {name: make() for name, make in known.items() if name in named}
    return {name: value for name, value in offered.items() if value is not None}


def _parameters(factory: Callable[..., Any]) -> set[str]:
    try:
        return set(inspect.signature(factory).parameters)
    except (TypeError, ValueError) as error:
        raise UsageError(f"algorithm {factory!r} does not say what it takes ({error}).") from error


def _is_path(text: str) -> bool:
    module, colon, name = text.partition(":")
    return bool(colon) and all(part.isidentifier() for part in (*module.split("."), *name.split(".")))


def function_named(text: str) -> Callable[..., Any]:
    """Return the function that ``module:function`` names, or raise a `UsageError`.

    >>> function_named("math:sqrt")(9.0)
    3.0
    """
    module_name, _, name = text.partition(":")
    try:
        module = importlib.import_module(module_name)
    except Exception as error:  # whatever a module of the user's raises
        raise UsageError(f"{text}: {module_name} cannot be imported ({type(error).__name__}: {error}).") from error
    found: Any = module
    for part in name.split("."):
        found = getattr(found, part, None)
    if not callable(found):
        raise UsageError(f"{text}: there is no function {name} in {getattr(module, '__file__', None) or module_name}.")
    return found  # type: ignore[no-any-return]  # it is callable


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} {value!r} is not plain")
