"""A simulated oven: what a worker of the cluster measures."""

import time

import numpy as np


def measure(temperature: float, minutes: float, rng: np.random.Generator) -> float:
    """Return the yield of one batch, in per cent."""
    time.sleep(0.05)  # your simulator takes its time here
    return float(90 - 0.01 * (temperature - 180) ** 2 - 0.02 * (minutes - 35) ** 2 + rng.standard_normal())
