"""Domains: knob units and unit coordinates are two names of one setting, and wrong boxes are refused by name."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import Bounds

from paraboloid.core import Ball, Box, Knob, Shape, UsageError, as_domain

EPS = np.finfo(np.float64).eps
decades = st.floats(-6.0, 6.0).map(lambda e: 10.0**e)
unit_values = st.floats(-1.0, 1.0)


@st.composite
def plain_knobs(draw: st.DrawFn) -> Knob:
    """Return a knob whose offset is at most 1000 times its width: beyond, the digits of x are not there."""
    width = draw(decades)
    low = draw(st.floats(-1000.0, 1000.0)) * width
    return Knob("a", low, low + width)


@st.composite
def log_knobs(draw: st.DrawFn) -> Knob:
    low = draw(decades)
    return Knob("a", low, low * 10.0 ** draw(st.floats(0.1, 8.0)), log=True)


@given(plain_knobs(), unit_values)
def test_a_unit_coordinate_comes_back_from_knob_units(knob: Knob, z: float) -> None:
    box = Box([knob])
    # x carries a rounding error of eps·|x|, which is eps·|x|/half in z: at most 2000·eps here, a few times over.
    assert box.to_unit(box.from_unit([z]))[0] == pytest.approx(z, abs=2e4 * EPS)


@given(log_knobs(), unit_values)
def test_a_unit_coordinate_comes_back_from_a_log_knob(knob: Knob, z: float) -> None:
    box = Box([knob])
    # log x is at most 33 here and half its range at least 0.11: 300·eps, a few times over.
    assert box.to_unit(box.from_unit([z]))[0] == pytest.approx(z, abs=2e3 * EPS)


@given(plain_knobs() | log_knobs(), unit_values)
def test_inside_the_unit_box_rounding_never_leaves_the_knob_s_range(knob: Knob, z: float) -> None:
    for unit in (z, -1.0, 1.0, math.nextafter(1.0, 0.0)):
        assert knob.low <= Box([knob]).from_unit([unit])[0] <= knob.high


@given(plain_knobs() | log_knobs())
def test_the_ends_of_the_unit_box_are_the_ends_of_the_range(knob: Knob) -> None:
    box = Box([knob])
    assert box.from_unit([-1.0])[0] == pytest.approx(knob.low, rel=1e-12, abs=1e-12 * (knob.high - knob.low))
    assert box.from_unit([1.0])[0] == pytest.approx(knob.high, rel=1e-12, abs=1e-12 * (knob.high - knob.low))


@given(plain_knobs() | log_knobs(), st.floats(-0.9, 0.9))
def test_the_jacobian_is_the_derivative_of_the_setting(knob: Knob, z: float) -> None:
    box, h = Box([knob]), 1e-4
    difference = (box.from_unit([z + h]) - box.from_unit([z - h]))[0] / (2 * h)
    # Central differences: relative error (half log range)²h²/6 ≤ 2e-7, and rounding eps·1000/h ≤ 3e-9.
    assert box.jacobian([z])[0, 0] == pytest.approx(difference, rel=1e-5)


def test_knobs_of_very_different_size_share_a_box() -> None:
    box = Box([(1e-6, 2e-6), (-1e6, 1e6), Knob("rate", 1e-6, 1e6, log=True)])
    x = box.from_unit([[0.5, 0.5, 0.5], [-1.0, 0.0, 1.0]])
    assert np.allclose(x, [[1.75e-6, 5e5, 1e3], [1e-6, 0.0, 1e6]], rtol=1e-12)
    assert np.allclose(box.to_unit(x), [[0.5, 0.5, 0.5], [-1.0, 0.0, 1.0]], atol=1e-12)


def test_settings_outside_the_box_are_beyond_one_and_come_back() -> None:
    box = Box([(0.0, 10.0), Knob("rate", 0.01, 1.0, log=True)])
    z = box.to_unit([20.0, 100.0])
    assert np.allclose(z, [3.0, 3.0])
    assert np.allclose(box.from_unit(z), [20.0, 100.0])


def test_two_hundred_knobs_and_one_knob_work() -> None:
    box = Box([(-1.0, 3.0)] * 200)
    assert box.dimension == 200 and box.names[199] == "x200" and box.shape is Shape.BOX
    assert np.array_equal(box.from_unit(np.zeros(200)), np.ones(200))
    assert Box([(0, 1)]).dimension == 1


def test_a_sequence_of_pairs_is_a_box_and_a_domain_is_itself() -> None:
    box = as_domain([(0, 1), Knob("t", 1, 2)])
    assert isinstance(box, Box) and box.names == ("x1", "t")
    assert as_domain(box) is box
    ball = Ball([0.0])
    assert as_domain(ball) is ball
    assert as_domain(np.array([[0.0, 1.0], [2.0, 3.0]]).tolist()).dimension == 2


@pytest.mark.parametrize(
    ("low", "high", "message"),
    [
        (2.0, 1.0, r"knob 'x1' needs low < high, got low=2 and high=1"),
        (1.0, 1.0, r"knob 'x1' needs low < high.*held fixed should be left out"),
        (math.nan, 1.0, r"low of knob 'x1' holds a value that is not a finite number"),
        (0.0, math.nan, r"high of knob 'x1'"),
        (-math.inf, 1.0, r"low of knob 'x1'"),
        (0.0, math.inf, r"high of knob 'x1'"),
        ("a", 1.0, r"low of knob 'x1' must be an array of real numbers"),
        (1j, 1.0, r"low of knob 'x1'"),
    ],
)
def test_bounds_that_are_no_range_are_refused_by_name(low: float, high: float, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        Box([(low, high)])


def test_a_range_wider_than_floats_can_hold_is_refused_or_works() -> None:
    try:
        box = Box([(-1.5e308, 1.5e308)])
    except UsageError:
        return
    assert np.all(np.isfinite(box.from_unit([1.0])))


def test_a_log_scale_needs_a_range_above_zero() -> None:
    for low in (0.0, -1.0):
        with pytest.raises(UsageError, match=r"knob 'r' has a log scale and needs low > 0"):
            Knob("r", low, 1.0, log=True)
    with pytest.raises(UsageError, match="log scale must be above 0"):
        Box([Knob("r", 0.1, 1.0, log=True)]).to_unit([-1.0])


def test_an_empty_box_and_equal_or_missing_names_are_refused() -> None:
    with pytest.raises(UsageError, match="at least one knob"):
        Box([])
    with pytest.raises(UsageError, match=r"different names, got \['x2', 'x2'\]"):
        Box([Knob("x2", 0, 1), (0, 1)])
    with pytest.raises(UsageError, match="needs a name"):
        Knob("  ", 0, 1)


@pytest.mark.parametrize("given_domain", [None, 3, [(1.0,)], [(1.0, 2.0, 3.0)], [5.0]])
def test_what_is_no_domain_is_refused_with_what_one_is(given_domain: object) -> None:
    with pytest.raises(UsageError, match=r"\(low, high\) pair"):
        as_domain(given_domain)  # type: ignore[arg-type]  # that is the mistake


def test_points_of_another_dimension_are_refused() -> None:
    for domain in (Box([(0, 1), (0, 1)]), Ball([0.0, 0.0])):
        with pytest.raises(UsageError, match="points must have 2 entries each"):
            domain.to_unit([1.0])
        with pytest.raises(UsageError, match="points must have 2 entries each"):
            domain.from_unit([[1.0, 2.0, 3.0]])


@given(st.lists(st.floats(-100.0, 100.0), min_size=1, max_size=5), decades, unit_values)
def test_a_ball_s_unit_coordinates_come_back(centre: list[float], radius: float, z: float) -> None:
    ball = Ball(centre, radius)
    unit = np.full(len(centre), z / len(centre) ** 0.5)
    x = ball.from_unit(unit)
    # The rounding error of x is eps·(|centre| + radius), in z that divided by the radius.
    assert np.allclose(ball.to_unit(x), unit, rtol=0, atol=4 * EPS * (100 + radius) / radius)
    assert np.linalg.norm(x - ball.centre) <= radius * (1 + 8 * EPS) + 8 * EPS * 100


def test_a_ball_knows_its_shape_names_and_jacobian() -> None:
    ball = Ball([1.0, 2.0], 0.5, names=["a", "b"])
    assert (ball.dimension, ball.shape, ball.names) == (2, Shape.BALL, ("a", "b"))
    assert np.array_equal(ball.jacobian([0.1, 0.2]), 0.5 * np.eye(2))
    assert Ball([0.0] * 200).dimension == 200


def test_wrong_balls_are_refused() -> None:
    with pytest.raises(UsageError, match="empty centre"):
        Ball([])
    for radius in (0.0, -1.0):
        with pytest.raises(UsageError, match="radius must be above 0"):
            Ball([0.0], radius)
    for radius in (math.nan, math.inf):
        with pytest.raises(UsageError, match="radius holds a value that is not a finite number"):
            Ball([0.0], radius)
    with pytest.raises(UsageError, match="centre"):
        Ball([0.0, math.nan])
    for names in (["a"], ["a", "a"], ["a", "b", "c"]):
        with pytest.raises(UsageError, match="as many different names"):
            Ball([0.0, 0.0], names=names)


def test_settings_that_are_no_finite_numbers_are_refused_as_such() -> None:
    for domain in (Box([(0, 1)]), Ball([0.0])):
        for bad in (math.nan, math.inf):
            with pytest.raises(UsageError, match="finite"):
                domain.to_unit([bad])


def test_scipy_bounds_are_a_box() -> None:
    box = as_domain(Bounds([-1.0, 0.0], 2.0))  # type: ignore[arg-type]  # SciPy's, one high for both knobs
    assert isinstance(box, Box)
    np.testing.assert_array_equal(box.from_unit(np.array([[-1.0, -1.0], [1.0, 1.0]])), [[-1.0, 0.0], [2.0, 2.0]])
    with pytest.raises(UsageError, match="finite"):
        as_domain(Bounds([-np.inf], [1.0]))  # type: ignore[arg-type]
