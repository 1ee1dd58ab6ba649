"""The next round of a study: how many measurements, where, and in which order; a function of the log alone."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from paraboloid.algorithms import conclude, propose
from paraboloid.core import Counts, Evidence, Matrix, Status
from paraboloid.study.settings import Settings
from paraboloid.study.state import State

__all__ = ["Verdict", "judge", "next_round", "verdict"]

ROUNDS = 8  # as the adaptive search has it
PATIENCE = 50  # times p measurements without any bound, after which a study that is after eps alone gives up
MOST_PENDING = 20_000  # rows of pending points that are told to the design; a block stands for many
MOST_TRIALS = 100_000  # in one round: it is one event in the log, and held in memory
ORDER = 1  # tells the stream of the order from other streams of the same seed


@dataclass(frozen=True, slots=True)
class Verdict:
    """Why nothing more is planned, or None if something is."""

    status: Status | None
    sentence: str


def verdict(state: State) -> Verdict:
    """Return whether a study plans more rounds, and if not, why."""
    needs_bound = state.known.eps is not None and not state.is_stopped and state.evidence().n_measurements > 0
    return judge(state, _regret_bound(state.evidence(), state.known) if needs_bound else math.inf)


def judge(state: State, bound: float) -> Verdict:
    """Return the verdict on a study whose regret bound is known."""
    if state.is_stopped:
        return Verdict(Status.STOPPED, f"The study was stopped. {state.stop_reason}".strip())
    settings, evidence = state.known, state.evidence()
    n_open = len(state.running) + len(state.waiting)
    if settings.eps is not None and _may_judge(evidence):
        if bound <= settings.eps:
            return Verdict(Status.ACCURACY_REACHED, f"The regret bound {bound:.3g} is below eps = {settings.eps:g}.")
        d = evidence.dimension
        p = 1 + d + d * (d + 1) // 2
        if math.isinf(bound) and settings.budget is None and evidence.n_attempts > PATIENCE * p:
            return Verdict(Status.NO_BOUND, Status.NO_BOUND.value)
    if state.left == 0:
        waits = f"; {n_open} of its trials are not answered yet" if n_open else ""
        return Verdict(Status.BUDGET_SPENT, f"The budget of {settings.budget} measurements is handed out{waits}.")
    return Verdict(None, "The study goes on.")


def _may_judge(evidence: Evidence) -> bool:
    return evidence.n_measurements > 0 and evidence.n_attempts > 2 * evidence.dimension + 1


def next_round(state: State, wanted: int, repeats: int) -> dict[str, Any] | None:
    """Return the payload of the next round, of at least ``wanted`` trials of ``repeats``, or None at the end."""
    if verdict(state).status is not None:
        return None
    settings, evidence, left = state.known, state.evidence(), state.left
    if settings.batch is not None:
        n_trials = settings.batch
    else:
        n_trials = max(wanted, min(MOST_TRIALS, math.ceil(_round_size(state, evidence) / repeats)))
    last = repeats
    if left is not None and n_trials * repeats > left:
        n_trials, last = math.ceil(left / repeats), left % repeats or repeats
    points, sizes = _blocks(state, evidence, n_trials, repeats)
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


def _blocks(state: State, evidence: Evidence, n_trials: int, repeats: int) -> tuple[Matrix, Counts]:
    """Return a unit point (n_trials, d) and the repeats of each trial."""
    settings = state.known
    pending, open_repeats = state.pending()
    total = sum(open_repeats)
    if total > MOST_PENDING:
        open_repeats = [max(1, size * MOST_PENDING // total) for size in open_repeats]
    points, counts = propose(
        evidence,
        n_trials * repeats,
        shape=settings.domain.shape,
        seed=settings.seed,
        pending=np.repeat(pending, open_repeats, axis=0),
    )
    share = counts / counts.sum() * n_trials
    whole = np.floor(share + 1e-9).astype(np.int64)
    missing = n_trials - int(whole.sum())
    whole[np.argsort(-(share - whole), kind="stable")[:missing]] += 1
    return np.repeat(points, whole, axis=0), np.full(n_trials, repeats, dtype=np.int64)


def _round_size(state: State, evidence: Evidence) -> int:
    """Return how many measurements the next round should have: rounds grow geometrically, as in `adaptive`."""
    settings, taken = state.known, state.charged
    first = 2 * settings.domain.dimension + 1
    if settings.eps is not None:
        return _size_for_accuracy(taken, first, settings, evidence)
    if settings.budget is None:
        return first - taken if taken < first else max(2, taken // 2)
    first = min(first, settings.budget)
    ends = (math.ceil(first * (settings.budget / first) ** (k / (ROUNDS - 1)) - 1e-9) for k in range(ROUNDS))
    return next((end for end in ends if end > taken), settings.budget) - taken


def _size_for_accuracy(taken: int, first: int, settings: Settings, evidence: Evidence) -> int:
    """Return the next round's size on the way to eps: what the forecast says is missing, at most as much as taken."""
    if taken < first:
        return first - taken
    bound = _regret_bound(evidence, settings) if evidence.n_measurements else math.inf
    if not math.isfinite(bound):
        return max(2, taken // 2)
    assert settings.eps is not None
    missing = taken * (bound / settings.eps - 1)  # the bound falls like 1/n
    return max(2, math.ceil(taken / 10), min(taken, math.ceil(0.7 * missing)))


def _regret_bound(evidence: Evidence, settings: Settings) -> float:
    certificate = conclude(evidence, settings.domain, confidence=settings.confidence).certificate
    return math.inf if certificate is None else certificate.regret_bound
