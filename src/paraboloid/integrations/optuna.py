"""Paraboloid as a sampler of Optuna, and the answer that Optuna's ``best_params`` does not give.

Optuna's best trial is the luckiest one where values are noisy; `recommend` returns the minimum of the model fitted to
all trials. Nothing is learnt inside the sampler: what to measure next and what to recommend are functions of the
study's trials, so that several workers on one storage, restarts and trials of other samplers need no special case.

A fit for each trial would cost more than most trials. Points are therefore planned a round at a time, and the round is
written to the study's system attributes under one key; trial number N takes its point N - first. Numbers are unique, so
that no two workers take the same point. Two workers that plan at the same moment overwrite each other, which costs no
more than a point that is measured twice.
"""

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from paraboloid.algorithms import conclude, propose
from paraboloid.answer import Counted, Recommendation, translate
from paraboloid.core import Box, Evidence, Knob, Matrix, Measurements, Shape, UsageError

try:
    from optuna.distributions import BaseDistribution, FloatDistribution
    from optuna.samplers import BaseSampler, RandomSampler
    from optuna.search_space import intersection_search_space
    from optuna.study import Study, StudyDirection
    from optuna.trial import FrozenTrial, TrialState
except ImportError as error:
    raise ImportError(
        "paraboloid.integrations.optuna needs Optuna, which is an extra: pip install 'paraboloid[optuna]'."
    ) from error

__all__ = ["QuadraticSampler", "recommend", "result_of"]

KEY = "paraboloid:round"
SEM = "sem"
"""User attribute of a trial: the standard error of its value, where that is known."""
MOST_NUMBERS = 4000  # in one round: as text below the 64 KiB that MySQL keeps in such an attribute
DECIMALS = 6  # of the planned unit coordinates; the executed values are read from the trials, to the last bit
Space = dict[str, BaseDistribution]


class QuadraticSampler(BaseSampler):
    """Sample float parameters where a noisy, nearly quadratic objective is learnt best.

    Parameters
    ----------
    seed
        Of the sampler's own choices; give each study its own, and all workers of one study the same. None draws one.
    search_space
        The float parameters by name, as Optuna's distributions; then the first trial is planned already. If not given,
        it is what all completed trials have in common, and trials before the first completed one are independent.
    independent_sampler
        Chooses whatever is not a continuous parameter of every trial: integers, categories, floats with a step,
        conditional parameters. Optuna's ``RandomSampler`` if not given.
    warn_independent_sampling
        Whether to warn of each such parameter, once.

    Notes
    -----
    A completed trial with an infinite value and a failed trial are failed measurements; a pruned trial is ignored.
    Running trials count as information that will come. ``trial.set_user_attr("sem", s)`` tells the standard error of a
    value.

    Examples
    --------
    >>> import numpy as np
    >>> import optuna
    >>> optuna.logging.set_verbosity(optuna.logging.WARNING)
    >>> noise = np.random.default_rng(1)
    >>> def objective(trial):
    ...     x, rate = trial.suggest_float("x", -1, 1), trial.suggest_float("rate", 1e-3, 1e-1, log=True)
    ...     return (x - 0.3) ** 2 + np.log10(rate / 0.01) ** 2 + 0.1 * noise.standard_normal()
    >>> sampler = QuadraticSampler(seed=0)
    >>> study = optuna.create_study(sampler=sampler)
    >>> study.optimize(objective, n_trials=60)
    >>> best = sampler.recommend(study)  # the minimum of the model, and not study.best_params, the luckiest trial
    >>> abs(best["x"] - 0.3) < 0.15, 0.007 < best["rate"] < 0.014
    (True, True)
    """

    def __init__(
        self,
        seed: int | None = None,
        *,
        search_space: Space | None = None,
        independent_sampler: BaseSampler | None = None,
        warn_independent_sampling: bool = True,
    ) -> None:
        self._seed = int(np.random.default_rng(seed).integers(2**31))
        self._independent = RandomSampler(seed=seed) if independent_sampler is None else independent_sampler
        self._given = None if search_space is None else _checked(search_space)
        self._warns = warn_independent_sampling
        self._warned: set[str] = set()

    def recommend(self, study: Study) -> dict[str, float]:
        """Return the recommended float parameters: those of the minimum of the model; see `recommend`."""
        return recommend(study, search_space=self._given)

    def infer_relative_search_space(self, study: Study, trial: FrozenTrial) -> Space:
        """Return the continuous parameters that are planned together; they stay the same for a round."""
        _sign(study)
        if self._given is not None:
            return dict(self._given)
        kept = _kept_round(study, trial)
        if kept is None:  # only now: to look through all trials takes longer, the more there are
            return _space(study.get_trials(deepcopy=False))
        return {name: FloatDistribution(low, high, log=log) for name, low, high, log in kept["space"]}

    def sample_relative(self, study: Study, trial: FrozenTrial, search_space: Space) -> dict[str, Any]:
        """Return the point that the current round holds for this trial; plan a round if there is none."""
        names = {name: space for name, space in search_space.items() if _is_continuous(space)}
        if not names:
            return {}
        box = _box(names)
        kept = _kept_round(study, trial)
        if kept is None or kept["space"] != _written(box):
            points = self._round(study, box, trial)
            kept = {"space": _written(box), "first": trial.number, "points": points.round(DECIMALS).tolist()}
            study._storage.set_study_system_attr(study._study_id, KEY, kept)
        # A trial that began before this round did repeats one of its points: each is worth a measurement.
        z = kept["points"][(trial.number - kept["first"]) % len(kept["points"])]
        return dict(zip(box.names, box.from_unit(z).tolist(), strict=True))

    def _round(self, study: Study, box: Box, trial: FrozenTrial) -> Matrix:
        """Return the next round's points, one row for each trial, in random order."""
        trials = study.get_trials(deepcopy=False)
        evidence = _evidence(trials, box, _sign(study))
        # This trial is running too, but does not have its parameters yet.
        pending = box.to_unit(_settings([other for other in trials if other.state is TrialState.RUNNING], box))
        taken = evidence.n_attempts + len(pending)
        n = _round_size(taken, box.dimension)
        points, repeats = propose(evidence, n, shape=Shape.BOX, seed=self._seed, pending=pending)
        order = np.random.default_rng([self._seed, trial.number]).permutation(n)
        return np.repeat(points, repeats, axis=0)[order]

    def sample_independent(
        self, study: Study, trial: FrozenTrial, param_name: str, param_distribution: BaseDistribution
    ) -> Any:
        """Return a value from the independent sampler, and say so once for each parameter."""
        _sign(study)
        is_new = self._warns and param_name not in self._warned
        reason = self._why_independent(study, trial, param_distribution) if is_new else ""
        if reason:
            self._warned.add(param_name)
            warnings.warn(
                f"parameter {param_name!r} is chosen by {type(self._independent).__name__}, and QuadraticSampler does "
                f"not learn from it: {reason}. If that is meant, give warn_independent_sampling=False.",
                UserWarning,
                stacklevel=2,
            )
        return self._independent.sample_independent(study, trial, param_name, param_distribution)

    def _why_independent(self, study: Study, trial: FrozenTrial, distribution: BaseDistribution) -> str:
        """Return why a parameter is not planned, or nothing where that is but the beginning of a study."""
        if not isinstance(distribution, FloatDistribution):
            return "it is not a float parameter"
        if distribution.step is not None:
            return "it has a step"
        if self._given is not None:
            return "it is not in the search_space that was given, or has another range there"
        # A trial that began before any had completed could not know the parameters: this is no news to anybody.
        completed = study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
        ends = [other.datetime_complete for other in completed if other.datetime_complete is not None]
        is_beginning = trial.datetime_start is None or not ends or min(ends) > trial.datetime_start
        return "" if is_beginning else "not every completed trial has it with this range"

    def before_trial(self, study: Study, trial: FrozenTrial) -> None:
        """Tell the independent sampler."""
        self._independent.before_trial(study, trial)

    def after_trial(self, study: Study, trial: FrozenTrial, state: TrialState, values: Sequence[float] | None) -> None:
        """Tell the independent sampler."""
        self._independent.after_trial(study, trial, state, values)

    def reseed_rng(self) -> None:
        """Give the independent sampler another seed; planned rounds are shared by all workers and keep theirs."""
        self._independent.reseed_rng()


def recommend(study: Study, *, search_space: Space | None = None) -> dict[str, float]:
    """Return the recommended float parameters: those of the minimum of the model fitted to all trials.

    Works for a study of any sampler. Parameters that are not continuous or not in every completed trial are left out.

    >>> import optuna
    >>> optuna.logging.set_verbosity(optuna.logging.WARNING)
    >>> study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    >>> study.optimize(lambda trial: (trial.suggest_float("x", 0, 4) - 3) ** 2, n_trials=10)
    >>> round(recommend(study)["x"], 3)
    3.0
    """
    result = result_of(study, search_space=search_space)
    return dict(zip(result.subject.domain.names, result.x.tolist(), strict=True))


def result_of(study: Study, *, search_space: Space | None = None) -> Recommendation:
    """Return the whole answer as `paraboloid.minimize` does, with intervals and bound; ``x`` in the order of the names.

    >>> import optuna
    >>> optuna.logging.set_verbosity(optuna.logging.WARNING)
    >>> study = optuna.create_study(direction="maximize", sampler=QuadraticSampler(seed=0))
    >>> study.optimize(lambda trial: 5 - (trial.suggest_float("x", 0, 4) - 3) ** 2, n_trials=10)
    >>> result = result_of(study)
    >>> result.x.round(3), round(result.fun, 3), result.nfev
    (array([3.]), 5.0, 10)
    """
    sign, trials = _sign(study), study.get_trials(deepcopy=False)
    space = _space(trials) if search_space is None else _checked(search_space)
    if not space:
        raise UsageError(
            "there is nothing to recommend: no continuous float parameter is common to the completed trials of this "
            "study. Let some trials complete, or see whether the parameters have a step or a changing range."
        )
    box = _box(space)
    evidence = _evidence(trials, box, sign)
    n_failures = int(evidence.failures.sum())
    result = conclude(evidence, box)
    return translate(
        result,
        evidence,
        box,
        sign=sign,
        counted=Counted(evidence.n_measurements + n_failures, n_failures, 0),
        is_over=True,
        sentence=f"The answer from {evidence.n_measurements} completed trials.",
    )


def _sign(study: Study) -> float:
    """Return 1 for a study that minimises and -1 for one that maximises; a study with several aims is refused."""
    if len(study.directions) != 1:
        raise UsageError(
            f"this study has {len(study.directions)} objectives, but QuadraticSampler and recommend are for one. "
            f"Combine them into one value, or use a sampler for several such as Optuna's NSGAIISampler."
        )
    return -1.0 if study.directions[0] is StudyDirection.MAXIMIZE else 1.0


def _kept_round(study: Study, trial: FrozenTrial) -> dict[str, Any] | None:
    """Return the round that was planned last, or None if it is used up before this trial."""
    kept: dict[str, Any] | None = study._storage.get_study_system_attrs(study._study_id).get(KEY)
    return None if kept is None or trial.number >= kept["first"] + len(kept["points"]) else kept


def _is_continuous(distribution: BaseDistribution) -> bool:
    return isinstance(distribution, FloatDistribution) and distribution.step is None and not distribution.single()


def _checked(space: Space) -> Space:
    wrong = [name for name, distribution in space.items() if not _is_continuous(distribution)]
    if wrong or not space:
        raise UsageError(
            f"search_space must hold float distributions without a step, got {', '.join(wrong) or 'none'}; leave the "
            f"others out, the independent sampler chooses them."
        )
    return dict(sorted(space.items()))


def _space(trials: list[FrozenTrial]) -> Space:
    """Return the continuous parameters that all completed trials have, by name."""
    return {name: space for name, space in intersection_search_space(trials).items() if _is_continuous(space)}


def _box(space: Space) -> Box:
    floats = [(name, found) for name, found in space.items() if isinstance(found, FloatDistribution)]
    return Box([Knob(name, found.low, found.high, log=found.log) for name, found in floats])


def _written(box: Box) -> list[list[Any]]:
    return [[knob.name, knob.low, knob.high, knob.log] for knob in box.knobs]


def _settings(trials: list[FrozenTrial], box: Box) -> Matrix:
    """Return the settings (n, d) of the trials that have every knob."""
    rows = [[trial.params[name] for name in box.names] for trial in _with_all(trials, box)]
    return np.array(rows, dtype=np.float64).reshape(-1, box.dimension)


def _with_all(trials: list[FrozenTrial], box: Box) -> list[FrozenTrial]:
    return [trial for trial in trials if all(name in trial.params for name in box.names)]


def _evidence(trials: list[FrozenTrial], box: Box, sign: float) -> Evidence:
    """Return what finished trials tell; one with an infinite value failed."""
    finished = [trial for trial in trials if trial.state in (TrialState.COMPLETE, TrialState.FAIL)]
    used = _with_all(finished, box)
    if not used:
        return Evidence.empty(box.dimension)
    values = np.array([np.nan if trial.value is None else sign * trial.value for trial in used])
    sems = np.array([_sem(trial) for trial in used])
    points, failed = box.to_unit(_settings(used, box)), ~np.isfinite(values)
    evidence = Evidence.empty(box.dimension)
    plain, known = ~failed & np.isnan(sems), ~failed & ~np.isnan(sems)
    if np.any(plain):
        evidence = evidence.with_measurements(points[plain], Measurements.from_values(values[plain, None]))
    for rows, precision in ((known, sems[known] ** -2.0), (failed, None)):
        n = int(rows.sum())
        if n:
            counts = np.full(n, 0 if precision is None else 1)
            means = np.zeros(n) if precision is None else values[rows]
            told = Measurements(counts, means, np.zeros(n), failures=1 - counts, precision=precision)
            evidence = evidence.with_measurements(points[rows], told)
    return evidence


def _sem(trial: FrozenTrial) -> float:
    """Return the standard error that was told with a trial, or NaN."""
    given = trial.user_attrs.get(SEM)
    if given is None:
        return np.nan
    if not isinstance(given, int | float) or not 0 < given < np.inf:
        raise UsageError(f"trial {trial.number} has the user attribute {SEM!r} = {given!r}; give a number above 0.")
    return float(given)


def _round_size(taken: int, d: int) -> int:
    """Return how many trials the next round plans: a first look of 2d + 1 in all, then half of what was taken."""
    wanted = 2 * d + 1 - taken if taken < 2 * d + 1 else max(2, taken // 2)
    return min(wanted, max(1, MOST_NUMBERS // d))
