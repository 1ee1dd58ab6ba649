"""Whether a function can travel to another process, found out before anything is measured."""

import io
import pickle
import random
import sys
from typing import Any

import numpy as np

from paraboloid.core import UsageError
from paraboloid.run.block import Objective
from paraboloid.run.worker import accepts_rng

__all__ = ["pickled"]

GENERATORS = (np.random.Generator, np.random.RandomState, random.Random)


def pickled(fun: Objective, *, sends_code: bool = False) -> bytes:
    """Return the function as it travels, or raise a `UsageError` if it cannot.

    ``sends_code`` says that the executor pickles by cloudpickle, as Dask and loky do, so that lambdas may travel.
    """
    found: list[str] = []
    cloudpickle = sys.modules.get("cloudpickle") if sends_code else None
    kind: Any = pickle.Pickler if cloudpickle is None else cloudpickle.Pickler

    class Pickler(kind):  # type: ignore[misc]  # one of two classes, known when it runs
        def persistent_id(self, thing: object) -> None:
            if isinstance(thing, GENERATORS):
                found.append(type(thing).__name__)

    stream = io.BytesIO()
    try:
        Pickler(stream, protocol=pickle.HIGHEST_PROTOCOL).dump(fun)
    except Exception as error:  # whatever an object's own pickling raises
        raise UsageError(
            f"the function {fun!r} cannot be sent to another process ({type(error).__name__}: {error}). Define it at "
            f"the top of a module, without lambdas, open files or locks; or use threads, loky or Dask."
        ) from error
    if found and not accepts_rng(fun):
        raise UsageError(
            f"the function {fun!r} carries a random generator ({found[0]}). Every process would get a copy in the same "
            f"state, and the noise would repeat. Let the function take a keyword rng: each call is given its own."
        )
    return stream.getvalue()
