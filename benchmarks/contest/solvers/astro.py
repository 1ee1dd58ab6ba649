"""SimOpt's ASTRO-DF with values only and independent noise, on a stand-in for one of SimOpt's problems."""

from types import SimpleNamespace
from typing import Any

import numpy as np

from contest.solvers.adapter import Answer, Meter, Solver, global_seed, package


class _Stand:
    """What ASTRO-DF reads of a problem; every replication is one measurement of the meter."""

    minmax, gradient_available, model = (-1,), False, SimpleNamespace(n_rngs=1)

    def __init__(self, meter: Meter, seed: int) -> None:
        self._meter, self._rng, self._base = meter, np.random.default_rng([seed, 7]), package("simopt.problem")
        self.dim, self.lower_bounds, self.upper_bounds = meter.d, (-1.0,) * meter.d, (1.0,) * meter.d
        self.factors = {"budget": meter.budget, "initial_solution": (0.0,) * meter.d}

    def vector_to_factor_dict(self, vector: tuple[float, ...]) -> dict[str, Any]:
        return {"x": vector}

    def get_random_solution(self, rng: object) -> tuple[float, ...]:
        return tuple(self._rng.uniform(-1, 1, self.dim))

    def check_deterministic_constraints(self, x: tuple[float, ...]) -> bool:
        return bool(np.all(np.abs(x) <= 1))

    def simulate(self, solution: Any, num_macroreps: int = 1) -> None:
        for value in self._meter.measure(np.tile(np.array(solution.x, dtype=float), (num_macroreps, 1))):
            objective = self._base.Objective(stochastic=float(value))
            solution.add_replicate_result(self._base.RepResult(objectives=[objective]))


def astro_df(meter: Meter, seed: int) -> Answer:
    """Return the last solution that ASTRO-DF recommends within the budget."""
    generator = package("mrg32k3a.mrg32k3a").MRG32k3a
    with global_seed(seed):
        solver = package("simopt.solvers.astrodf").ASTRODF(
            fixed_factors={"crn_across_solns": False, "use_gradients": False}
        )
        solver.attach_rngs([generator(s_ss_sss_index=[0, i, seed]) for i in range(3)])
        solver.solution_progenitor_rngs = [generator(s_ss_sss_index=[1, 0, seed])]
        found = solver.run(_Stand(meter, seed))
    steps = list(found["solution"])
    return Answer(np.array(steps[-1], dtype=float) if steps else np.zeros(meter.d))


SOLVERS: dict[str, Solver] = {"astro-df": astro_df}
