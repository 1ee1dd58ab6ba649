"""The next round of a study: how many measurements, where, and in which order; a function of the log alone."""

import math
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from paraboloid.algorithms import propose
from paraboloid.algorithms.accuracy import Progress
from paraboloid.algorithms.rounds import ROUNDS, default_rounds, round_size_for_accuracy, round_size_for_model
from paraboloid.core import Counts, Evidence, Matrix, Result, Status
from paraboloid.numerics import modelled
from paraboloid.study.conclusion import concluded, progress
from paraboloid.study.state import State

__all__ = ["Planner", "Searcher", "Verdict", "stopped"]

PATIENCE = 50  # times p measurements without any bound, after which a study that is after eps alone gives up
MOST_PENDING = 20_000  # rows of pending points that are told to the design; a block stands for many
MOST_TRIALS = 100_000  # in one round: it is one event in the log, and held in memory
Entry = tuple[str, int | None, dict[str, Any]]
ORDER = 1  # tells the stream of the order from other streams of the same seed


@dataclass(frozen=True, slots=True)
class Verdict:
    """Why nothing more is planned, or None if something is."""

    status: Status | None
    sentence: str


class Planner(Protocol):
    """What decides what a study measures next, and what it concludes: the adaptive search or a procedure."""

    def more(self, state: State, wanted: int, repeats: int) -> list[Entry]:
        """Return the events that make more trials ready to be handed out; none if that cannot be."""

    def is_wanted(self, state: State, number: int) -> bool:
        """Tell whether a trial may be handed out now."""

    def verdict(self, state: State, result: Result | None = None) -> Verdict:
        """Return whether more is planned, and if not, why; ``result`` is the conclusion, where it is known."""

    def conclusion(self, state: State) -> Result:
        """Return the answer from what was told so far."""

    def warnings(self, state: State) -> list[str]:
        """Return what a person should know beside."""


class Searcher:
    """The adaptive search: a function of the evidence, so that late, corrected and old values need no special case."""

    def more(self, state: State, wanted: int, repeats: int) -> list[Entry]:
        """Return the event that plans the next round, or nothing at the end."""
        payload = next_round(state, wanted, repeats)
        return [] if payload is None else [("planned", None, payload)]

    def is_wanted(self, state: State, number: int) -> bool:
        """Tell whether a trial may be handed out: every one may."""
        return True

    def verdict(self, state: State, result: Result | None = None) -> Verdict:
        """Return whether more is planned, and if not, why; ``result`` spares working out a bound that is above eps."""
        bound = math.inf if result is None or result.certificate is None else result.certificate.regret_bound
        is_known = state.known.eps is None or (result is not None and bound > state.known.eps)
        return judge(state, Progress(bound) if is_known or state.is_stopped else progress(state))

    def conclusion(self, state: State) -> Result:
        """Return the answer from everything that was told."""
        return concluded(state)

    def warnings(self, state: State) -> list[str]:
        """Return nothing beside what the conclusion says."""
        return []


def stopped(state: State) -> Verdict:
    """Return the verdict on a study that was stopped."""
    return Verdict(Status.STOPPED, f"The study was stopped. {state.stop_reason}".strip())


def judge(state: State, now: Progress) -> Verdict:
    """Return the verdict on a study that has come so far."""
    if state.is_stopped:
        return stopped(state)
    settings, evidence = state.known, state.evidence()
    n_open = len(state.running) + len(state.waiting)
    if settings.eps is not None and _may_judge(evidence):
        if now.reaches(settings.eps):
            said = f"The regret bound {now.bound:.3g} is below eps = {settings.eps:g}."
            return Verdict(Status.ACCURACY_REACHED, said)
        d = evidence.dimension
        p = 1 + d + d * (d + 1) // 2
        if math.isinf(now.bound) and settings.budget is None and evidence.n_attempts > PATIENCE * p:
            return Verdict(Status.NO_BOUND, Status.NO_BOUND.value)
    if state.left == 0:
        waits = f"; {n_open} of its trials are not answered yet" if n_open else ""
        return Verdict(Status.BUDGET_SPENT, f"The budget of {settings.budget} measurements is handed out{waits}.")
    return Verdict(None, "The study goes on.")


def _may_judge(evidence: Evidence) -> bool:
    return evidence.n_measurements > 0 and evidence.n_attempts > 2 * evidence.dimension + 1


def next_round(state: State, wanted: int, repeats: int) -> dict[str, Any] | None:
    """Return the payload of the next round, of at least ``wanted`` trials of ``repeats``, or None at the end."""
    now = Progress() if state.is_stopped else progress(state)
    if judge(state, now).status is not None:
        return None
    settings, evidence, left = state.known, state.evidence(), state.left
    if settings.batch is not None:
        n_trials = settings.batch
    else:
        n_trials = max(wanted, min(MOST_TRIALS, math.ceil(_round_size(state, now) / repeats)))
    last = repeats
    if left is not None and n_trials * repeats > left:
        n_trials, last = math.ceil(left / repeats), left % repeats or repeats
    points, sizes = _blocks(state, n_trials, repeats, now.is_doubted)
    number = state.rounds + 1
    order = np.random.default_rng([settings.seed, ORDER, number]).permutation(len(sizes))
    sizes[order[-1]] = last
    x = settings.domain.from_unit(points[order])
    return {
        "round": number,
        "first": state.next_id,
        "from": {"measurements": evidence.n_measurements, "failures": int(evidence.failures.sum())},
        "repeats": sizes[order].tolist(),
        "x": x.tolist(),
    }


def _blocks(state: State, n_trials: int, repeats: int, is_doubted: bool) -> tuple[Matrix, Counts]:
    """Return a unit point (n_trials, d) and the repeats of each trial."""
    settings = state.known
    pending, open_repeats = state.pending()
    total = sum(open_repeats)
    if total > MOST_PENDING:
        open_repeats = [max(1, size * MOST_PENDING // total) for size in open_repeats]
    points, counts = propose(
        state.evidence(),
        n_trials * repeats,
        shape=settings.domain.shape,
        seed=settings.seed,
        pending=np.repeat(pending, open_repeats, axis=0),
        left=None if state.left is None else max(0, state.left - n_trials * repeats),
        is_doubted=is_doubted,
    )
    share = counts / counts.sum() * n_trials
    whole = np.floor(share + 1e-9).astype(np.int64)
    missing = n_trials - int(whole.sum())
    whole[np.argsort(-(share - whole), kind="stable")[:missing]] += 1
    return np.repeat(points, whole, axis=0), np.full(n_trials, repeats, dtype=np.int64)


def _round_size(state: State, now: Progress) -> int:
    """Return how many measurements the next round should have, as in `adaptive`."""
    settings, taken, d = state.known, state.charged, state.known.domain.dimension
    if settings.eps is not None:
        return round_size_for_accuracy(taken, d=d, eps=settings.eps, bound=now.forecast(settings.eps))
    if settings.budget is None:
        return 2 * d + 1 - taken if taken < 2 * d + 1 else max(2, taken // 2)
    evidence = state.evidence()
    model = None if evidence.n_measurements == 0 else modelled(evidence, settings.domain.shape, True)
    rounds_left = ROUNDS - state.rounds
    if rounds_left < 1:  # a study that was given more budget: as many as a search has for that part of it
        rounds_left = math.ceil(ROUNDS * (1 - taken / settings.budget))
    planned = default_rounds(d, settings.budget)
    return round_size_for_model(model, taken, d=d, budget=settings.budget, planned=planned, rounds_left=rounds_left)
