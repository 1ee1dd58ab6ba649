"""The numbers of a report are those of the conclusion, and its geometry is what can be worked out by hand."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import paraboloid
from paraboloid import Ball, Box, Evidence, Knob, Measurements, Study
from paraboloid.algorithms import conclude
from paraboloid.core import Domain
from paraboloid.report import Rows, Subject, html_report, study_subject
from paraboloid.report.diagnosis import failures_of, lack_of_fit, order_of, residuals_of
from paraboloid.report.drawing import contour_lines, knob_ticks, nice_ticks, tick_labels
from paraboloid.report.figures import forecast_figure, thinned
from paraboloid.report.surface import directions_of, distance_to_worsening, surface_of, tolerances_of
from paraboloid.report.wording import factor, number, significant
from tests.report.reading import check, section
from tests.report.scenarios import NAMES, page_of

SQUARE = Box([Knob("a", -1, 1), Knob("b", -1, 1)])


def subject_of(domain: Domain, points: Any, values: Any, sign: float = 1.0) -> Subject:
    """Return the subject of measurements in unit coordinates, values as they are minimised."""
    z = np.asarray(points, dtype=np.float64)
    measurements = Measurements.from_values(np.asarray(values, dtype=np.float64).reshape(len(z), -1))
    evidence = Evidence.empty(domain.dimension).with_measurements(z, measurements)
    return Subject(domain, evidence, conclude(evidence, domain), sign, "done.", True)


def cross(d: int, n: int = 5) -> np.ndarray[Any, np.dtype[np.float64]]:
    grid = np.meshgrid(*[np.linspace(-1, 1, n)] * d)
    return np.array(grid).reshape(d, -1).T


@pytest.mark.parametrize("name", [name for name in NAMES if name not in ("empty", "failed")])
def test_the_surface_is_the_one_that_the_answer_rests_on(studies: Path, name: str) -> None:
    page_of(studies, name)
    with Study.read(studies / f"{name}.db") as study:
        subject = study_subject(study)
    surface = surface_of(subject)
    assert surface is not None and subject.result is not None and subject.result.certificate is not None
    np.testing.assert_allclose(surface.fit.minimiser, surface.z, rtol=0, atol=1e-9)
    best = subject.sign * subject.result.certificate.fun
    # The answer to exact values is from a window, and the pictures are of a model of all of them, with its rounding.
    rounding = (1e-6 if name == "valley" else 1e-12) * float(np.ptp(subject.evidence.means))
    # Far from quadratic the mean is a sum of large terms that cancel: the last digits of z are seen in it.
    rtol = 1e-12 if subject.result.certificate.is_quadratic else 1e-6
    np.testing.assert_allclose(surface.values(surface.z[None, :])[0], best, rtol=rtol, atol=rounding)
    assert surface.sigma == pytest.approx(subject.result.certificate.sigma, rel=1e-12, abs=rounding)


def test_heavy_tails_and_unequal_noise_are_fitted_as_in_the_answer() -> None:
    rng = np.random.default_rng(3)
    z = rng.uniform(-1, 1, (400, 2))
    for noise in (rng.standard_t(2, 400), np.exp(2 * z[:, 0]) * rng.standard_normal(400)):
        subject = subject_of(SQUARE, z, 5 * np.sum((z - 0.2) ** 2, axis=1) + 0.1 * noise)
        surface = surface_of(subject)
        assert surface is not None and subject.result is not None
        np.testing.assert_allclose(surface.fit.minimiser, subject.result.x, rtol=0, atol=1e-9)


def near_and_far(power: float, share: float, seed: int) -> tuple[Any, Any]:
    """Return 300 points at distances from 0.001 to 0.9 of (0.1, 0.1), and values with noise of a share of the value."""
    rng = np.random.default_rng(seed)
    away = rng.standard_normal((300, 2))
    away *= (np.geomspace(1e-3, 0.9, 300) / np.linalg.norm(away, axis=1))[:, None]
    return 0.1 + away, np.sum(np.abs(away) ** power, axis=1) * np.exp(share * rng.standard_normal(300))


@pytest.mark.parametrize(("power", "share", "is_quadratic"), [(2.0, 0.3, True), (1.3, 0.05, False)])
@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_noise_that_grows_with_the_height_is_fitted_in_the_window_of_the_answer(
    power: float, share: float, is_quadratic: bool, seed: int, sign: float
) -> None:
    subject = subject_of(SQUARE, *near_and_far(power, share, seed), sign)
    surface = surface_of(subject)
    assert surface is not None and subject.result is not None and subject.result.certificate is not None
    c = subject.result.certificate
    assert surface.is_closed_in and c.is_quadratic is is_quadratic is (surface.smooth is None)
    here = surface.z[None, :]
    # The answer's own numbers: to rounding of z, which the ratio of the domain to the window, below 1e4, magnifies.
    assert sign * float(surface.values(here)[0]) == pytest.approx(c.fun, rel=1e-6, abs=1e-6 * c.fun_se)
    assert float(surface.standard_errors(here)[0]) == pytest.approx(c.fun_se, rel=1e-6)
    assert surface.sigma == pytest.approx(c.sigma, rel=1e-12)
    assert subject.result.hessian is not None
    size = float(np.abs(surface.fit.hessian).max())
    np.testing.assert_allclose(surface.fit.hessian, subject.result.hessian, rtol=0, atol=1e-6 * size)
    if is_quadratic:  # the minimum of a smooth function is searched, and found to the digits that matter
        reach = float(np.abs(surface.window.spread).max())
        np.testing.assert_allclose(surface.gradient, 0.0, rtol=0, atol=1e-6 * size * reach)


def test_the_noise_of_a_window_is_read_off_its_weights_and_its_surroundings_are_shown() -> None:
    points, values = near_and_far(2.0, 0.3, 0)
    subject = subject_of(SQUARE, points, values)
    surface = surface_of(subject)
    assert surface is not None and surface.is_closed_in
    # σ = 0.31 h (of exp 0.3N, times its mean) of a known h; 300 values give it to 4 %, heavy tails allow for half more.
    far = np.array([[0.6, 0.1], [0.1, 0.9]])
    ratio = surface.deviations(far) / np.sum((far - 0.1) ** 2, axis=1)
    assert np.all((ratio > 0.2) & (ratio < 0.5))
    assert float(surface.deviations(surface.z[None, :])[0]) >= surface.sigma
    residuals = residuals_of(surface, Rows.of(1, points, Measurements.from_values(values[:, None])))
    assert float(np.median(np.abs(residuals.score))) == pytest.approx(0.67, abs=0.35)  # that of a normal value
    for k in range(2):
        low, high = surface.view(k)
        assert -1 <= low < float(surface.z[k]) < high <= 1 and high - low < 1
    shown = surface.shows(points)
    assert 0 < int(shown.sum()) < 300
    assert not shown[np.linalg.norm(points - 0.1, axis=1) > 1].any()
    # Curvature 2 in both directions, and surely curved.
    directions = directions_of(surface, SQUARE, 1e-6, surface.curvature_errors())
    for one in directions:
        assert one.curvature == pytest.approx(2.09, abs=5 * one.curvature_se) and not one.is_flat


def test_tolerances_and_directions_of_a_known_bowl() -> None:
    # ½·8a² + ½·2b², exactly: worse by 1 at a = ±½ and b = ±1, the end of the range.
    z = cross(2)
    subject = subject_of(SQUARE, z, 4 * z[:, 0] ** 2 + z[:, 1] ** 2)
    surface = surface_of(subject)
    assert surface is not None
    first, second = tolerances_of(surface, SQUARE, 0.25)
    assert (first.low, first.high) == pytest.approx((-0.25, 0.25), abs=1e-3)
    assert (second.low, second.high) == pytest.approx((-0.5, 0.5), abs=1e-3)
    assert not any((first.is_edge_low, first.is_edge_high, second.is_edge_low, second.is_edge_high))
    whole = tolerances_of(surface, SQUARE, 9.0)[1]
    assert (whole.low, whole.high, whole.is_edge_low, whole.is_edge_high) == (-1.0, 1.0, True, True)
    stiff, sloppy = directions_of(surface, SQUARE, 0.25, None)
    assert (stiff.curvature, sloppy.curvature) == pytest.approx((8, 2), rel=1e-3)
    assert (stiff.drift, sloppy.drift) == pytest.approx((0.25, 0.5), rel=1e-3)
    np.testing.assert_allclose(np.abs(stiff.vector), [1, 0], atol=1e-3)
    assert stiff.parts == ((0, "+0.25"),)


def test_knobs_that_act_together_are_named_together() -> None:
    z = cross(2)
    subject = subject_of(SQUARE, z, 10 * (z[:, 0] + z[:, 1]) ** 2 + 0.1 * (z[:, 0] - z[:, 1]) ** 2)
    surface = surface_of(subject)
    assert surface is not None
    stiff, sloppy = directions_of(surface, SQUARE, 0.1, None)
    assert len(stiff.parts) == len(sloppy.parts) == 2
    assert stiff.parts[0][1][0] == stiff.parts[1][1][0], "together they change in the same sense"
    assert {sloppy.parts[0][1][0], sloppy.parts[1][1][0]} == {"+", "-"}, "and may drift against each other"


def test_a_log_knob_drifts_by_a_factor_and_a_ball_keeps_its_edge() -> None:
    box = Box([Knob("rate", 0.01, 1, log=True)])
    z = cross(1, 9)
    surface = surface_of(subject_of(box, z, z[:, 0] ** 2))
    assert surface is not None
    (direction,) = directions_of(surface, box, 0.25, None)
    assert direction.parts == ((0, "×3.16"),)  # half a unit of two decades in four units
    (tolerance,) = tolerances_of(surface, box, 0.25)
    assert (tolerance.low, tolerance.high) == pytest.approx((0.1 / 10**0.5, 0.1 * 10**0.5), rel=1e-3)
    ball = Ball([0.0, 0.0])
    points = cross(2)[np.linalg.norm(cross(2), axis=1) <= 1.01]
    surface = surface_of(subject_of(ball, points, (points[:, 0] - 0.6) ** 2 + points[:, 1] ** 2))
    assert surface is not None
    across = tolerances_of(surface, ball, 100.0)[1]
    assert (across.low, across.high) == pytest.approx((-0.8, 0.8), abs=1e-2)


@given(
    st.integers(-3000, 3000).map(lambda k: k / 1000),
    st.integers(-3000, 3000).map(lambda k: k / 1000),
    st.floats(1e-3, 10),
)
def test_the_distance_to_a_worsening_is_where_it_is_reached_first(slope: float, bend: float, worsening: float) -> None:
    t = distance_to_worsening(slope, bend, worsening)
    if math.isinf(t):
        along = np.linspace(0, 1e5, 100_001)  # never reached, however far
        assert np.all(slope * along + bend * along**2 / 2 <= worsening)
        return
    assert slope * t + bend * t**2 / 2 == pytest.approx(worsening, rel=1e-6)
    along = np.linspace(0, t, 50)[:-1]
    assert np.all(slope * along + bend * along**2 / 2 <= worsening * (1 + 1e-9))


def test_lines_of_equal_value_lie_where_the_value_is_equal() -> None:
    grid = np.linspace(-1, 1, 81)
    height = grid[:, None] ** 2 + grid[None, :] ** 2
    pieces = contour_lines(grid, grid, height, 0.5)
    radii = np.array([np.hypot(x, y) for x, y in pieces]).ravel()
    np.testing.assert_allclose(radii, math.sqrt(0.5), atol=1e-3)
    length = sum(math.hypot(x[1] - x[0], y[1] - y[0]) for x, y in pieces)
    assert length == pytest.approx(2 * math.pi * math.sqrt(0.5), rel=1e-2)
    assert contour_lines(grid, grid, height, 5.0) == []


def test_lack_of_fit_rejects_at_its_level_and_sees_a_kink() -> None:
    rng = np.random.default_rng(1)
    z = np.repeat(cross(2, 4), 2, axis=0)
    chances = []
    for _ in range(100):
        y = np.sum((z - 0.1) ** 2, axis=1) + 0.1 * rng.standard_normal(len(z))
        surface = surface_of(subject_of(SQUARE, z, y))
        assert surface is not None
        chance = lack_of_fit(surface).chance
        assert chance is not None
        chances.append(chance)
    # Uniform if the noise is normal: the share below one half is binomial, false alarm 1e-6 at 4.9 standard deviations.
    assert abs(np.mean(np.array(chances) < 0.5) - 0.5) < 4.9 * 0.5 / math.sqrt(100)
    surface = surface_of(subject_of(SQUARE, z, np.abs(z - 0.2).sum(axis=1) + 0.01 * rng.standard_normal(len(z))))
    assert surface is not None and lack_of_fit(surface).is_sure


def test_rows_far_from_the_fit_and_an_order_effect_are_found() -> None:
    rng = np.random.default_rng(2)
    z = rng.uniform(-1, 1, (100, 2))
    y = np.sum(z**2, axis=1) + 0.1 * rng.standard_normal(100)
    y[40] += 5
    surface = surface_of(subject_of(SQUARE, z, y))
    assert surface is not None
    rows = Rows.of(1, z, Measurements.from_values(y[:, None]))
    residuals = residuals_of(surface, rows)
    assert residuals.index[residuals.far].tolist() == [40]
    assert not order_of(rows).is_sure
    drifted = Rows.of(1, z, Measurements.from_values((y + 0.02 * np.arange(100))[:, None]))
    assert order_of(drifted).is_sure


def test_far_is_judged_by_the_noise_at_the_place() -> None:
    # The noise is 20 times as large at one end as at the other: normal values are no outliers anywhere.
    rng = np.random.default_rng(4)
    z = rng.uniform(-1, 1, (600, 1))
    deviation = 0.1 * np.exp(1.5 * z[:, 0])
    y = z[:, 0] ** 2 + deviation * rng.standard_normal(600)
    surface = surface_of(subject_of(Box([Knob("a", -1, 1)]), z, y))
    assert surface is not None
    ends = np.array([[-0.8], [0.8]])
    # Six hundred squares fix log v to ±0.12 here, and its half to ±0.06: five of these are a third.
    np.testing.assert_allclose(surface.deviations(ends), 0.1 * np.exp(1.5 * ends[:, 0]), rtol=0.3)
    residuals = residuals_of(surface, Rows.of(1, z, Measurements.from_values(y[:, None])))
    assert len(residuals.far) <= 3  # 0.04 expected: four come by chance once in ten million times; one σ names dozens
    assert abs(float(np.std(residuals.score)) - 1) < 0.15  # five standard deviations, 1/√1200 each


def test_failures_are_counted_by_thirds() -> None:
    points = np.array([[-0.9, 0.0], [0.0, 0.0], [0.9, 0.0], [0.9, 0.9]])
    told = Measurements(np.array([2, 1, 0, 0]), np.zeros(4), np.zeros(4), failures=np.array([0, 0, 3, 1]))
    first, second = failures_of(Rows.of(1, points, told), SQUARE)
    assert (first.knob, first.attempts.tolist(), first.failed.tolist()) == (0, [2, 1, 4], [0, 0, 4])
    assert (second.knob, second.failed.tolist()) == (1, [0, 3, 1])


def test_the_forecast_is_that_of_the_certificate_and_ends_at_the_limit(studies: Path) -> None:
    page_of(studies, "oven")
    with Study.read(studies / "oven.db") as study:
        result = study.recommend()
        certificate = study_subject(study).result.certificate  # type: ignore[union-attr]  # there is a value
    assert certificate is not None
    good = section(check(page_of(studies, "oven")), "good")
    assert good is not None
    n = result.nfev - result.nfail
    rows = good.all("table")[1].all("tbody")[0].all("tr")
    for row, more in zip(rows, (0, n // 2, n, 2 * n, 4 * n), strict=True):
        cells = [cell.text for cell in row.all("th", "td")]
        assert cells[0] == (f"{more:,}" if more else "none (now)")
        assert float(cells[1]) == pytest.approx(result.forecast(more), rel=1e-2)
    assert "limit" in forecast_figure(certificate, n, None).svg
    # Far out the forecast comes down to the limit σ²V*/n from above.
    assert certificate.regret_after(1e9) * 1e9 == pytest.approx(certificate.regret_unit, rel=1e-3)


@given(st.floats(-1e6, 1e6), st.floats(1e-6, 1e6))
def test_ticks_are_inside_and_their_texts_tell_them_apart(low: float, span: float) -> None:
    high = low + span
    if high - low < 1e-9 * max(abs(low), abs(high)):
        return
    ticks = nice_ticks(low, high)
    assert 1 <= len(ticks) <= 6
    assert all(low - 1e-6 * span <= tick <= high + 1e-6 * span for tick in ticks)
    texts = [text for _, text in tick_labels(ticks)]
    assert len(set(texts)) == len(texts)


@pytest.mark.parametrize(("low", "high"), [(0.01, 1), (2, 3), (1e-8, 1e8), (0.9, 1100)])
def test_a_log_knob_has_ticks_where_they_belong(low: float, high: float) -> None:
    ticks = knob_ticks(Box([Knob("rate", low, high, log=True)]), 0)
    assert 2 <= len(ticks) <= 6
    for place, text in ticks:
        assert -1 - 1e-9 <= place <= 1 + 1e-9
        assert math.log(float(text) / low) / math.log(high / low) * 2 - 1 == pytest.approx(place, abs=1e-6)


@given(st.floats(-1e12, 1e12), st.floats(1e-9, 1e6))
def test_a_number_keeps_two_digits_of_its_uncertainty(value: float, step: float) -> None:
    assert abs(float(number(value, step)) - value) <= max(0.05 * step, 1e-14 * abs(value)) * (1 + 1e-9)


@pytest.mark.parametrize(
    ("ratio", "written"),
    [(10**0.5, "×3.16"), (0.12, "×0.12"), (1.000234, "×1.00023"), (0.99977, "×0.99977"), (1, "×1")],
)
def test_a_factor_near_one_is_told_from_one(ratio: float, written: str) -> None:
    assert factor(ratio) == written


@given(st.floats(1e-9, 1e9))
def test_three_significant_digits_are_kept(value: float) -> None:
    assert float(significant(value)) == pytest.approx(value, rel=5.001e-3)
    assert "e" not in significant(value) or not 1e-4 < value < 1e7


def test_thinning_keeps_both_ends_and_what_must_not_be_missing() -> None:
    some = thinned(100_000, 300, always=np.array([777]))
    assert {0, 99_999, 777} <= set(some.tolist()) and len(some) <= 301


def test_values_are_shown_as_they_were_measured_when_large_ones_are_wanted() -> None:
    noise = np.random.default_rng(0)
    result = paraboloid.maximize(
        lambda x: 50 - (x[0] - 2) ** 2 + 0.1 * noise.standard_normal(), [(0, 3)], budget=40, rng=0
    )
    rows = result.subject.all_rows()
    assert rows.n_rows and np.all(rows.means > 40) and int(rows.counts.sum()) == 40
    tree = check(html_report(result.subject))
    assert "a search for large values" in tree.text
    value = float(tree.text.split("Value to expect there: ")[1].split(" ±")[0])
    assert value == pytest.approx(result.fun, abs=0.01)


def test_old_data_and_failures_of_minimize_are_rows_too() -> None:
    data = (np.array([[0.5], [2.5]]), np.array([2.0, 2.3]))
    result = paraboloid.minimize(
        lambda x: math.nan if x[0] < 0.2 else (x[0] - 2) ** 2, [(0, 3)], budget=12, rng=0, data=data
    )
    rows = result.subject.all_rows()
    assert rows.rounds.min() == 0 and rows.rounds.max() == result.rounds
    assert int(rows.failures.sum()) == result.nfail > 0
    tree = check(html_report(result.subject))
    assert section(tree, "failures") is not None


def test_an_algorithm_without_a_certificate_has_a_report_too() -> None:
    def one_look(domain: Domain, **_: Any) -> Any:
        points = domain.from_unit(cross(1, 7))
        yield paraboloid.Experiment(points, 3, allows_failures=True)
        return paraboloid.Result(paraboloid.Estimate(points[3]), paraboloid.Status.BUDGET_SPENT)

    noise = np.random.default_rng(0)
    result = paraboloid.minimize(
        lambda x: x[0] ** 2 + 0.1 * noise.standard_normal(), [(-1, 1)], budget=21, algorithm=one_look
    )
    tree = check(html_report(result.subject))
    assert "gives no bound" in tree.text and "not known" in tree.text
    assert "status" in str(result)
