"""The pages as HTML: what the templates show, every text cleaned and escaped; no mathematics and no request."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from importlib.metadata import version
from typing import Any

from paraboloid.report.tables import Table
from paraboloid.report.templates import template_environment
from paraboloid.report.wording import clean, counted, number
from paraboloid.store import Event
from paraboloid.study import StudyStatus, Trial, TrialState
from paraboloid.web.desk import OPEN, Deed, Desk
from paraboloid.web.fit import Fitting
from paraboloid.web.guarding import FORM_KEY, Guard
from paraboloid.web.typed import LONGEST_NOTE, Typed

__all__ = ["Pages", "style"]

MOST_FIELDS = 50
"""Fields for replicates of one trial, as on a sheet."""
PAGE_LENGTH = 100
MOST_COLUMNS = 4
"""Knobs that have a column of their own in the table of all trials."""
SETTLED = {
    TrialState.FAILED: "failed, no value",
    TrialState.ABANDONED: "given up",
    TrialState.RUNNING: "to be measured",
    TrialState.WAITING: "planned",
}


def style() -> str:
    """Return the style of the page: that of the report, and what forms need beside.

    >>> ".headline" in style() and ".desk" in style()
    True
    """
    parts = (resources.files("paraboloid.report") / "report.css", resources.files("paraboloid.web") / "page.css")
    return "\n".join(part.read_text(encoding="utf-8") for part in parts)


def icon() -> str:
    """Return the picture in the tab of the browser."""
    return (resources.files("paraboloid.web") / "icon.svg").read_text(encoding="utf-8")


@dataclass(frozen=True, slots=True)
class Setting:
    """A knob of a trial, as texts: as asked, as it was really set, and what stands in its field."""

    name: str
    unit: str
    text: str
    executed: str
    entered: str


@dataclass(frozen=True, slots=True)
class Row:
    """A trial as the templates show it."""

    id: int
    kind: str
    version: int
    is_open: bool
    settings: Sequence[Setting]
    values: Sequence[str]
    note: str
    sem: str
    is_failed: bool
    has_executed: bool
    times: str
    result: str
    typed: str
    message: str


class Pages:
    """Makes the pages of one desk."""

    def __init__(self, desk: Desk, guard: Guard) -> None:
        self._desk, self._fitting = desk, Fitting(desk.study)
        self._environment = template_environment("paraboloid.web")
        self._common = {
            "title": clean(desk.study.path.stem) or "Paraboloid",
            "version": version("paraboloid"),
            "form_key_name": FORM_KEY,
            "form_key": guard.form_key,
            "has_token": guard.token is not None,
            "longest_note": LONGEST_NOTE,
            "is_inside": True,
            "place": "",
        }

    def _render(self, template: str, **context: Any) -> str:
        text: str = self._environment.get_template(template).render(**{**self._common, **context})
        return text.strip() + "\n"

    def sheet(
        self, *, notices: Sequence[str] = (), problems: Sequence[str] = (), deeds: Sequence[Deed] = (), count: str = ""
    ) -> str:
        """Return the page of the sheet; ``deeds`` that were not done keep what was typed, with what is wrong."""
        study, status = self._desk.study, self._desk.study.status()
        trials = self._desk.sheet()
        undone = {deed.typed.trial: deed for deed in deeds if not deed.is_done}
        n_open = sum(trial.state in OPEN for trial in trials)
        rows = [self._row(trial, undone.get(trial.id)) for trial in trials]
        lost = [deed for number, deed in undone.items() if number not in {trial.id for trial in trials}]
        return self._render(
            "sheet.html.jinja",
            place="sheet",
            heading=_heading(trials),
            progress=_progress(status, trials),
            notices=notices,
            problems=[
                *map(self._without_folder, problems),
                *(f"Trial {deed.typed.trial}: {deed.message}" for deed in lost),
            ],
            to_do=[row for row in rows if row.is_open or row.message],
            done=[row for row in rows if not row.is_open and not row.message],
            n_open=n_open,
            n_left_out=max(0, status.counts["RUNNING"] - n_open),
            numeric=_is_numeric(study.trials(TrialState.COMPLETE)),
            seen=self._desk.handed_out(),
            count=count,
            fit=self._fitting.fit(status),
        )

    def trial(self, number: int, *, deed: Deed | None = None, typed: str = "", notices: Sequence[str] = ()) -> str:
        """Return the page of one trial: its result, a form to enter or correct it, and its history."""
        study = self._desk.study
        trial, events = study.trial(number), study.history(number)
        row = self._row(trial, deed, is_whole=True)
        is_conflict = bool(typed) or (deed is not None and deed.kind == "conflict")
        before = typed or ("; ".join(filter(None, deed.typed.values)) if deed is not None else "")
        if typed:
            row = _with_value(row, clean(typed))
        return self._render(
            "trial.html.jinja",
            heading=f"Trial {number}",
            row=row,
            notices=notices,
            typed_before=clean(before) if is_conflict and not row.is_open else "",
            numeric=_is_numeric(study.trials(TrialState.COMPLETE)),
            may_retry=trial.state in (TrialState.FAILED, TrialState.CENSORED) and trial.round > 0,
            events=[_event(event) for event in events],
        )

    def trials(self, page: int) -> str:
        """Return a part of the table of all trials, the latest first."""
        rows = [trial for trial in self._desk.study.trials() if trial.state is not TrialState.WAITING][::-1]
        last = max(0, (len(rows) - 1) // PAGE_LENGTH)
        page = min(max(0, page), last)
        first = page * PAGE_LENGTH
        shown = rows[first : first + PAGE_LENGTH]
        is_narrow = len(self._desk.knobs) <= MOST_COLUMNS
        knobs = [_titled(knob.name, knob.unit) for knob in self._desk.knobs] if is_narrow else ["setting"]
        heads = ("trial", *knobs, "result", "note", "round")
        cells = [
            (
                str(trial.id),
                *self._cells(trial, is_narrow=is_narrow),
                _result(trial),
                clean(trial.note),
                str(trial.round) if trial.round else "old data",
            )
            for trial in shown
        ]
        return self._render(
            "trials.html.jinja",
            place="trials",
            heading="All trials",
            table=Table(heads, cells),
            range=f"{first + 1} to {first + len(shown)} of {counted(len(rows), 'trial')}",
            newer=page - 1 if page else None,
            older=page + 1 if page < last else None,
        )

    def login(self, problem: str = "") -> str:
        """Return the page that asks for the token."""
        return self._render("login.html.jinja", heading="Sign in", problem=problem, is_inside=False, title="Paraboloid")

    def message(self, heading: str, sentences: Sequence[str], *, is_inside: bool = True) -> str:
        """Return a page that says why something was not done."""
        named = {} if is_inside else {"title": "Paraboloid"}  # who has not signed in learns no names
        shown = [clean(self._without_folder(text), 2000) for text in sentences]
        return self._render("message.html.jinja", heading=heading, sentences=shown, is_inside=is_inside, **named)

    # -- inside ------------------------------------------------------------------------------------------------------

    def _without_folder(self, text: str) -> str:
        """Return a message in which the study has its name alone: folders are nobody else's business."""
        return text.replace(str(self._desk.study.path), self._desk.study.path.name)

    def _row(self, trial: Trial, deed: Deed | None, *, is_whole: bool = False) -> Row:
        typed = _entered(trial) if deed is None else deed.typed
        is_open = trial.state in OPEN
        n_fields = min(MOST_FIELDS, max(1, trial.repeats, len(typed.values)))
        entered = typed.values if is_whole or is_open else ()
        values = [*entered, *[""] * (n_fields - len(entered))]
        return Row(
            id=trial.id,
            kind="wrong" if deed is not None else "open" if is_open else "settled",
            version=self._desk.version(trial.id),
            is_open=is_open,
            settings=self._settings(trial, typed.settings),
            values=[clean(text) for text in values],
            note=clean(typed.note, 2 * LONGEST_NOTE) if is_whole or is_open else clean(trial.note),
            sem=clean(typed.sem),
            is_failed=typed.is_failed,
            has_executed=any(typed.settings.values()),
            times=f"measure it {trial.repeats} times" if trial.repeats > 1 else "",
            result=_result(trial),
            typed=clean("; ".join(filter(None, typed.values))) or ("n/a" if typed.is_failed else ""),
            message="" if deed is None else self._without_folder(_message(deed, trial)),
        )

    def _cells(self, trial: Trial, *, is_narrow: bool) -> list[str]:
        """Return the settings of a trial in a cell each, or all in one where there are many knobs."""
        settings = self._settings(trial)
        if is_narrow:
            return [setting.executed or setting.text for setting in settings]
        shown = (f"{setting.name} {setting.executed or setting.text} {setting.unit}".strip() for setting in settings)
        return [", ".join(shown)]

    def _settings(self, trial: Trial, entered: Mapping[str, str] | None = None) -> list[Setting]:
        executed = trial.executed or {}
        return [
            Setting(
                clean(knob.name),
                clean(knob.unit, 40),
                knob.written(trial.x[knob.name]),
                knob.written(executed[knob.name])
                if executed.get(knob.name, trial.x[knob.name]) != trial.x[knob.name]
                else "",
                clean((entered or {}).get(knob.name, "")),
            )
            for knob in self._desk.knobs
        ]


def _entered(trial: Trial) -> Typed:
    """Return the answer of a trial as it would be typed: what the form of a correction begins with."""
    if trial.state in OPEN or trial.state is TrialState.ABANDONED:
        return Typed(trial.id)
    if trial.state is TrialState.FAILED:
        return Typed(trial.id, is_failed=True, note=trial.note)
    values = trial.values if trial.values is not None else (trial.value,)
    limit = "<" if trial.state is TrialState.CENSORED else ""
    return Typed(
        trial.id,
        values=tuple(f"{limit}{value!r}" for value in values[:MOST_FIELDS] if value is not None),
        note=trial.note,
        sem="" if trial.sem is None else repr(trial.sem),
        settings={name: repr(x) for name, x in (trial.executed or {}).items() if x != trial.x[name]},
    )


def _with_value(row: Row, typed: str) -> Row:
    """Return the form with the value that was typed elsewhere in place of the told one."""
    from_other = {name: getattr(row, name) for name in Row.__slots__}
    return Row(**{**from_other, "values": [typed, *[""] * (len(row.values) - 1)], "is_failed": False})


def _message(deed: Deed, trial: Trial) -> str:
    if deed.kind != "conflict":
        return clean(deed.message[:1].upper() + deed.message[1:], 2000)
    mine = clean("; ".join(filter(None, deed.typed.values))) or "failed"
    if trial.state in OPEN:
        return f"You typed {mine} for an earlier attempt at this trial. If it is of this one, save it again."
    return f"It was told {_result(trial)} in the meantime, and you typed {mine}. Nothing was overwritten."


def _heading(trials: Sequence[Trial]) -> str:
    rounds = sorted({trial.round for trial in trials})
    if not rounds:
        return "The first round"
    return f"Round {rounds[0]}" if len(rounds) == 1 else f"Rounds {rounds[0]} to {rounds[-1]}"


def _progress(status: StudyStatus, trials: Sequence[Trial]) -> str:
    parts = []
    if trials:
        done = sum(trial.state not in OPEN for trial in trials)
        parts.append(f"{done} of {counted(len(trials), 'point')} on the sheet done")
    values = counted(status.n_measurements, "value")
    failed = f", {status.n_failures:,} failed" if status.n_failures else ""
    parts.append(f"{values} in the study{failed}")
    if status.budget is not None:
        parts.append(f"budget {status.budget:,}, of which {status.left:,} not planned yet")
    return " · ".join(parts)


def _is_numeric(told: Sequence[Trial]) -> bool:
    """Tell whether a keyboard of digits will do: some of them have no minus sign."""
    return bool(told) and all(trial.value is not None and trial.value >= 0 for trial in told)


def _result(trial: Trial) -> str:
    if trial.state in SETTLED:
        return SETTLED[trial.state]
    value = number(trial.value, digits=10)
    if trial.count > 1:
        value = f"{value} (mean of {trial.count:,})"
    if trial.sem is not None:
        value = f"{value} ± {number(trial.sem, digits=3)}"
    return f"{value} (limit of the instrument)" if trial.state is TrialState.CENSORED else value


def _titled(name: str, unit: str) -> str:
    return f"{clean(name)} [{clean(unit, 40)}]" if unit else clean(name)


def _event(event: Event) -> dict[str, str]:
    """Return an event of a trial in words."""
    told, payload = "", event.payload
    if "value" in payload:
        told = number(payload["value"], digits=10)
    elif "values" in payload:
        told = "; ".join(number(value, digits=10) for value in payload["values"][:MOST_FIELDS])
    elif "mean" in payload:
        told = f"mean {number(payload['mean'], digits=10)}"
    state = {"FAILED": "failed", "ABANDONED": "given up", "CENSORED": "limit"}.get(payload.get("state", ""), "")
    note = f"“{clean(payload['note'])}”" if payload.get("note") else ""
    words = {
        "asked": "handed out",
        "told": "told",
        "corrected": "corrected to",
        "duplicate": "another answer, not counted:",
        "retried": "put back",
        "added": "old data",
    }
    text = " ".join(filter(None, (words.get(event.kind, event.kind), state, told, note)))
    return {"time": event.time, "when": f"{event.time[:10]} {event.time[11:16]} UTC", "text": text}
