"""A simulated study: tune four knobs of a noisy process with 200 measurements, and see how good the answer is.

Run it with ``python examples/simulated_study.py``. The process is simulated, so that the true optimum is known and can
be compared.
"""

import functools
import time

import numpy as np
from rich.console import Console
from rich.table import Table
from scipy.optimize import OptimizeResult

import paraboloid
from paraboloid import Box, Knob
from paraboloid.run import progress_bar

BOX = Box(
    [
        Knob("temperature", 150, 210, unit="°C"),
        Knob("time", 20, 60, unit="min"),
        Knob("pressure", 1, 5, unit="bar"),
        Knob("catalyst", 0.01, 1.0, unit="g/L", log=True),
    ]
)
BUDGET = 200
NOISE = 1.0  # percentage points of yield, from run to run
BEST = np.array([0.35, -0.2, 0.5, -0.3])  # the true optimum in unit coordinates, unknown to the search
CURVATURE = np.array([[30.0, 8, 0, 3], [8, 12, 2, 0], [0, 2, 6, -1], [3, 0, -1, 9]])


def true_yield(x: np.ndarray[tuple[int], np.dtype[np.float64]]) -> float:
    """Return the mean yield of the simulated process, in per cent."""
    away = BOX.to_unit(x) - BEST
    return float(92.0 - away @ CURVATURE @ away / 2)


def main() -> None:
    """Tune the process, show progress and the answer."""
    noise = np.random.default_rng(7)
    console = Console()
    console.print(f"A simulated process with {BOX.dimension} knobs, {BUDGET} measurements, noise ± {NOISE} % yield.\n")
    started = time.perf_counter()
    with progress_bar("measuring", total=BUDGET) as advance:

        def measure(x: np.ndarray[tuple[int], np.dtype[np.float64]]) -> float:
            advance(1)
            return true_yield(x) + NOISE * float(noise.standard_normal())

        result = paraboloid.maximize(
            measure, BOX, budget=BUDGET, rng=1, callback=functools.partial(print_round, console)
        )
    show(console, result, time.perf_counter() - started)


def print_round(console: Console, so_far: OptimizeResult) -> None:
    """Print one line after each round."""
    console.print(
        f"round {so_far.rounds}: {so_far.nfev:4d} measurements, yield {so_far.fun:.2f} %, "
        + (f"at most {so_far.regret_bound:.3g} % below the best" if so_far.regret_bound < np.inf else "no bound yet")
    )


def show(console: Console, result: OptimizeResult, seconds: float) -> None:
    """Print the answer beside the truth."""
    table = Table(title="Recommended setting")
    for column in ("knob", "setting", "95 % interval", "true optimum"):
        table.add_column(column, justify="left" if column == "knob" else "right")
    for knob, x, (low, high), best in zip(BOX.knobs, result.x, result.x_ci, BOX.from_unit(BEST), strict=True):
        table.add_row(knob.name, f"{x:.4g} {knob.unit}", f"{low:.4g} to {high:.4g}", f"{best:.4g}")
    console.print(table)
    lost = 92.0 - true_yield(result.x)
    console.print(
        f"expected yield {result.fun:.2f} ± {result.fun_se:.2f} %, one measurement scatters by {result.sigma:.2f} %"
    )
    console.print(f"expected loss {result.regret:.4f} %, at most {result.regret_bound:.4f} % at 95 % confidence")
    console.print(f"true loss {lost:.4f} %  (known here because the process is simulated)")
    console.print(f"200 more measurements would bring the expected loss to {result.forecast(200):.4f} %")
    console.print(f"{result.nfev} measurements in {result.rounds} rounds, {seconds:.1f} s in all")


if __name__ == "__main__":
    main()
