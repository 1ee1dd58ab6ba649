"""The status of a study, gathered from its state."""

from pathlib import Path
from typing import Any

from paraboloid.core import Result
from paraboloid.store import Holder
from paraboloid.study.leases import running_trials
from paraboloid.study.rounds import Verdict
from paraboloid.study.state import State, places_of
from paraboloid.study.status import StudyStatus
from paraboloid.study.telling import is_outside
from paraboloid.study.trial import TrialState

__all__ = ["overview"]


def overview(
    state: State,
    result: Result | None,
    ended: Verdict,
    *,
    path: Path,
    boot: str,
    opened: float,
    holder: Holder | None,
    unsaved: int,
    remarks: tuple[str, ...],
) -> StudyStatus:
    """Return where a study stands; ``result`` is its answer so far, or None before there is one.

    ``remarks`` are what a person should know beside.
    """
    settings, evidence, counts = state.known, state.evidence(), state.counts()
    records = state.records.values()
    n_open = counts[TrialState.RUNNING.name] + (counts[TrialState.WAITING.name] if not state.is_stopped else 0)
    return StudyStatus(
        path=str(path),
        study=state.uuid,
        phase="RUNNING" if ended.status is None else ended.status.name,
        message=ended.sentence,
        is_finished=ended.status is not None and n_open == 0,
        counts=counts,
        n_measurements=evidence.n_measurements,
        n_failures=int(evidence.failures.sum()),
        n_old=sum(r.outcome.count for r in records if r.is_old and r.outcome and r.state is TrialState.COMPLETE),
        n_rounds=state.rounds,
        budget=settings.budget,
        left=state.left,
        possible_extra_runs=sum(
            _extra(r.attempt, r.answers, r.state) * r.repeats for r in records if r.attempt > r.answers
        ),
        running=running_trials(state, boot, opened),
        estimate=None if result is None else _estimate(result, state),
        eps=settings.eps,
        warnings=tuple(_warnings(state, result, counts)) + remarks,
        holder=None if holder is None else str(holder),
        unsaved=unsaved,
        events=state.sequence,
    )


def _extra(attempt: int, answers: int, state: TrialState) -> int:
    """Return how many runs of a trial may have been made and never told, the present one aside."""
    return max(0, attempt - answers - (state is TrialState.RUNNING))


def _estimate(result: Result, state: State) -> dict[str, Any]:
    c = result.certificate
    x = dict(zip(state.known.domain.names, result.x.tolist(), strict=True))
    if c is None:  # an algorithm that gives an answer, and does not say how good it is
        unknown = dict.fromkeys(("fun", "fun_se", "regret", "regret_bound", "regret_bound_if_quadratic"))
        return {"x": x, **unknown, "confidence": state.known.confidence, "sigma": None}
    return {
        "x": x,
        "fun": state.known.sign * c.fun,
        "fun_se": c.fun_se,
        "regret": c.regret,
        "regret_bound": c.regret_bound,
        "regret_bound_if_quadratic": c.regret_bound_if_quadratic,
        "confidence": c.confidence,
        "sigma": c.sigma,
    }


def _warnings(state: State, result: Result | None, counts: dict[str, int]) -> list[str]:
    found = [] if result is None or result.certificate is None else list(result.certificate.caveats)
    told = [r for r in state.records.values() if r.state is TrialState.COMPLETE and (r.is_old or r.place is not r.x)]
    are_out = is_outside(state.known.domain, places_of(told)) if told else ()
    outside = [r.id for r, is_out in zip(told, are_out, strict=True) if is_out]
    if outside:
        some = ", ".join(map(str, outside[:5])) + (", ..." if len(outside) > 5 else "")
        found.append(f"{len(outside)} trials were measured outside the bounds ({some}): used, never recommended.")
    if counts["CENSORED"]:
        found.append(f"{counts['CENSORED']} readings are censored: kept, and not used as values.")
    if counts["FAILED"]:
        last = max((r for r in state.records.values() if r.state is TrialState.FAILED), key=lambda r: r.id)
        found.append(f"{counts['FAILED']} trials failed, the last one: {last.reason}.")
    return found
