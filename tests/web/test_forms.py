"""What people enter at the page, by plain requests to a real server: each value once, and never over another."""

import csv
import io
import re
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from paraboloid import Study
from tests.report.reading import check
from tests.web.support import Served, changes, form_key, get, make_study, post, served, values, version


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A page that many tests use, each for trials of its own."""
    with served(make_study(tmp_path_factory.mktemp("shared"), 60, budget=300)) as running:
        yield running


def fresh(page: Served, n: int) -> list[int]:
    """Return trials that are on the sheet and were never answered."""
    with Study.read(page.path) as study:
        return [trial.id for trial in study.trials("RUNNING") if trial.attempt == 1][:n]


def seen_by(page: Served) -> str:
    """Return how many trials the form for more points has seen."""
    found = re.search(r'name="seen" value="(\d+)"', get(page).text)
    assert found is not None
    return found[1]


def row(trial: int, value: str = "", *, made_from: str = "0", **more: str) -> dict[str, str]:
    return {f"value-{trial}": value, f"version-{trial}": made_from, **{f"{k}-{trial}": v for k, v in more.items()}}


def test_rows_are_entered_with_point_comma_and_failure(page: Served) -> None:
    a, b, c = fresh(page, 3)
    first = post(page, "/save", {**row(a, "80.5", note="first of the day"), **row(b, ""), **row(c, " 79,25 ")})
    assert (first.status, first.headers["location"]) == (303, f"/?saved={a}.{c}#sheet")
    shown = get(page, f"/?saved={a}.{c}").text
    assert f"Trial {a} is saved: 80.5." in shown and f"Trial {c} is saved: 79.25." in shown
    assert post(page, "/save", row(b, failed="yes", note="the pump stood still")).status == 303
    assert changes(page.path, a, b, c) == [("told", a, 80.5), ("told", c, 79.25), ("told", b, None)]
    with Study.read(page.path) as study:
        assert [(study.trial(n).state.name, study.trial(n).note) for n in (a, b, c)] == [
            ("COMPLETE", "first of the day"),
            ("FAILED", "the pump stood still"),
            ("COMPLETE", ""),
        ]


@pytest.mark.parametrize(
    ("typed", "state", "value"),
    [
        ("n/a", "FAILED", None),
        ("-", "FAILED", None),
        ("<0,1", "CENSORED", 0.1),
        ("-1,5e-3", "COMPLETE", -0.0015),
        ("1 234,5", "COMPLETE", 1234.5),
        ("1.234", "COMPLETE", 1.234),  # the page shows points as decimal marks, so that they are
        ("80", "COMPLETE", 80.0),
    ],
)
def test_what_may_be_typed(page: Served, typed: str, state: str, value: float | None) -> None:
    (trial,) = fresh(page, 1)
    assert post(page, "/save", row(trial, typed)).status == 303
    with Study.read(page.path) as study:
        assert (study.trial(trial).state.name, study.trial(trial).value) == (state, value)


@pytest.mark.parametrize(
    ("typed", "advice"),
    [
        ("1,234", "may be 1.234 or 1234"),
        ("12 g", "is no number"),
        ("1-May", "is a date"),
        ("1e999", "too large"),
        ("=1+1", "is no number"),
        ("#DIV/0!", "error of the spreadsheet"),
    ],
)
def test_what_cannot_be_read_is_asked_back_with_the_text_kept(page: Served, typed: str, advice: str) -> None:
    trial, before = fresh(page, 1)[0], changes(page.path)
    answer = post(page, "/save", row(trial, typed, note="kept"))
    assert answer.status == 422
    assert advice in answer.text
    assert f'value="{typed}"' in answer.text and 'value="kept"' in answer.text
    assert changes(page.path) == before


def test_rows_that_can_be_taken_are_taken_and_the_others_are_shown_again(page: Served) -> None:
    a, b, c = fresh(page, 3)
    answer = post(page, "/save", {**row(a, "80,5"), **row(b, "?"), **row(c, "1,234")})
    assert answer.status == 422
    assert f"Trial {a} is saved: 80.5." in answer.text and "1 row below could not be taken" in answer.text
    told = values(page.path)
    assert (told[a], told[c]) == (80.5, 1.234), "another row shows that commas are decimal"
    both = post(page, "/save", row(b, "80", failed="yes"))
    assert both.status == 422 and "Clear one of the two" in both.text
    alone = post(page, "/save", row(b, note="a note and nothing else"))
    assert alone.status == 422 and "a note and nothing else" in alone.text
    assert b not in values(page.path)


def test_a_form_that_is_sent_twice_counts_once(page: Served) -> None:
    """A double click, a reload, the back button: the same form again."""
    a, b = fresh(page, 2)
    form = {**row(a, "80.5"), **row(b, "", failed="yes")}
    assert [post(page, "/save", form).status for _ in range(3)] == [303, 303, 303]
    assert f"Trial {a} held that already" in get(page, f"/?same={a}").text
    assert changes(page.path, a, b) == [("told", a, 80.5), ("told", b, None)]


def at_once(page: Served, path: str, forms: Sequence[dict[str, str]]) -> list[int]:
    """Send all forms at the same time; return the statuses of the answers."""
    statuses: list[int] = []
    keyed = [{**form, "form-key": form_key(page)} for form in forms]
    threads = [threading.Thread(target=lambda f=form: statuses.append(post(page, path, f).status)) for form in keyed]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sorted(statuses)


def test_twenty_clicks_at_once_count_once(page: Served) -> None:
    (trial,) = fresh(page, 1)
    assert at_once(page, "/save", [row(trial, "80.5")] * 20) == [303] * 20
    assert changes(page.path, trial) == [("told", trial, 80.5)]


def test_of_twenty_people_who_write_at_once_one_is_taken_and_the_others_are_told(page: Served) -> None:
    (trial,) = fresh(page, 1)
    first = [row(trial, str(80 + k)) for k in range(20)]
    assert at_once(page, "/save", first) == [303, *[422] * 19]
    corrections = [row(trial, str(50 + k), made_from=version(page, trial)) for k in range(20)]
    assert at_once(page, f"/trial/{trial}", corrections) == [303, *[409] * 19]
    assert [kind for kind, *_ in changes(page.path, trial)] == ["told", "corrected"]
    asked = [{"count": "1", "seen": seen_by(page)}] * 10
    assert at_once(page, "/ask", asked) == [303, *[409] * 9]


def test_two_people_at_one_trial_are_told_of_each_other(page: Served) -> None:
    a, b = fresh(page, 2)
    assert post(page, "/save", row(a, "80.5")).status == 303
    second = post(page, "/save", {**row(a, "81.7"), **row(b, "70")})
    assert second.status == 422
    assert "It was told 80.5 in the meantime, and you typed 81.7. Nothing was overwritten." in second.text
    assert f'href="/trial/{a}?value=81.7"' in second.text
    assert (values(page.path)[a], values(page.path)[b]) == (80.5, 70.0)
    compared = get(page, f"/trial/{a}?value=81.7").text
    assert "Two results for one trial" in compared and 'value="81.7"' in compared
    assert post(page, f"/trial/{a}", row(a, "81.7", made_from=version(page, a))).status == 303
    assert changes(page.path, a, b) == [("told", a, 80.5), ("told", b, 70.0), ("corrected", a, 81.7)]


def test_a_correction_keeps_both_and_a_stale_one_is_shown_and_not_taken(page: Served) -> None:
    (trial,) = fresh(page, 1)
    post(page, "/save", row(trial, "80.5"))
    seen = version(page, trial)
    for _ in range(2):  # a double click
        assert post(page, f"/trial/{trial}", row(trial, "81", made_from=seen)).status == 303
    stale = post(page, f"/trial/{trial}", row(trial, "82", made_from=seen))
    assert stale.status == 409
    assert "The study holds <b>81</b>. You typed <b>82</b>." in stale.text
    back = post(page, "/save", row(trial, "80.5"))  # the back button to the sheet as it was at first
    assert back.status == 422
    assert changes(page.path, trial) == [("told", trial, 80.5), ("corrected", trial, 81.0)]
    history = get(page, f"/trial/{trial}").text
    assert "told 80.5" in history and "corrected to 81" in history


def test_a_value_becomes_a_failure_and_is_measured_again_and_an_old_form_does_not_slip_in(page: Served) -> None:
    (trial,) = fresh(page, 1)
    post(page, "/save", row(trial, "80.5"))
    assert post(page, f"/trial/{trial}", row(trial, failed="yes", made_from=version(page, trial))).status == 303
    seen = version(page, trial)
    for _ in range(2):
        assert post(page, f"/trial/{trial}/again", {"version": seen}).status == 303
    with Study.read(page.path) as study:
        assert study.trial(trial).state.name == "RUNNING"
        assert len([event for event in study.history(trial) if event.kind == "retried"]) == 1
    stale = post(page, "/save", row(trial, "80.5"))  # from before it failed
    assert stale.status == 422 and "for an earlier attempt at this trial" in stale.text
    assert post(page, "/save", row(trial, "79", made_from=version(page, trial))).status == 303
    assert values(page.path)[trial] == 79.0


def test_a_trial_is_given_up(page: Served) -> None:
    (trial,) = fresh(page, 1)
    form = {f"version-{trial}": "0", f"given-up-{trial}": "yes", f"note-{trial}": "no material"}
    assert post(page, f"/trial/{trial}", form).status == 303
    assert f"Trial {trial} is saved: given up." in get(page, f"/?saved={trial}").text
    with Study.read(page.path) as study:
        assert study.trial(trial).state.name == "ABANDONED"


def test_what_was_really_set_and_the_standard_error_are_kept(page: Served) -> None:
    a, b = fresh(page, 2)
    with Study.read(page.path) as study:
        asked = study.trial(a).x
    form = {**row(a, "80,5", sem="0,3"), f"knob-{a}-0": "176,5", f"knob-{a}-1": f"{asked['time']:.7g}"}
    assert post(page, f"/trial/{a}", form).status == 303
    with Study.read(page.path) as study:
        trial = study.trial(a)
    assert trial.executed == {"temperature": 176.5, "time": asked["time"]}, "as asked, but for digits not written"
    assert trial.sem == 0.3
    correction = get(page, f"/trial/{a}").text
    assert 'value="176.5"' in correction and 'value="80.5"' in correction and 'value="0.3"' in correction
    wrong = post(page, f"/trial/{b}", {**row(b, "80"), f"knob-{b}-0": "hot"})
    assert wrong.status == 422 and "and that is no number" in wrong.text and 'value="hot"' in wrong.text
    assert b not in values(page.path)


def test_a_note_that_is_too_long_is_refused_and_kept_in_the_form(page: Served) -> None:
    (trial,) = fresh(page, 1)
    answer = post(page, "/save", row(trial, "80", note="n" * 1001))
    assert answer.status == 422 and "1,001 characters" in answer.text and "n" * 1001 in answer.text
    assert trial not in values(page.path)


def test_replicates_have_a_field_each_and_when_nothing_is_left_the_page_says_why(tmp_path: Path) -> None:
    path = make_study(tmp_path, 0, budget=3)
    with Study.open(path) as study:
        study.ask(1, repeats=3)
    with served(path) as page:
        assert get(page).text.count('name="value-1"') == 3
        fields = [("value-1", "80,5"), ("value-1", "81,5"), ("value-1", "n/a"), ("version-1", "0")]
        assert post(page, "/save", fields).status == 303
        answer = post(page, "/ask", {"count": "1", "seen": "1"})
        assert answer.status == 409 and "There is nothing to hand out." in answer.text
    with Study.read(path) as study:
        assert (study.trial(1).values, study.trial(1).failures) == ((80.5, 81.5), 1)


def test_points_are_asked_for_once_however_often_it_is_clicked(page: Served) -> None:
    with Study.read(page.path) as study:
        running = study.status().counts["RUNNING"]
    form = {"count": "4", "seen": seen_by(page)}
    first, second = post(page, "/ask", form), post(page, "/ask", form)
    assert (first.status, first.headers["location"]) == (303, "/?asked=4#sheet")
    assert second.status == 409 and "Points were handed out since" in second.text
    with Study.read(page.path) as study:
        assert study.status().counts["RUNNING"] == running + 4


def test_what_is_typed_and_not_saved_is_not_lost_when_points_are_asked_for(page: Served) -> None:
    a, b = fresh(page, 2)
    typed = {**row(a, "80,5"), **row(b, "?")}
    wrong = post(page, "/ask", {**typed, "count": "2", "seen": seen_by(page)})
    assert wrong.status == 422 and 'value="?"' in wrong.text and 'value="2"' in wrong.text
    assert f"Trial {a} is saved: 80.5." in wrong.text and "handed out." not in wrong.text
    right = post(page, "/ask", {**row(a, "80,5"), **row(b, "70"), "count": "2", "seen": seen_by(page)})
    assert right.headers["location"] == f"/?same={a}&saved={b}&asked=2#sheet"
    assert changes(page.path, a, b) == [("told", a, 80.5), ("told", b, 70.0)]
    by_enter = post(page, "/save", {"count": "1", "seen": seen_by(page)})
    assert by_enter.headers["location"] == "/?asked=1#sheet"


def test_without_a_number_the_rest_of_the_round_is_handed_out(page: Served) -> None:
    for _ in range(2):  # what is left of a round, and then a whole one
        with Study.read(page.path) as study:
            waiting = study.status().counts["WAITING"]
        answer = post(page, "/ask", {"count": "", "seen": seen_by(page)})
        assert answer.status == 303
        if waiting:
            assert answer.headers["location"] == f"/?asked={waiting}#sheet"
        with Study.read(page.path) as study:
            assert study.status().counts["WAITING"] == 0


@pytest.mark.parametrize("count", ["0", "501", "-1", "many", "9" * 30, "2.5"])
def test_a_number_of_points_that_makes_no_sense_is_refused(page: Served, count: str) -> None:
    with Study.read(page.path) as study:
        before = study.status().counts
    assert post(page, "/ask", {"count": count, "seen": seen_by(page)}).status == 422
    with Study.read(page.path) as study:
        assert study.status().counts == before


def test_a_new_value_is_seen_at_once_in_the_fit_and_old_ones_are_found_by_page(tmp_path: Path) -> None:
    with served(make_study(tmp_path, 121, 120, budget=200)) as page:
        before = get(page).text
        assert "Set the knobs so" in before and "expected loss" in before and "loss at most (95%)" in before
        assert "What more would buy" in before and "further measurements" in before
        assert post(page, "/save", row(121, "75,1")).status == 303
        assert "120 at " in before and "121 at " in get(page).text
        first, second = get(page, "/trials").text, get(page, "/trials?page=1").text
        assert "1 to 100 of 121 trials" in first and "101 to 121 of 121 trials" in second
        assert 'href="/trial/121"' in first and 'href="/trial/1"' in second
        assert get(page, "/trials?page=99999999").status == 200
        assert get(page, "/trials?page=x").status == 200


def test_downloads_are_the_sheet_all_trials_and_the_report(page: Served) -> None:
    a, b = fresh(page, 2)
    post(page, "/save", row(a, "80.5"))
    sheet = get(page, "/sheet.csv")
    assert sheet.headers["content-type"] == "text/csv; charset=utf-8"
    assert 'filename="oven-sheet.csv"' in sheet.headers["content-disposition"]
    rows = list(csv.reader(io.StringIO(sheet.body.decode("utf-8-sig"))))
    assert rows[0][:3] == ["id", "temperature [°C]", "time [min]"]
    assert str(a) not in [cells[0] for cells in rows] and str(b) in [cells[0] for cells in rows]
    commas = get(page, "/sheet.csv?decimal=comma").body.decode("utf-8-sig")
    assert "id;temperature [°C]" in commas and "," in commas and "." not in commas
    everything = list(csv.DictReader(io.StringIO(get(page, "/all.csv").body.decode("utf-8-sig"))))
    assert everything[a - 1]["value"] == "80.5"
    report = get(page, "/report?download=yes")
    assert 'filename="oven.html"' in report.headers["content-disposition"]
    check(report.text)
