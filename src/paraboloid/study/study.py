"""The door for people and machines: a study that is asked and told, and survives whatever happens to its process."""

import importlib
import importlib.util
import logging
import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any, Literal, SupportsIndex

import numpy as np
from scipy.optimize import OptimizeResult

from paraboloid.answer import Counted, translate
from paraboloid.core import Domain, Evidence, Knob, ParaboloidError, Procedure, Result, Status, UsageError
from paraboloid.store import Event, EventLog, StorageFull, StudyBusy, StudyHeld, this_place, uptime
from paraboloid.study.algorithm import name_of
from paraboloid.study.beginning import as_given, find_or_create, own_version, planner_of, replayed
from paraboloid.study.leases import lost_trials
from paraboloid.study.outcome import Answer
from paraboloid.study.overview import overview
from paraboloid.study.rounds import MOST_TRIALS, Verdict
from paraboloid.study.settings import ADAPTIVE, seconds, whole
from paraboloid.study.state import State
from paraboloid.study.status import StudyStatus
from paraboloid.study.telling import Decision, Entry, decide, decide_all, unsaved_message
from paraboloid.study.trial import Trial, TrialState, as_row

__all__ = ["Study"]

logger = logging.getLogger("paraboloid")


class Study:
    """A search that is asked for trials and told their values, kept in one file.

    Opened by `Study.open` (one process at a time) or `Study.read` (any number, at any time). What `ask` returned and
    `tell` took is on the disk: after a crash, on another machine or with another number of workers the study goes on
    from its log, with the same answer.

    Examples
    --------
    >>> import paraboloid, pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "study.db"
    >>> box = paraboloid.Box([paraboloid.Knob("temperature", 150, 210, "°C"), paraboloid.Knob("time", 20, 60, "min")])
    >>> with paraboloid.Study.open(path, box, maximize=True, budget=40, rng=0) as study:
    ...     while trials := study.ask():
    ...         x = trials[0].x
    ...         measured = 20 - 0.01 * (x["temperature"] - 180) ** 2 - 0.02 * (x["time"] - 35) ** 2
    ...         trial = study.tell(trials[0].id, measured)
    ...     result = study.recommend()
    >>> result.x.round(1), result.stop_reason
    (array([180.,  35.]), 'BUDGET_SPENT')
    >>> with paraboloid.Study.read(path) as study:
    ...     study.status().n_measurements
    40
    """

    def __init__(self, log: EventLog, *, algorithm: str | None = None) -> None:
        """Use `Study.open` or `Study.read`."""
        self._log = log
        self._lock = threading.RLock()
        self._boot = this_place().boot
        self._opened = uptime()
        self._unsaved: list[Answer] = []
        self._is_stale = False
        self._concluded: tuple[Evidence, Result] | None = None
        self._state = replayed(log)
        if self._state.settings is None:
            raise UsageError(f"{log.path} holds no study; its log has no first event.")
        self._planner = planner_of(self._state, algorithm, log.path, is_writer=log.is_writer)

    # -- opening and closing -----------------------------------------------------------------------------------------

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        domain: Domain | Sequence[Knob | Sequence[float]] | None = None,
        *,
        maximize: bool | None = None,
        budget: SupportsIndex | None = None,
        eps: float | None = None,
        confidence: float | None = None,
        rng: int | np.random.SeedSequence | np.random.Generator | None = None,
        batch: SupportsIndex | None = None,
        algorithm: str | Callable[..., Procedure] | None = None,
        arguments: Mapping[str, Any] | None = None,
        if_exists: Literal["resume", "error"] = "resume",
        take_over: bool = False,
        timeout: float = 60.0,
        lease: float = 60.0,
    ) -> "Study":
        """Create a study, or go on with the one that is there.

        Parameters
        ----------
        path
            The file, such as ``study.db``.
        domain
            A `Box`, a `Ball` or (low, high) pairs; needed to create. What is given to an existing study must be what
            it was made with.
        maximize
            Whether large values are wanted; small ones are if it is not given.
        budget, eps
            Hand out at most so many measurements; plan no more once the answer is this near to the best value at
            ``confidence``. Without both the study goes on as long as it is asked.
        confidence
            Of bounds and intervals, 0.95 if not given.
        rng
            Seed of the study's own choices.
        batch
            Size of every round, such as the number of wells; rounds grow geometrically if it is not given.
        algorithm, arguments
            What is followed in place of the adaptive search, and what it is called with beside (in plain types): the
            name of one of `paraboloid.algorithms`, ``module:factory``, or a function that can be found by that. One of
            ``module:factory`` is named at every opening, for a file must not decide which code is run.
        if_exists
            "resume", or "error" to refuse a path where something is.
        take_over
            Follow a holder that cannot be seen from here (another machine) once it was silent for its lease. A holder
            on this machine whose process is gone is followed without it.
        timeout
            Seconds to wait for a locked file.
        lease
            Seconds of silence after which this process may be followed by another with ``take_over``.
        """
        where = Path(path).expanduser().resolve()  # SQLite, too, follows links
        given = as_given(domain, algorithm, arguments, maximize=maximize, budget=budget, batch=batch, rng=rng)
        given.update(eps=eps, confidence=confidence)
        find_or_create(where, given, rng, if_exists)
        log = EventLog.write(where, take_over=take_over, timeout=timeout, lease=float(seconds("lease", lease) or 60.0))
        try:
            study = cls(log, algorithm=given["algorithm"])
            study._state.known.check_same(given, where)
            study._begin()
        except BaseException:
            log.close()
            raise
        return study

    @classmethod
    def read(
        cls,
        path: str | os.PathLike[str],
        *,
        algorithm: str | Callable[..., Procedure] | None = None,
        timeout: float = 60.0,
    ) -> "Study":
        """Look at a study without disturbing whoever writes to it: status, recommend, trials.

        The code of an algorithm ``module:factory`` is run only if it is named here.
        """
        named = None if algorithm is None else name_of(algorithm)
        return cls(EventLog.read(Path(path).expanduser().resolve(), timeout=timeout), algorithm=named)

    def _begin(self) -> None:
        here, claimed = this_place(), self._log.claim
        assert claimed is not None
        opened: dict[str, Any] = {"host": here.host, "pid": here.pid, "boot": here.boot, "version": own_version()}
        if claimed.previous is not None:
            opened["previous"] = str(claimed.previous)
            opened["is_copy"] = claimed.is_copy
        self._append([("opened", None, opened)])

    def close(self) -> None:
        """Let go of the study. Trials that are out stay out: they may be told at the next opening."""
        self._close(in_good_order=True)

    def _close(self, *, in_good_order: bool) -> None:
        if self._log.is_closed or not self._log.is_writer:
            self._log.close()
            return
        with self._lock:
            try:
                self._save_unsaved()
                self._log.close([("closed", None, {"in_good_order": in_good_order})])
            except StudyHeld as error:
                logger.warning("%s", error)
            finally:
                if not self._log.is_closed:
                    self._log.close()

    def __enter__(self) -> "Study":
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        # What was handed out in a block that ended by an error is not being measured any more: it comes back.
        self._close(in_good_order=kind is None)

    # -- ask and tell ------------------------------------------------------------------------------------------------

    def ask(self, n: SupportsIndex = 1, *, repeats: SupportsIndex = 1, lease: float | None = None) -> list[Trial]:
        """Return up to n trials to measure, durably handed out; an empty list when there is nothing to hand out.

        Never waits for trials that are out: when all planned ones are handed out, more are planned with what is known.
        (Another algorithm cannot go on before its experiment is answered whole; `status` says what is missing.)
        Trials of a process that is gone come back first, with the same id and setting.

        Parameters
        ----------
        n
            How many trials.
        repeats
            How many measurements each newly planned trial asks for: blocks for fast simulators.
        lease
            Seconds after which an unanswered trial is handed out again; without it, only when its process is gone.
        """
        count, block, limit = whole("n", n), whole("repeats", repeats), seconds("lease", lease)
        if count > MOST_TRIALS:
            raise UsageError(f"ask for at most {MOST_TRIALS:,} trials at once, got {count:,}; repeats= makes blocks.")
        with self._writing() as state:
            if state.is_stopped:
                return []
            lost = [n for n in lost_trials(state, self._boot, self._opened) if self._planner.is_wanted(state, n)]
            del lost[count:]
            while len(chosen := self._free(state, lost, count)) < count:
                more = self._planner.more(state, count - len(chosen), block)
                if not more:
                    break
                self._append(more)
            self._append([("asked", number, self._handing_out(number, limit)) for number in chosen])
            return [state.trial(number) for number in chosen]

    def _free(self, state: State, lost: Sequence[int], count: int) -> list[int]:
        """Return at most so many trials that can be handed out now: those that come back, then those that wait."""
        wanted = (number for number in state.waiting if self._planner.is_wanted(state, number))
        return [*lost, *islice(wanted, count - len(lost))]

    def _handing_out(self, number: int, lease: float | None) -> dict[str, Any]:
        made: dict[str, Any] = {"attempt": self._state.records[number].attempt + 1, "uptime": round(uptime(), 3)}
        if lease is not None:
            made["lease"] = lease
        return made

    def tell(
        self,
        id: SupportsIndex | Trial | None,
        value: Any = None,
        *,
        sem: Any = None,
        x: Mapping[str, float] | None = None,
        state: TrialState | str | None = None,
        note: str | None = None,
        replace: bool = False,
        attempt: int | None = None,
        key: str | None = None,
    ) -> Trial:
        """Take the value of a trial; when this returns it is on the disk, and counts once.

        Parameters
        ----------
        id
            The trial or its number; None for old data, measured without asking, which needs ``x``.
        value
            A number, a list of replicates, or `Measurements` of one point (count, mean and scatter of a block). What is
            not a finite number makes the trial FAILED, with the reason; it is never turned into a penalty.
        sem
            Standard error of the mean of what is told, or one for each replicate.
        x
            The executed setting by knob name, where it differs from the asked one.
        state
            "FAILED" or "ABANDONED" without a value, "CENSORED" with a reading at the limit of the instrument.
        note
            A remark that is kept.
        replace
            Whether this corrects an earlier answer; both stay in the log. Without it, telling the same again does
            nothing, and telling another value is an error (or a duplicate, if the trial was handed out twice).
        attempt
            Which attempt answers.
        key
            A name for a row of old data, so that telling it again is noticed.
        """
        answer = Answer(id, value, sem, x, state, note, replace, attempt, key=key)
        with self._writing() as known:
            decision = decide(known, answer, known.next_id)
            self._write_down([decision], [answer])
            if decision.kind == "duplicate":
                logger.warning("trial %d was answered twice; the first answer counts", decision.trial)
            return known.trial(decision.trial)

    def tell_all(self, answers: Sequence[Answer], *, dry_run: bool = False) -> list[str]:
        """Take many answers, all or none, in one transaction; return what each did.

        That is "told", "same" (told before), "corrected", "duplicate" or "old". With ``dry_run`` nothing is written.
        """
        with self._writing() as known:
            decisions = decide_all(known, answers)
            if not dry_run:
                self._write_down(decisions, answers)
            return [decision.kind for decision in decisions]

    def _write_down(self, decisions: Sequence[Decision], answers: Sequence[Answer]) -> None:
        entries = [entry for decision in decisions for entry in decision.entries]
        try:
            self._append(entries)
        except (StudyBusy, StorageFull) as error:
            self._unsaved += answers
            raise type(error)(unsaved_message(error, len(self._unsaved))) from error

    def _save_unsaved(self) -> None:
        """Write the answers that could not be written before; one that was told again since does nothing."""
        while self._unsaved:
            answer = self._unsaved[0]
            try:
                self._append(decide(self._state, answer, self._state.next_id).entries)
            except UsageError as error:
                logger.warning("an answer kept in memory no longer fits: %s", error)
            del self._unsaved[0]

    def retry(self, id: SupportsIndex) -> Trial:
        """Let a failed trial, or one that is out, be handed out again."""
        with self._writing() as state:
            number = self._known(id)
            record = state.records[number]
            if record.is_old:
                raise UsageError(f"trial {number} is old data, which was never handed out; tell it with replace=True.")
            if record.state not in (TrialState.FAILED, TrialState.RUNNING, TrialState.CENSORED):
                raise UsageError(f"trial {number} is {record.state.name}; only a failed or running one can be retried.")
            if record.round in state.plans and state.plans[record.round].is_superseded:
                raise UsageError(f"trial {number} was superseded by a correction: the algorithm does not use it.")
            left = state.left
            if record.state is not TrialState.RUNNING and left is not None and left < record.repeats:
                raise UsageError(f"the budget has {left} measurements left, and trial {number} needs {record.repeats}.")
            self._append([("retried", number, {})])
            return state.trial(number)

    def abandon(self, id: SupportsIndex, *, note: str | None = None) -> Trial:
        """Give a trial up: it is never handed out again."""
        return self.tell(id, state=TrialState.ABANDONED, note=note)

    def stop(self, reason: str = "") -> None:
        """Hand out nothing more; late values are still taken, and `extend` lifts it."""
        with self._writing():
            self._append([("stopped", None, {"reason": str(reason)})])

    def extend(self, budget: SupportsIndex | None = None, *, eps: float | None = None) -> None:
        """Raise the budget to that number, or change the wanted accuracy; also goes on after `stop`.

        Another algorithm than the adaptive search keeps the budget that it was begun with: more may be handed out.
        """
        with self._writing() as state:
            known = state.known
            if budget is not None and known.budget is not None and whole("budget", budget) < known.budget:
                raise UsageError(
                    f"the budget is {known.budget} and can only be raised, got {budget!r}; see study.stop."
                )
            if eps is not None and known.algorithm != ADAPTIVE:
                raise UsageError(
                    f"{known.algorithm} was begun with eps {known.eps}; only the adaptive search can change."
                )
            limit = known.budget if budget is None else whole("budget", budget)
            made = replace(known, budget=limit, eps=known.eps if eps is None else eps)
            self._append([("extended", None, {"budget": made.budget, "eps": made.eps})])

    # -- looking -----------------------------------------------------------------------------------------------------

    def recommend(self) -> OptimizeResult:
        """Return the best setting as far as all values say, with the fields that `paraboloid.minimize` returns.

        ``x`` is the minimum (maximum) of the fitted model. While the study goes on, ``stop_reason`` is "RUNNING".
        """
        with self._reading() as state:
            settings, evidence = state.known, state.evidence()
            ended = self._planner.verdict(state)
            result = replace(self._conclusion(state), status=ended.status or Status.STOPPED)
            sentence = (
                ended.sentence if ended.status else "The study goes on; x is the answer from what was told so far."
            )
            return translate(
                result,
                evidence,
                settings.domain,
                sign=settings.sign,
                counted=Counted(evidence.n_attempts, int(evidence.failures.sum()), state.rounds),
                is_over=ended.status is not None,
                sentence=sentence,
            )

    def status(self) -> StudyStatus:
        """Return where the study stands."""
        with self._reading() as state:
            result, remarks = None, self._log.warnings
            try:
                result = self._conclusion(state) if state.evidence().n_measurements else None
                ended = self._planner.verdict(state, result)
                remarks = (*self._planner.warnings(state), *remarks)
            except ParaboloidError as error:  # of an algorithm: whoever asks is stopped, whoever looks is told
                ended = Verdict(None, str(error))
            return overview(
                state,
                result,
                ended,
                path=self._log.path,
                boot=self._boot,
                opened=self._opened,
                holder=self._log.holder(),
                unsaved=len(self._unsaved),
                remarks=remarks,
            )

    def _conclusion(self, state: State) -> Result:
        """Return the answer from all evidence; worked out once for as long as the evidence stays the same."""
        evidence = state.evidence()
        if self._concluded is None or self._concluded[0] is not evidence:
            self._concluded = (evidence, self._planner.conclusion(state))
        return self._concluded[1]

    def trials(self, state: TrialState | str | None = None) -> list[Trial]:
        """Return all trials in order of their numbers, or those in one state."""
        from_state = None if state is None else TrialState[str(getattr(state, "name", state)).upper()]
        with self._reading() as known:
            return [known.trial(r.id) for r in known.records.values() if from_state in (None, r.state)]

    def trial(self, id: SupportsIndex) -> Trial:
        """Return one trial."""
        with self._reading() as state:
            return state.trial(self._known(id))

    def history(self, id: SupportsIndex) -> list[Event]:
        """Return the events of one trial, corrections and duplicates included."""
        with self._reading():
            return self._log.events_of(self._known(id))

    def to_dataframe(self) -> Any:
        """Return the trials as a pandas DataFrame, one column for each knob; needs pandas."""
        if importlib.util.find_spec("pandas") is None:
            raise UsageError("to_dataframe needs pandas: pip install pandas. study.trials() gives the same without it.")
        rows = [as_row(trial) for trial in self.trials()]
        return importlib.import_module("pandas").DataFrame(rows)

    @property
    def domain(self) -> Domain:
        """Where may be measured."""
        return self._state.known.domain

    @property
    def settings(self) -> dict[str, Any]:
        """What the study was made with, in plain types, as it stands after `extend`."""
        return {"study": self._state.uuid, **self._state.known.payload(), "versions": dict(self._state.versions)}

    @property
    def path(self) -> Path:
        """The file of the study."""
        return self._log.path

    @property
    def is_writer(self) -> bool:
        """Whether this study may be asked and told."""
        return self._log.is_writer

    # -- inside ------------------------------------------------------------------------------------------------------

    @contextmanager
    def _writing(self) -> Iterator[State]:
        self._check_writer()
        with self._lock:
            self._catch_up()
            self._save_unsaved()
            yield self._state

    @contextmanager
    def _reading(self) -> Iterator[State]:
        self._log.check_open()
        with self._lock:
            self._catch_up()
            yield self._state

    def _check_writer(self) -> None:
        self._log.check_open()
        if not self._log.is_writer:
            raise UsageError(f"{self._log.path} was opened by Study.read; open it with Study.open to ask and tell.")

    def _catch_up(self) -> None:
        """Bring the state up to the log: always for a reader, for the writer after something went wrong."""
        if self._is_stale:
            self._state, self._is_stale = replayed(self._log), False
        elif not self._log.is_writer:
            self._state.apply(self._log.events(after=self._state.sequence))

    def _append(self, entries: Sequence[Entry]) -> None:
        if not entries:
            return
        # Until both the file and the state have it: after an error or an interrupt, the file says what was written.
        self._is_stale = True
        self._state.apply(self._log.append(entries))
        self._is_stale = False

    def _known(self, id: SupportsIndex | Trial) -> int:
        number = id.id if isinstance(id, Trial) else int(id.__index__())
        if number not in self._state.records:
            raise UsageError(f"there is no trial {number} in this study.")
        return number
