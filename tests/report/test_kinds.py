"""A report of every kind of study: empty, failed, saddle, edge, one knob, thirty, any scale. Each is sensible."""

import re
from pathlib import Path

import pytest

from paraboloid import Study
from tests.report.reading import check, section
from tests.report.scenarios import NAMES, page_of


@pytest.mark.parametrize("name", NAMES)
def test_every_kind_of_study_has_a_page_that_keeps_the_rules(studies: Path, name: str) -> None:
    page = page_of(studies, name)
    tree = check(page)
    assert tree.all("h1")[0].text == name
    assert "What to do next" in tree.text
    assert len(page.encode()) < 3_000_000


@pytest.mark.parametrize("name", [name for name in NAMES if name not in ("empty", "failed")])
def test_a_page_with_values_shows_every_part(studies: Path, name: str) -> None:
    tree = check(page_of(studies, name))
    for part in ("answer", "good", "surface", "matters", "checks", "all"):
        assert section(tree, part) is not None, part
    with Study.read(studies / f"{name}.db") as study:
        d, names = study.domain.dimension, study.domain.names
    surface = section(tree, "surface")
    assert surface is not None
    assert len(surface.all("figure")) == min(d, 12) + min(3, d * (d - 1) // 2)
    matters = section(tree, "matters")
    assert matters is not None
    assert [row.all("th")[0].text for row in matters.all("table")[0].all("tbody")[0].all("tr")] == list(names)


def test_an_empty_study_says_how_to_begin(studies: Path) -> None:
    tree = check(page_of(studies, "empty"))
    assert "There is no answer yet" in tree.text and "ask for the first settings" in tree.text
    assert "150 to 210" in tree.text and tree.all("svg") == []


def test_a_study_in_which_all_failed_says_where_and_why(studies: Path) -> None:
    tree = check(page_of(studies, "failed"))
    assert "All 12 attempts failed" in tree.text and "There is no answer yet" in tree.text
    failures = section(tree, "failures")
    assert failures is not None and "12 of 12 attempts (100%)" in failures.text
    assert "no reading" in failures.text and "no value was told" in failures.text


def test_a_saddle_has_no_forecast_and_says_which_direction_bends_the_wrong_way(studies: Path) -> None:
    tree = check(page_of(studies, "saddle"))
    first = section(tree, "first")
    assert first is not None and "lies at the edge of time" in first.text
    assert "There is no forecast" in tree.text and "no bound can be given" in tree.text
    assert "bends the wrong way" in tree.text and "in the shaded area" not in tree.text
    assert "treat the setting as a first guess" in tree.text


def test_an_optimum_at_the_edge_is_said_first_and_its_tolerance_ends_there(studies: Path) -> None:
    tree = check(page_of(studies, "edge"))
    first = section(tree, "first")
    assert first is not None and "at the edge of temperature, time" in first.text
    matters = section(tree, "matters")
    assert matters is not None and "up to the high end of the range" in matters.text


def test_one_knob_has_a_slice_and_no_pairs_or_combinations(studies: Path) -> None:
    tree = check(page_of(studies, "one"))
    assert "Two knobs at a time" not in tree.text and "combinations of knobs" not in tree.text
    assert "0.001 to 1 (log scale)" in tree.text


def test_thirty_knobs_are_cut_to_what_matters_and_say_so(studies: Path) -> None:
    tree = check(page_of(studies, "thirty"))
    assert "18 knobs that matter less have no picture" in tree.text
    assert "Of 435 pairs these matter most" in tree.text
    assert "18 directions in between are left out" in tree.text
    # The weights rise with the number of the valve, so that the last ones matter most.
    pictures = [caption.text for caption in tree.all("figcaption")]
    assert sum(bool(re.match(r"valve (1[5-9]|2\d):", text)) for text in pictures) >= 10


def test_failures_outliers_and_notes_of_the_oven_are_found(studies: Path) -> None:
    tree = check(page_of(studies, "oven"))
    first, failures, checks = (section(tree, name) for name in ("first", "failures", "checks"))
    assert first is not None and failures is not None and checks is not None
    assert "1 value lies far from the fit" in first.text
    assert "the stirrer stood still" in checks.text and "1 row lies more than 4 standard deviations" in checks.text
    # Failures are in the high third of the temperature only, and that knob is named first.
    row = failures.all("tbody")[0].all("tr")[0]
    cells = [cell.text for cell in row.all("th", "td")]
    assert cells[0] == "temperature" and cells[1].startswith("0 of ") and not cells[3].startswith("0 of ")
    assert "over-temperature alarm" in failures.text
    assert "how far it is below the best" in tree.text, "large values are wanted"


def test_drift_and_misfit_are_said_first(studies: Path) -> None:
    drift, kinked = (section(check(page_of(studies, name)), "first") for name in ("drift", "kinked"))
    assert drift is not None and "something drifts" in drift.text
    assert kinked is not None and "not quite a paraboloid" in kinked.text
    good = section(check(page_of(studies, "kinked")), "good")
    assert good is not None and "no bound can be given" in good.text and "There is no forecast" in good.text
    assert "Then stop" not in check(page_of(studies, "kinked")).text
    checks = section(check(page_of(studies, "drift")), "checks")
    assert checks is not None and "Does something drift over time?yesResiduals in order: trend" in checks.text


def test_noise_that_grows_with_the_height_is_explained_and_its_surroundings_are_shown(studies: Path) -> None:
    tree = check(page_of(studies, "growing"))
    first, surface, matters, checks = (section(tree, name) for name in ("first", "surface", "matters", "checks"))
    assert first is not None and surface is not None and matters is not None and checks is not None
    assert "The noise grows with the height above the minimum: the search closed in" in first.text
    assert "The pictures show these surroundings" in surface.text and "over its part shown" in surface.text
    assert "Is the noise the same everywhere?noIt grows with the height above the minimum" in checks.text
    assert "Does something drift over time?no sign of it" in checks.text
    assert "the mean should lie between" in tree.text and "first guess" not in tree.text
    # z = 0.1 is 183 °C, 42 min and 10^-1.35 per second; they are known far better than to the whole degree.
    settings = tree.all("table")[0].all("tbody")[0].all("tr")
    found = [row.all("td")[0].text.split()[0] for row in settings]
    assert [float(text) for text in found] == pytest.approx([183, 42, 10**-1.35], rel=2e-3)
    assert sum(len(text.partition(".")[2]) >= 2 for text in found) >= 2  # one may be 183 to all digits that are known
    assert settings[2].all("td")[1].text == "0.001 to 1"


def test_a_deterministic_valley_is_shown_over_the_whole_range_and_has_no_noise_that_grows(studies: Path) -> None:
    tree = check(page_of(studies, "valley"))
    first, surface = section(tree, "first"), section(tree, "surface")
    assert first is not None and surface is not None
    assert "not a paraboloid over the whole range" in first.text and "grows with the height" not in tree.text
    assert "The pictures show these surroundings" not in surface.text


def test_a_running_study_says_that_it_goes_on_and_shows_every_state(studies: Path) -> None:
    tree = check(page_of(studies, "running"))
    table = section(tree, "all")
    assert table is not None
    for word in ("abandoned", "censored", "running", "complete", "from last year", "1.5 ± 0.2", "old"):
        assert word in table.text, word


@pytest.mark.parametrize("name", ["tiny", "huge", "offset"])
def test_the_setting_does_not_depend_on_scale_and_offset_of_the_value(studies: Path, name: str) -> None:
    # z = 0.1 is 183 °C and 42 min; 40 measurements with noise 0.05 against curvatures 2 and 4 leave less than 1.
    tree = check(page_of(studies, name))
    settings = tree.all("table")[0].all("tbody")[0].all("tr")
    found = [float(row.all("td")[0].text.split()[0]) for row in settings]
    assert abs(found[0] - 183) < 1.5 and abs(found[1] - 42) < 1
    if name == "offset":
        assert "value − 1000000000" in page_of(studies, name)


def test_a_chosen_worsening_is_used_for_the_tolerances(studies: Path) -> None:
    page_of(studies, "exact")
    tree = check(page_of(studies, "exact", worsening=0.04))
    matters = section(tree, "matters")
    assert matters is not None and "Tolerances are for a worsening of 0.04." in matters.text
    rows = matters.all("table")[0].all("tbody")[0].all("tr")
    # (z - 0.1)² + 2(z - 0.1)²: worse by 0.04 at ±0.2 of half the range of 30 °C, and at ±0.2/√2 of 20 min.
    ends = [[float(v) for v in row.all("td")[1].text.split(" to ")] for row in rows]
    assert ends[0] == pytest.approx([177, 189], abs=0.1) and ends[1] == pytest.approx([39.17, 44.83], abs=0.05)
