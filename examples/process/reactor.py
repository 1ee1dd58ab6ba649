"""A simulated stirred reactor: the yield of one batch. It knows nothing of Paraboloid.

Too cold, short or lean, and not all has reacted; too hot, long or rich, and the product reacts on. Knobs make up for
one another: a hotter reactor needs less time, and less catalyst. What counts for the catalyst is its logarithm. So the
yield is a hill, here a paraboloid over the whole range (docs/smooth.md is about those that are not), and every batch at
the same setting gives another value.
"""

import math
import time

import numpy as np

NOISE = 2.0  # percentage points of yield from batch to batch: impure feeds, the sampling, the assay
BEST_YIELD = 92.0  # %, on average
BEST = {"temperature": 177.0, "minutes": 36.0, "catalyst": 0.15, "flow": 2.6}  # where; the search does not know


def true_yield(temperature: float, minutes: float, catalyst: float, flow: float) -> float:
    """Return the mean yield in per cent, at a temperature in °C, with catalyst in g/L and a flow in L/min."""
    heat = (temperature - BEST["temperature"]) / 12.0
    duration = (minutes - BEST["minutes"]) / 10.0
    amount = math.log(catalyst / BEST["catalyst"]) / 1.5
    stirring = (flow - BEST["flow"]) / 0.8
    away = heat**2 + duration**2 + amount**2 + stirring**2 + 0.8 * heat * duration + 0.5 * heat * amount
    return BEST_YIELD - 2.0 * away


def measure(temperature: float, minutes: float, catalyst: float, flow: float, rng: np.random.Generator) -> float:
    """Run one batch, and return its yield."""
    time.sleep(0.05)  # a real one takes an hour
    return true_yield(temperature, minutes, catalyst, flow) + NOISE * float(rng.standard_normal())
