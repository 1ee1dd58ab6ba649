"""Where a study stands, for people, pages and scripts."""

from dataclasses import asdict, dataclass
from typing import Any

__all__ = ["RunningTrial", "StudyStatus"]


@dataclass(frozen=True, slots=True)
class RunningTrial:
    """A trial that is handed out and not answered.

    Parameters
    ----------
    id, attempt
        The trial, and how often it was handed out.
    age
        Seconds since it was handed out last; measured on a clock that nobody sets where that is possible.
    host, pid
        The process that asked for it.
    is_lost
        Whether that process is gone or the lease is over: the trial comes back by the next ask.

    Examples
    --------
    >>> RunningTrial(3, 1, 12.5, "bench-3", 4711, False).age
    12.5
    """

    id: int
    attempt: int
    age: float
    host: str
    pid: int
    is_lost: bool


@dataclass(frozen=True, slots=True)
class StudyStatus:
    """Where a study stands.

    Parameters
    ----------
    path, study
        The file, and the identity of the study.
    phase
        RUNNING, or why nothing more is planned: BUDGET_SPENT, ACCURACY_REACHED, NO_BOUND, STOPPED.
    message
        The same as a sentence.
    is_finished
        Whether nothing more is planned and every trial is answered.
    counts
        Number of trials in each state.
    n_measurements, n_failures, n_old
        Values that count (old data included), attempts without a value, values of old data.
    n_rounds
        Rounds planned.
    budget, left
        Measurements that may be handed out, and those neither answered nor planned yet; None without a budget.
    possible_extra_runs
        Measurements that may have been made without being told: trials handed out more often than answered.
    running
        Trials that are handed out.
    estimate
        x, fun, fun_se, regret, regret_bound (also if the response is known to be quadratic), confidence and sigma, or
        None before there is one.
    eps
        The wanted accuracy.
    warnings
        What a person should know: caveats of the estimate, settings outside the bounds, censored readings, the file.
    holder
        Who writes to the study, as a sentence, or None.
    unsaved
        Answers that could not be written yet and are kept in memory.
    events
        Number of events in the log.

    Examples
    --------
    >>> import paraboloid, pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "study.db"
    >>> with paraboloid.Study.open(path, [(0, 1)], budget=9, rng=0) as study:
    ...     trials = study.ask(2)
    ...     status = study.status()
    >>> status.phase, status.counts["RUNNING"], status.counts["WAITING"], status.left
    ('RUNNING', 2, 1, 6)
    """

    path: str
    study: str
    phase: str
    message: str
    is_finished: bool
    counts: dict[str, int]
    n_measurements: int
    n_failures: int
    n_old: int
    n_rounds: int
    budget: int | None
    left: int | None
    possible_extra_runs: int
    running: tuple[RunningTrial, ...]
    estimate: dict[str, Any] | None
    eps: float | None
    warnings: tuple[str, ...]
    holder: str | None
    unsaved: int
    events: int

    def as_dict(self) -> dict[str, Any]:
        """Return the status in plain types, ready for JSON (an infinite bound becomes None)."""
        made = asdict(self)
        made["running"] = [asdict(trial) for trial in self.running]
        made["warnings"] = list(self.warnings)
        if self.estimate is not None:
            finite = {
                k: None if v in (float("inf"), float("-inf")) else v for k, v in self.estimate.items() if k != "x"
            }
            made["estimate"] = {"x": self.estimate["x"], **finite}
        return made
