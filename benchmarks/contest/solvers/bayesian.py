"""Optuna's samplers, scikit-optimize and BoTorch: what a study, or the model's own minimum, recommends."""

from functools import partial
from typing import Any

import numpy as np

from contest.solvers.adapter import Answer, Meter, Solver, global_seed, package
from paraboloid.core import Vector


def optuna(sampler: str, options: dict[str, Any], meter: Meter, seed: int) -> Answer:
    """Return the best trial of an Optuna study, which is what a study recommends."""
    optuna = package("optuna")
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    names = [f"x{i}" for i in range(meter.d)]

    def objective(trial: Any) -> float:
        return meter.measure_one(np.array([trial.suggest_float(name, -1.0, 1.0) for name in names]))

    with global_seed(seed):
        study = optuna.create_study(sampler=getattr(optuna.samplers, sampler)(seed=seed, **options))
        study.optimize(objective, n_trials=meter.budget)
    return Answer(np.array([study.best_params[name] for name in names]))


def skopt(meter: Meter, seed: int) -> Answer:
    """Return the minimum of the model of scikit-optimize's ``gp_minimize``, its own answer for noisy functions."""
    skopt, utilities = package("skopt"), package("skopt.utils")
    with global_seed(seed):
        found = skopt.gp_minimize(
            lambda z: meter.measure_one(np.array(z)),
            [(-1.0, 1.0)] * meter.d,
            n_calls=meter.budget,
            n_initial_points=min(meter.budget // 2, 2 * meter.d + 2),
            noise="gaussian",
            random_state=seed,
        )
        best, _ = utilities.expected_minimum(found, n_random_starts=20, random_state=seed)
    return Answer(np.array(best))


def botorch(meter: Meter, seed: int) -> Answer:
    """Return the minimum of the posterior mean after batches chosen by qLogNoisyExpectedImprovement."""
    torch = package("torch")
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    box = torch.tensor([[0.0] * meter.d, [1.0] * meter.d], dtype=torch.float64)
    n_first = min(meter.budget // 2, max(2 * meter.d + 2, meter.budget // 5))
    size = max(1, -(-(meter.budget - n_first) // 20))  # 20 batches
    with global_seed(seed):
        X = torch.quasirandom.SobolEngine(meter.d, scramble=True, seed=seed).draw(n_first, dtype=torch.float64)
        y = _values(meter, X)
        while meter.left > 0:
            model = _fitted(X, y)
            acquisition = package("botorch.acquisition.logei").qLogNoisyExpectedImprovement(
                model, X, sampler=package("botorch.sampling").SobolQMCNormalSampler(torch.Size([64]), seed=seed)
            )
            new, _ = package("botorch.optim").optimize_acqf(
                acquisition, box, q=min(size, meter.left), num_restarts=2, raw_samples=64, sequential=True
            )
            X, y = torch.cat([X, new]), np.concatenate([y, _values(meter, new)])
        mean = package("botorch.acquisition").PosteriorMean(_fitted(X, y))
        best, _ = package("botorch.optim").optimize_acqf(mean, box, q=1, num_restarts=5, raw_samples=256)
    return Answer(2 * best[0].detach().numpy() - 1)


def _values(meter: Meter, X: Any) -> Vector:
    return meter.measure(2 * X.detach().numpy() - 1)


def _fitted(X: Any, y: Vector) -> Any:
    """Return BoTorch's standard model, fitted to the negative values, since it maximises."""
    target = package("torch").tensor(-(y - y.mean()) / max(float(y.std()), 1e-300)).unsqueeze(-1)
    model = package("botorch.models").SingleTaskGP(X, target)
    mll = package("gpytorch.mlls").ExactMarginalLogLikelihood(model.likelihood, model)
    package("botorch.fit").fit_gpytorch_mll(mll)
    return model


SOLVERS: dict[str, Solver] = {
    "tpe": partial(optuna, "TPESampler", {}),
    "tpe+": partial(optuna, "TPESampler", {"multivariate": True, "n_startup_trials": 20}),
    "optuna-cmaes": partial(optuna, "CmaEsSampler", {}),
    "optuna-gp": partial(optuna, "GPSampler", {"deterministic_objective": False}),
    "skopt": skopt,
    "botorch": botorch,
}
