"""What measures, made from ``[measure]`` of a ``study.toml``: a Python function or a command."""

import importlib
import inspect
import pickle
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from paraboloid.cli.commanding import CommandMeasurement
from paraboloid.cli.settings import MeasureSettings
from paraboloid.core import UsageError, Vector
from paraboloid.study.algorithm import function_named

__all__ = ["ByName", "ByNameWithNoise", "load_function", "measurement_of", "with_its_code"]


@dataclass(frozen=True, slots=True)
class ByName:
    """A function that takes each knob by its name, called with a setting as a vector.

    >>> ByName(pow, ("base", "exp"))(np.array([2.0, 3.0]))
    8.0
    """

    function: Callable[..., Any]
    names: tuple[str, ...]

    def __call__(self, x: Vector) -> Any:
        """Measure once."""
        return self.function(**dict(zip(self.names, x.tolist(), strict=True)))


@dataclass(frozen=True, slots=True)
class ByNameWithNoise:
    """The same for a function that also takes ``rng``, the generator of its noise."""

    function: Callable[..., Any]
    names: tuple[str, ...]

    def __call__(self, x: Vector, rng: np.random.Generator) -> Any:
        """Measure once."""
        return self.function(**dict(zip(self.names, x.tolist(), strict=True)), rng=rng)


def measurement_of(settings: MeasureSettings, names: tuple[str, ...]) -> Callable[..., Any]:
    """Return the function of a setting that measures once."""
    if settings.command is not None:
        return CommandMeasurement(
            settings.command,
            names,
            shell=settings.shell,
            pattern=settings.pattern,
            timeout=settings.timeout,
            directory=str(settings.directory),
        )
    assert settings.python is not None
    function = load_function(settings.python, settings.directory)
    wanted = _parameters(function)
    if not settings.vectorized and wanted - {"rng"} == set(names) and len(names) + ("rng" in wanted) == len(wanted):
        return (ByNameWithNoise if "rng" in wanted else ByName)(function, names)
    return function


class _WithItsCode:
    """A function that travels as code: where it is unpickled it is the function itself, made anew."""

    def __init__(self, function: Callable[..., Any], pickled: bytes) -> None:
        self._function, self._pickled = function, pickled
        self.__signature__ = inspect.signature(function)

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        return self._function(*arguments, **keywords)

    def __reduce__(self) -> tuple[Callable[[bytes], Any], tuple[bytes]]:
        return pickle.loads, (self._pickled,)


def with_its_code(function: Callable[..., Any], name: str, folder: Path) -> Callable[..., Any]:
    """Return a function that can be sent to workers on machines that do not have its module.

    Modules of the user's folder travel as code. An installed one is imported on the worker, as usual.
    """
    home = sys.modules[name.partition(":")[0]]
    if not Path(getattr(home, "__file__", None) or "/").resolve().is_relative_to(folder.resolve()):
        return function
    cloudpickle = importlib.import_module("cloudpickle")  # Dask needs it and brings it
    cloudpickle.register_pickle_by_value(home)
    try:
        return _WithItsCode(function, cloudpickle.dumps(function))
    except Exception as error:  # whatever an object's own pickling raises
        raise UsageError(f"{name} cannot be sent to the workers ({type(error).__name__}: {error}).") from error
    finally:
        cloudpickle.unregister_pickle_by_value(home)


def load_function(name: str, folder: Path) -> Callable[..., Any]:
    """Return the function that ``module:function`` names, in a folder or installed.

    >>> load_function("math:sqrt", Path("."))(9.0)
    3.0
    """
    module_name, _, function_name = name.partition(":")
    if not module_name or not function_name:
        raise UsageError(f'python must be "module:function", got {name!r}.')
    where = str(folder.resolve())
    if where not in sys.path:
        sys.path.insert(0, where)
    return function_named(name)


def _parameters(function: Callable[..., Any]) -> set[str]:
    try:
        return set(inspect.signature(function).parameters)
    except (TypeError, ValueError):  # some built-in functions have no signature
        return set()
