"""Draw the picture of docs/smooth.md: ``python docs/pictures/make_smooth_picture.py``."""

from functools import partial
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

from paraboloid import Box, Experiment
from paraboloid.algorithms import adaptive
from paraboloid.core import Evidence, Measurements, Procedure, Shape, Vector
from paraboloid.numerics import fit_quadratic, fit_smooth

HERE = Path(__file__).parent
SIGMA, BUDGET = 0.5, 200


def response(x: Vector) -> Vector:
    """Return a curve that is steep on one side; least, 0, at zero."""
    return np.asarray(np.exp(3 * x) - 3 * x - 1)


def measured(procedure: Procedure) -> tuple[Evidence, list[Experiment]]:
    """Return all evidence of a search, and its rounds."""
    rng, evidence, rounds = np.random.default_rng(3), Evidence.empty(1), []
    try:
        experiment = next(procedure)
        while True:
            values = [
                response(np.full(n, x[0])) + SIGMA * rng.standard_normal(n)
                for x, n in zip(experiment.points, experiment.repeats, strict=True)
            ]
            measurements = Measurements.from_values(values)
            evidence = evidence.with_measurements(experiment.points, measurements)
            rounds.append(experiment)
            experiment = procedure.send(measurements)
    except StopIteration:
        return evidence, rounds


def main() -> None:
    """Draw both searches side by side: the quadratic kept, and the discrepancy followed."""
    figure, axes = plt.subplots(1, 2, figsize=(10, 4.2), sharey=True)
    line = np.linspace(-1, 1, 201)[:, None]
    searches = partial(adaptive, Box([(-1, 1)]), budget=BUDGET, seed=1)
    for axis, smooth in zip(axes, (False, True), strict=True):
        evidence, rounds = measured(searches(smooth=smooth))
        quadratic = fit_quadratic(evidence, Shape.BOX)
        found = fit_smooth(evidence, Shape.BOX, quadratic.minimiser)
        fitted = found.value(line) if smooth else np.array([quadratic.value(z) for z in line])
        answer = float((found if smooth else quadratic).minimiser[0])
        axis.plot(line, response(line), color="black", lw=1, label="the response")
        axis.plot(line, fitted, color="#0072b2", lw=2, label="fitted to all measurements")
        for k, experiment in enumerate(rounds):
            size = 8 + 60 * experiment.repeats / BUDGET
            axis.scatter(experiment.points, np.full(len(size), -1.5 - 0.45 * k), s=size, color="#d55e00")
        axis.axvline(answer, color="#009e73", ls="--", label=f"answer, loss {response(np.array([answer]))[0]:.3f}")
        title = "with the discrepancy: measured ever nearer" if smooth else "a quadratic over the whole range"
        axis.set(title=title, xlabel="knob", ylim=(-6, 17))
        axis.legend(loc="upper left", frameon=False)
    axes[0].set_ylabel("value; below zero: where each round was measured")
    figure.tight_layout()
    figure.savefig(HERE / "smooth.png", dpi=110)


if __name__ == "__main__":
    main()
