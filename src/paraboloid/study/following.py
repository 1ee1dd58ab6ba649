"""How a study follows a procedure: the log is replayed into it, and what it asks for next is planned.

A procedure is a generator of experiments. It cannot be saved, and goes on only when an experiment is answered whole.
Its state is what replaying the log gives: for each step, in order, the round that measured the experiment it asks for.
After a correction it may ask for other settings from some step on; rounds that were planned for such a step before are
superseded: their answers stay in the log, and the procedure does not see them.
"""

import logging
import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from paraboloid.core import (
    Estimate,
    Experiment,
    Matrix,
    Measurements,
    ParaboloidError,
    ReplayMismatch,
    Result,
    Status,
    UsageError,
)
from paraboloid.run import Session
from paraboloid.study.algorithm import build, takes_domain
from paraboloid.study.conclusion import concluded
from paraboloid.study.outcome import Outcome
from paraboloid.study.rounds import MOST_TRIALS, ORDER, Verdict, stopped
from paraboloid.study.settings import Settings
from paraboloid.study.state import Plan, Record, State
from paraboloid.study.telling import Entry, is_outside
from paraboloid.study.trial import TrialState

__all__ = ["Follower", "Unnamed"]

logger = logging.getLogger("paraboloid")

MOST_TRIES = 3
"""A failed measurement that the procedure cannot do without comes back by itself until it has failed so often; and
once more so often at the next opening, for something may have been mended."""


@dataclass(frozen=True, slots=True, eq=False)
class _Stand:
    """Where a procedure stands: the step it is at with the experiment it wants and the round for it, or its result."""

    step: int
    wanted: Experiment | None  # in unit coordinates
    round: int | None  # that measures it; None if it is not planned yet
    result: Result | None


class Follower:
    """Plans what a procedure asks for, and concludes what it returns; a function of the log alone."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._is_in_knob_units = takes_domain(settings)
        self._session: Session[Result] | None = None
        self._used: list[tuple[int, int]] = []  # round and its last revision, for each step that was answered
        self._experiments: dict[int, Experiment] = {}  # what each round measures, in unit coordinates
        self._seen: tuple[State, int, _Stand] | None = None
        build(settings)  # a mistake in its arguments is seen here

    # -- what a study asks of a planner --------------------------------------------------------------------------

    def more(self, state: State, wanted: int, repeats: int) -> list[Entry]:
        """Return the events that make more trials ready to be handed out; none if that cannot be."""
        stand = self._stand(state)
        entries: list[Entry] = []
        if unused := [number for number in self._unused(state, stand) if not state.plans[number].is_superseded]:
            entries = [("superseded", None, {"rounds": unused})]
            logger.warning("%s", self.warnings(state)[0])
        if stand.wanted is None:
            return entries
        if stand.round is not None:
            return [*entries, *(("retried", number, {}) for number in _to_try_again(state, stand.round)[:wanted])]
        if _is_too_large(state, stand.wanted):
            return entries
        return [*entries, ("planned", None, self._planned(state, stand.step, stand.wanted, repeats))]

    def is_wanted(self, state: State, number: int) -> bool:
        """Tell whether a trial may be handed out now: only those of the present experiment."""
        return state.records[number].round == self._stand(state).round

    def verdict(self, state: State, result: Result | None = None) -> Verdict:
        """Return whether more is planned, and if not, why."""
        if state.is_stopped:
            return stopped(state)
        stand, name = self._stand(state), self._settings.algorithm
        if stand.result is not None:
            return Verdict(stand.result.status, f"{name} has returned. {stand.result.status.value}")
        assert stand.wanted is not None
        if stand.round is not None:
            return Verdict(None, _what_is_missing(state, stand.round, name))
        if _is_too_large(state, stand.wanted):
            needed, budget = stand.wanted.n_measurements, state.known.budget
            return Verdict(
                Status.BUDGET_SPENT,
                f"The next experiment of {name} needs {needed} measurements, and the budget of {budget}, which failed "
                f"ones count against, has {state.left} left. study.extend({state.charged + needed}) lets it go on.",
            )
        return Verdict(None, f"The study goes on with experiment {stand.step} of {name}.")

    def conclusion(self, state: State) -> Result:
        """Return the procedure's own answer, in knob units; before there is one, that of a model fitted to all."""
        result = self._stand(state).result
        return concluded(state) if result is None else self._in_knob_units(result)

    def warnings(self, state: State) -> list[str]:
        """Return what a person should know of rounds that are not used."""
        return _about_unused(state, self._unused(state, self._stand(state)), self._settings.algorithm)

    def _unused(self, state: State, stand: _Stand) -> list[int]:
        """Return the rounds that the procedure does not use; those of later steps it may come to."""
        on_the_way = {number for number, _ in self._used} | {stand.round}
        return [n for n, plan in state.plans.items() if n not in on_the_way and plan.step <= stand.step]

    # -- replaying -----------------------------------------------------------------------------------------------

    def _stand(self, state: State) -> _Stand:
        """Bring the procedure to where the log is."""
        if self._seen is None or self._seen[0] is not state or self._seen[1] != state.sequence:
            self._seen = state, state.sequence, self._replayed(state)
        return self._seen[2]

    def _replayed(self, state: State) -> _Stand:
        if self._session is None or any(state.plans[number].revised != seen for number, seen in self._used):
            self._used = []
            with self._explained():
                self._session = Session(build(self._settings))
        session = self._session
        while not session.is_done:
            step = len(self._used) + 1
            wanted = self._in_unit_coordinates(session.ask())
            number = self._matching(state, step, wanted)
            if number is None or state.plans[number].missing:
                return _Stand(step, wanted, number, None)
            self._used.append((number, state.plans[number].revised))
            with self._explained():
                session.tell(_measured(state, state.plans[number], wanted))
        if not isinstance(session.result, Result):
            raise UsageError(f"algorithm {self._settings.algorithm} returned {session.result!r}, and not a Result.")
        return _Stand(len(self._used) + 1, None, None, session.result)

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Say whose error it is; a generator that has raised is at its end, and is begun anew the next time."""
        try:
            yield
        except BaseException as error:
            self._session = None
            if isinstance(error, ParaboloidError) or not isinstance(error, Exception):
                raise
            raise UsageError(
                f"algorithm {self._settings.algorithm} raised {type(error).__name__}: {error}. What was told is kept; "
                f"mend the algorithm, or correct an answer, and open the study again."
            ) from error

    def _matching(self, state: State, step: int, wanted: Experiment) -> int | None:
        """Return the round that measures what is wanted; `ReplayMismatch` if no correction explains that there is none.

        Rounds that were superseded count again if they are answered: a correction may be taken back.
        """
        planned = [number for number, plan in state.plans.items() if plan.step == step]
        for number in reversed(planned):
            plan = state.plans[number]
            if number not in self._experiments:
                self._experiments[number] = _experiment(state, plan)
            if not (plan.is_superseded and plan.missing) and self._experiments[number].same_as(wanted):
                return number
        changed = max((max(state.plans[n].revised, state.plans[n].sequence) for n, _ in self._used), default=0)
        for number in planned:
            plan = state.plans[number]
            if plan.sequence > changed and not plan.is_superseded:
                raise ReplayMismatch(
                    f"experiment {step} of {self._settings.algorithm} was planned as round {number}, but now it asks "
                    f"for other settings, and no answer before it was corrected. Its code has changed, or it uses "
                    f"something beside its arguments and what it is told. Go on with the code of then, or make a new "
                    f"study."
                )
        return None

    def _in_unit_coordinates(self, experiment: Experiment) -> Experiment:
        domain, name = self._settings.domain, self._settings.algorithm
        if experiment.points.shape[1] != domain.dimension:
            raise UsageError(
                f"{name} asks for points of {experiment.points.shape[1]} knobs; {domain.dimension} there are."
            )
        points = experiment.points
        knobs = points if self._is_in_knob_units else domain.from_unit(points)
        if np.any(is_outside(domain, knobs)):
            raise UsageError(
                f"{name} asks for settings outside the domain, such as {knobs[is_outside(domain, knobs)][0].tolist()}. "
                f"An algorithm that names a parameter domain works in the units of the knobs, others in the unit ball."
            )
        return Experiment(
            domain.to_unit(points) if self._is_in_knob_units else points,
            experiment.repeats,
            needs_values=experiment.needs_values,
            allows_failures=experiment.allows_failures,
            about=experiment.about,
        )

    def _in_knob_units(self, result: Result) -> Result:
        if self._is_in_knob_units:
            return result
        domain, z, covariance = self._settings.domain, result.x, result.estimate.covariance
        jacobian = domain.jacobian(z)
        inverse = np.linalg.inv(jacobian)
        moved = None if covariance is None else jacobian @ covariance @ jacobian.T
        hessian = None if result.hessian is None else inverse.T @ result.hessian @ inverse
        # A certificate would be in unit coordinates, too, and nobody can tell which of its numbers are.
        return replace(result, estimate=Estimate(domain.from_unit(z), moved), hessian=hessian, certificate=None)

    # -- planning ------------------------------------------------------------------------------------------------

    def _planned(self, state: State, step: int, wanted: Experiment, repeats: int) -> dict[str, Any]:
        """Return the payload of the round that measures an experiment, in random order."""
        n_trials = int(np.ceil(wanted.repeats / repeats).sum())
        if n_trials > MOST_TRIALS:
            least = math.ceil(wanted.n_measurements / (MOST_TRIALS - wanted.n_points))
            raise UsageError(
                f"experiment {step} of {self._settings.algorithm} has {wanted.n_measurements:,} measurements, and a "
                f"round has at most {MOST_TRIALS:,} trials: ask for blocks of them by repeats={least} or more."
            )
        rows = [(k, size) for k, total in enumerate(wanted.repeats.tolist()) for size in _cut(total, repeats)]
        number = state.rounds + 1
        order = np.random.default_rng([self._settings.seed, ORDER, number]).permutation(len(rows))
        x = self._settings.domain.from_unit(wanted.points).tolist()
        evidence = state.evidence()
        return {
            "round": number,
            "first": state.next_id,
            "from": {"measurements": evidence.n_measurements, "failures": int(evidence.failures.sum())},
            "step": step,
            "about": wanted.about,
            "needs_values": wanted.needs_values,
            "allows_failures": wanted.allows_failures,
            "points": [rows[k][0] for k in order],
            "repeats": [rows[k][1] for k in order],
            "x": [x[rows[k][0]] for k in order],
        }


class Unnamed:
    """Stands for an algorithm that a reader has not named: what the log says is shown, and no code of it is run."""

    def __init__(self, settings: Settings) -> None:
        self._name = settings.algorithm

    def more(self, state: State, wanted: int, repeats: int) -> list[Entry]:
        """Never happens: a writer names the algorithm."""
        raise UsageError(f"name the algorithm {self._name} to go on with it.")

    def is_wanted(self, state: State, number: int) -> bool:
        """Never happens, likewise."""
        return False

    def verdict(self, state: State, result: Result | None = None) -> Verdict:
        """Return what the log alone can say."""
        if state.is_stopped:
            return stopped(state)
        waiting = [number for number, plan in state.plans.items() if plan.missing and not plan.is_superseded]
        if waiting:
            return Verdict(None, _what_is_missing(state, waiting[-1], self._name))
        return Verdict(None, f"All that {self._name} has asked for is answered.")

    def conclusion(self, state: State) -> Result:
        """Return the answer of the model fitted to all values."""
        return concluded(state)

    def warnings(self, state: State) -> list[str]:
        """Say whose answer this is."""
        return [
            *_about_unused(state, [n for n, plan in state.plans.items() if plan.is_superseded], self._name),
            f'the estimate is of a model fitted to all values; Study.read(path, algorithm="{self._name}") runs that '
            f"code, and gives its own answer once there is one.",
        ]


def _cut(total: int, size: int) -> Iterator[int]:
    for start in range(0, total, size):
        yield min(size, total - start)


def _is_too_large(state: State, wanted: Experiment) -> bool:
    return state.left is not None and wanted.n_measurements > state.left


def _experiment(state: State, plan: Plan) -> Experiment:
    """Return what a round measures, in unit coordinates."""
    n_points = 1 + max(plan.points.values())
    repeats = np.zeros(n_points, dtype=np.int64)
    settings: list[tuple[float, ...]] = [()] * n_points
    for number, point in plan.points.items():
        record = state.records[number]
        repeats[point] += record.repeats
        settings[point] = record.x
    unit: Matrix = state.known.domain.to_unit(np.array(settings))
    return Experiment(unit, repeats)


def _measured(state: State, plan: Plan, wanted: Experiment) -> Measurements:
    """Return the answers of a round, point by point and in the order of their trials, to be minimised."""
    rows: list[list[Outcome]] = [[] for _ in range(wanted.n_points)]
    for number in sorted(plan.points):
        record = state.records[number]
        rows[plan.points[number]].append(_outcome(record))
    joined = [_joined(row, state.known.sign) for row in rows]
    counts, means, scatter, failures, precision, values = zip(*joined, strict=True)
    return Measurements(
        np.array(counts),
        np.array(means),
        np.array(scatter),
        None if any(row is None for row in values) else tuple(np.array(row) for row in values),
        failures=np.array(failures),
        precision=np.array(precision) if all(precision) else None,
    )


def _outcome(record: Record) -> Outcome:
    if record.state is TrialState.COMPLETE and record.outcome is not None:
        return record.outcome
    return Outcome(record.state, failures=record.repeats)  # of an experiment that allows failures


def _joined(row: list[Outcome], sign: float) -> tuple[int, float, float, int, float, list[float] | None]:
    """Return count, mean, scatter, failures, precision (0 if not known) and single values of several answers."""
    counts = np.array([o.count for o in row])
    precision = np.array([o.precision for o in row])
    is_known = bool(np.all(precision[counts > 0] > 0))
    weights = precision if is_known else counts.astype(np.float64)
    means = sign * np.array([o.mean for o in row])
    shift = means[int(np.argmax(counts))]  # a large common offset costs no digits
    mean = float(shift + weights @ (means - shift) / max(float(weights.sum()), 1e-300))
    scatter = float(np.array([o.scatter for o in row]).sum() + counts @ (means - mean) ** 2)
    values = None if any(o.values is None and o.count for o in row) else [sign * v for o in row for v in o.values or ()]
    failures = sum(o.failures for o in row)
    return int(counts.sum()), mean, scatter, failures, float(weights.sum()) if is_known else 0.0, values


def _to_try_again(state: State, number: int) -> list[int]:
    """Return the failed trials of a round that come back by themselves, as far as the budget allows it."""
    left, found = math.inf if state.left is None else state.left, []
    for record in (state.records[trial] for trial in sorted(state.plans[number].missing)):
        is_new = record.answers % MOST_TRIES > 0 or record.session != state.session
        if record.state is TrialState.FAILED and is_new and record.repeats <= left:
            left -= record.repeats
            found.append(record.id)
    return found


def _what_is_missing(state: State, number: int, name: str) -> str:
    plan = state.plans[number]
    missing = [state.records[trial] for trial in sorted(plan.missing)]
    out = sum(record.state is TrialState.RUNNING for record in missing)
    again = set(_to_try_again(state, number))
    lost = [r.id for r in missing if r.state not in (TrialState.RUNNING, TrialState.WAITING) and r.id not in again]
    ready = len(missing) - out - len(lost)
    text = f"Experiment {plan.step} of {name} waits for {len(missing)} of its {len(plan.points)} trials"
    parts = [f"{out} are out"] * bool(out) + [f"{ready} can be handed out"] * bool(ready)
    if lost:
        some = ", ".join(map(str, lost[:5])) + (", ..." if len(lost) > 5 else "")
        needed = sum(state.records[trial].repeats for trial in lost)
        short = state.left is not None and state.left < needed
        budget = f", once study.extend({state.charged + needed}) has raised the budget" if short else ""
        parts.append(f"it cannot go on without trials {some}: study.retry(id) hands them out again{budget}")
    return f"{text}: {'; '.join(parts)}."


def _about_unused(state: State, rounds: list[int], name: str) -> list[str]:
    if not rounds:
        return []
    n = sum(state.records[trial].answers > 0 for number in rounds for trial in state.plans[number].points)
    return [
        f"since an answer was corrected, {name} asks for other settings: of rounds {', '.join(map(str, rounds))}, "
        f"planned before that, {n} answers stay in the log, and are not used unless it asks for the same again."
    ]
