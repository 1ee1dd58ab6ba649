"""The state of a study is the replay of its events: the same from the first event on, or one event at a time."""

import itertools
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from paraboloid.core import Evidence, Matrix, Measurements, Vector
from paraboloid.store import Event
from paraboloid.study.outcome import Outcome
from paraboloid.study.settings import Settings
from paraboloid.study.trial import Trial, TrialState

__all__ = ["Plan", "Record", "Session", "State", "places_of"]

WAITING, RUNNING = TrialState.WAITING, TrialState.RUNNING
COMPLETE, FAILED = TrialState.COMPLETE, TrialState.FAILED
CENSORED, ABANDONED = TrialState.CENSORED, TrialState.ABANDONED
NOTHING = Outcome(FAILED)


class Record:
    """What is known of one trial; changed only by `State.apply`."""

    __slots__ = (
        "answered_attempt",
        "answers",
        "attempt",
        "charged",
        "duplicates",
        "failures",
        "id",
        "is_old",
        "lease",
        "outcome",
        "reason",
        "repeats",
        "round",
        "session",
        "since",
        "state",
        "time",
        "x",
    )

    def __init__(self, number: int, x: tuple[float, ...], repeats: int, round_number: int, is_old: bool) -> None:
        self.id = number
        self.x = x
        self.repeats = repeats
        self.round = round_number
        self.is_old = is_old
        self.state = WAITING
        self.attempt = 0
        self.answers = 0
        self.answered_attempt = 0
        self.failures = 0  # of attempts that failed as a whole
        self.outcome: Outcome | None = None
        self.duplicates: tuple[Outcome, ...] = ()
        self.reason = ""
        self.session = 0  # the opening in which it was handed out last
        self.since = 0.0  # when, on that opening's clock
        self.time = ""  # when, on the wall
        self.lease: float | None = None
        self.charged = 0  # the charge as the state has counted it

    @property
    def charge(self) -> int:
        """Measurements that count against the budget: answered ones as told, open ones as planned."""
        if self.is_old:
            return 0
        if self.state in (WAITING, RUNNING):
            return self.failures + self.repeats
        if self.state is ABANDONED:
            return self.failures + (self.repeats if self.attempt else 0)
        if self.outcome is None or self.state is FAILED:
            return self.failures
        return self.failures + self.outcome.count + self.outcome.failures

    @property
    def place(self) -> tuple[float, ...]:
        """The setting that was really measured."""
        return self.outcome.x if self.outcome is not None and self.outcome.x is not None else self.x


class Session:
    """One opening of a study for writing."""

    __slots__ = ("boot", "ended", "host", "pid")

    def __init__(self, host: str, pid: int, boot: str) -> None:
        self.host = host
        self.pid = pid
        self.boot = boot
        self.ended: bool | None = None  # None: open or crashed; True: closed in good order; False: by an error


class Plan:
    """A round that measures an experiment of a procedure; changed only by `State.apply`."""

    __slots__ = ("allows_failures", "is_superseded", "missing", "needs_values", "points", "revised", "sequence", "step")

    def __init__(self, event: Event, first: int) -> None:
        payload = event.payload
        self.step: int = payload["step"]
        self.points = {first + k: point for k, point in enumerate(payload["points"])}  # of each trial
        self.needs_values: bool = payload["needs_values"]
        self.allows_failures: bool = payload["allows_failures"]
        self.sequence = event.sequence
        self.revised = 0  # the event by which an answer was last changed
        self.missing = set(self.points)  # trials without an answer that the procedure can take
        self.is_superseded = False

    def moved(self, record: Record) -> None:
        """Note where a trial stands now."""
        is_lost = record.state in (FAILED, CENSORED, ABANDONED)
        if record.state is COMPLETE or (is_lost and self.allows_failures and not self.is_superseded):
            self.missing.discard(record.id)
        else:
            self.missing.add(record.id)


class State:
    """All that the events say."""

    def __init__(self) -> None:
        self.sequence = 0
        self.uuid = ""
        self.settings: Settings | None = None
        self.made: Settings | None = None  # as it was before `extend`: what a procedure is built with
        self.versions: dict[str, str] = {}
        self.records: dict[int, Record] = {}
        self.plans: dict[int, Plan] = {}  # by round, where the study follows a procedure
        self.keys: dict[str, int] = {}
        self.waiting: OrderedDict[int, None] = OrderedDict()
        self.running: dict[int, None] = {}
        self.sessions: dict[int, Session] = {}
        self.session = 0
        self.rounds = 0
        self.next_id = 1
        self.charged = 0
        self.is_stopped = False
        self.stop_reason = ""
        self._evidence: Evidence | None = None
        self._appliers: dict[str, Callable[[Event], None]] = {
            "created": self._created,
            "opened": self._opened,
            "closed": self._closed,
            "planned": self._planned,
            "added": self._added,
            "asked": self._asked,
            "told": self._told,
            "corrected": self._corrected,
            "duplicate": self._duplicate,
            "retried": self._retried,
            "superseded": self._superseded,
            "stopped": self._stopped,
            "extended": self._extended,
        }

    def apply(self, events: Iterable[Event]) -> None:
        """Take the next events in."""
        appliers = self._appliers
        for event in events:
            # A kind that is not known is a remark of a later version of the same schema.
            applier = appliers.get(event.kind)
            if applier is not None:
                applier(event)
            self.sequence = event.sequence

    # -- what the events do ----------------------------------------------------------------------------------------

    def _created(self, event: Event) -> None:
        self.settings = self.made = Settings.from_payload(event.payload)
        self.uuid = event.payload["study"]
        self.versions = dict(event.payload.get("versions", {}))

    def _opened(self, event: Event) -> None:
        if event.payload.get("is_copy") and self.session:
            self.sessions[self.session].ended = True  # it goes on in the original, with its trials
        self.session = event.sequence
        self.sessions[event.sequence] = Session(event.payload["host"], event.payload["pid"], event.payload["boot"])

    def _closed(self, event: Event) -> None:
        if self.session:
            self.sessions[self.session].ended = bool(event.payload["in_good_order"])
        self.session = 0

    def _planned(self, event: Event) -> None:
        payload = event.payload
        self.rounds = payload["round"]
        if "step" in payload:
            self.plans[self.rounds] = Plan(event, self.next_id)
        for x, repeats in zip(payload["x"], payload["repeats"], strict=True):
            self._add(Record(self.next_id, tuple(x), repeats, self.rounds, False))

    def _added(self, event: Event) -> None:
        self._add(Record(self.next_id, tuple(event.payload["x"]), 1, 0, True))
        if event.payload.get("key") is not None:
            self.keys[event.payload["key"]] = self.next_id - 1

    def _add(self, record: Record) -> None:
        self.records[record.id] = record
        self.waiting[record.id] = None
        self.next_id = record.id + 1
        record.charged = record.charge
        self.charged += record.charged

    def _asked(self, event: Event) -> None:
        record = self._record(event)
        record.attempt = event.payload["attempt"]
        record.session = self.session
        record.since = event.payload["uptime"]
        record.lease = event.payload.get("lease")
        record.time = event.time
        self._move(record, RUNNING)

    def _told(self, event: Event) -> None:
        record = self._record(event)
        outcome = Outcome.from_payload(event.payload)
        if record.outcome is not None:
            self._revised(record, event)
        if outcome.state is not ABANDONED:  # that is no answer of an attempt
            record.answers += 1
            record.attempt = max(record.attempt, record.answers)
            record.answered_attempt = event.payload.get("attempt", record.attempt)
        self._settle(record, outcome)

    def _corrected(self, event: Event) -> None:
        record = self._record(event)
        self._revised(record, event)
        if record.outcome is not None and record.outcome.state is FAILED:
            record.failures -= record.outcome.failures
        self._settle(record, Outcome.from_payload(event.payload))

    def _settle(self, record: Record, outcome: Outcome) -> None:
        if outcome.state is FAILED:
            record.failures += outcome.failures
        record.outcome = outcome
        record.reason = outcome.reason
        self._move(record, outcome.state)
        self._evidence = None

    def _duplicate(self, event: Event) -> None:
        record = self._record(event)
        record.answers += 1
        record.duplicates += (Outcome.from_payload(event.payload),)

    def _retried(self, event: Event) -> None:
        record = self._record(event)
        self._revised(record, event)
        self._move(record, WAITING)
        self.waiting.move_to_end(record.id, last=False)  # it has waited longest
        self._evidence = None

    def _revised(self, record: Record, event: Event) -> None:
        plan = self.plans.get(record.round)
        if plan is not None:
            plan.revised = event.sequence

    def _superseded(self, event: Event) -> None:
        for number in event.payload["rounds"]:
            plan = self.plans[number]
            plan.is_superseded = True
            for record in (self.records[trial] for trial in plan.points):
                if record.state in (WAITING, RUNNING):
                    record.reason = "superseded: the algorithm asks for other settings since an answer was corrected"
                    self._move(record, ABANDONED)

    def _stopped(self, event: Event) -> None:
        self.is_stopped = True
        self.stop_reason = event.payload.get("reason", "")

    def _extended(self, event: Event) -> None:
        assert self.settings is not None
        self.settings = replace(self.settings, budget=event.payload["budget"], eps=event.payload["eps"])
        self.is_stopped = False

    def _record(self, event: Event) -> Record:
        assert event.trial is not None
        return self.records[event.trial]

    def _move(self, record: Record, state: TrialState) -> None:
        record.state = state
        charge = record.charge
        self.charged += charge - record.charged
        record.charged = charge
        self.waiting.pop(record.id, None)
        self.running.pop(record.id, None)
        if state is WAITING:
            self.waiting[record.id] = None
        elif state is RUNNING:
            self.running[record.id] = None
        plan = self.plans.get(record.round)
        if plan is not None:
            plan.moved(record)

    # -- what can be read ------------------------------------------------------------------------------------------

    @property
    def known(self) -> Settings:
        """The settings, of a log that has its first event."""
        assert self.settings is not None
        return self.settings

    @property
    def left(self) -> int | None:
        """Measurements that are neither answered nor planned yet; None without a budget."""
        budget = self.known.budget
        return None if budget is None else max(0, budget - self.charged)

    def evidence(self) -> Evidence:
        """Return everything that counts, in unit coordinates, to be minimised."""
        if self._evidence is None:
            self._evidence = self._gathered()
        return self._evidence

    def _gathered(self) -> Evidence:
        domain, sign = self.known.domain, self.known.sign
        rows = [r for r in self.records.values() if r.failures or (r.outcome and r.state in (COMPLETE, CENSORED))]
        empty = Evidence.empty(domain.dimension)
        if not rows:
            return empty
        told = [r.outcome if r.outcome is not None and r.state is COMPLETE else NOTHING for r in rows]
        # A reading at the limit of the instrument says only that no value can be had there.
        lost = [r.outcome.count if r.outcome is not None and r.state is CENSORED else 0 for r in rows]
        measurements = Measurements(
            np.array([o.count for o in told], dtype=np.int64),
            sign * np.array([o.mean for o in told]),
            np.array([o.scatter for o in told]),
            _single_values(told, sign),
            failures=np.array([r.failures for r in rows]) + np.array([o.failures for o in told]) + np.array(lost),
            precision=np.array([0.0 if o.sem is None else o.precision for o in told]),
        )
        return empty.with_measurements(domain.to_unit(places_of(rows)), measurements)

    def in_order(self) -> tuple[Matrix, Vector]:
        """Return unit points (n, d) and values (n,) of the study's own trials, in the order of giving out."""
        domain = self.known.domain
        told = [r for r in self.records.values() if r.outcome is not None and r.state is COMPLETE and not r.is_old]
        if not told:
            return np.zeros((0, domain.dimension)), np.zeros(0)
        told.sort(key=lambda record: record.id)
        means = [record.outcome.mean for record in told if record.outcome is not None]
        return domain.to_unit(places_of(told)), np.array(means)

    def pending(self) -> tuple[Matrix, Sequence[int]]:
        """Return unit points (m, d) that are planned or handed out and not answered, and their repeats."""
        domain = self.known.domain
        open_ones = [self.records[number] for number in (*self.running, *self.waiting)]
        open_ones.sort(key=lambda record: record.id)
        if not open_ones:
            return np.zeros((0, domain.dimension)), []
        return domain.to_unit(np.array([record.x for record in open_ones])), [record.repeats for record in open_ones]

    def counts(self) -> dict[str, int]:
        """Return the number of trials in each state."""
        found = Counter(record.state for record in self.records.values())
        return {name: found[state] for name, state in TrialState.__members__.items()}

    def trial(self, number: int) -> Trial:
        """Return one trial as people see it."""
        r = self.records[number]
        names = self.known.domain.names
        o = r.outcome if r.outcome is not None and r.state in (COMPLETE, CENSORED) else None
        sem: Any = None if o is None else o.sem
        return Trial(
            id=r.id,
            x=dict(zip(names, r.x, strict=True)),
            state=r.state,
            attempt=r.attempt,
            repeats=r.repeats,
            round=r.round,
            executed=None if r.place == r.x else dict(zip(names, r.place, strict=True)),
            value=None if o is None else o.mean,
            sem=o.precision**-0.5 if o is not None and isinstance(sem, tuple) else sem,
            values=None if o is None else o.values,
            count=0 if o is None else o.count,
            scatter=0.0 if o is None else o.scatter,
            failures=r.failures + (0 if o is None else o.failures),
            duplicates=len(r.duplicates),
            reason=r.reason,
            note="" if r.outcome is None else r.outcome.note,
            study=self.uuid,
            needs_values=r.round in self.plans and self.plans[r.round].needs_values,
        )


def places_of(records: Sequence[Record]) -> Matrix:
    """Return the settings that were really measured, shape (n, d), of at least one record."""
    d = len(records[0].x)
    flat = itertools.chain.from_iterable(record.place for record in records)
    return np.fromiter(flat, dtype=np.float64, count=len(records) * d).reshape(-1, d)  # of 10⁵ in a third of the time


def _single_values(told: Sequence[Outcome], sign: float) -> tuple[Vector, ...] | None:
    """Return the values of each outcome where all of them are at hand; heavy tails can be seen only then."""
    if any(o.values is None and o.count for o in told):
        return None
    if all(o.count == 1 for o in told):  # as nearly always
        return tuple(sign * np.array([o.mean for o in told])[:, None])
    flat = sign * np.array([value for o in told for value in o.values or ()])
    ends = np.cumsum([o.count for o in told]).tolist()
    return tuple(flat[end - o.count : end] for o, end in zip(told, ends, strict=True))
