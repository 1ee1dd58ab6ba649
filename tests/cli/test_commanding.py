"""A measurement by a command, taken apart: which number counts, what placeholders become, what is kept."""

import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from paraboloid.cli.commanding import CommandMeasurement, last_number
from paraboloid.core import MeasurementError, UsageError

RNG = np.random.default_rng(0)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("3", 3.0),
        ("-2.5e-3\n", -0.0025),
        ("yield: 82.3 %", 82.3),
        ("yield=82.3%.", 82.3),
        ("1\n2\n+3.\n", 3.0),
        ("result .5 (done)", 0.5),
        ("loss 4 in step v2 at 2026-11-16 12:30:45 on host7", 4.0),
        ("loss 4; took 3.5s, 1,234 calls, 1.2.3, 3/4", 4.0),
    ],
)
def test_the_last_number_that_stands_alone_is_the_value(text: str, value: float) -> None:
    assert last_number(text) == value


@pytest.mark.parametrize("text", ["", "garbage", "1,234.5", "3.5s", "v2", "2026-11-16", "12:30", "0x1F", "1.2.3"])
def test_what_is_no_plain_number_is_not_guessed_at(text: str) -> None:
    with pytest.raises(MeasurementError, match="it printed no number"):
        last_number(text)


def test_a_nan_at_the_end_is_not_skipped_for_an_earlier_number() -> None:
    assert np.isnan(last_number("7\nnan"))
    assert last_number("7 -inf") == -np.inf


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_whatever_a_program_prints_with_repr_comes_back_to_the_bit(value: float) -> None:
    assert last_number(f"the value is {value!r}") == value


@given(st.floats(allow_nan=False, allow_infinity=False), st.floats(allow_nan=False, allow_infinity=False))
def test_settings_reach_the_arguments_to_the_bit(a: float, b: float) -> None:
    measure = CommandMeasurement(("program", "--a={a}", "{b}", "{{a}}", "{a}{b}"), ("a", "b"))
    words = measure.words_at({"a": repr(a), "b": repr(b)})
    assert words == ["program", f"--a={a!r}", f"{b!r}", "{a}", f"{a!r}{b!r}"]
    assert (float(words[1][4:]), float(words[2])) == (a, b)


def test_a_knob_with_blanks_and_other_letters_has_a_placeholder_too() -> None:
    measure = CommandMeasurement(("echo", "{débit (L/min)}"), ("débit (L/min)",))
    assert measure(np.array([1.25]), RNG) == 1.25


def test_only_the_end_of_a_long_output_is_kept_and_it_is_enough() -> None:
    text = "import sys; sys.stdout.write('1 ' * 500_000); print({x})"
    assert CommandMeasurement((sys.executable, "-S", "-c", text), ("x",))(np.array([42.0]), RNG) == 42.0


def test_a_program_left_behind_does_not_hold_up_the_value() -> None:
    measure = CommandMeasurement("sleep 20 & echo {x}", ("x",), shell=True, timeout=15)
    assert measure(np.array([3.0]), RNG) == 3.0


def test_a_program_that_is_not_there_is_a_failed_measurement_that_names_it(tmp_path: Path) -> None:
    measure = CommandMeasurement(("./nowhere", "{x}"), ("x",), directory=str(tmp_path))
    with pytest.raises(MeasurementError, match=r"\./nowhere could not be started"):
        measure(np.array([1.0]), RNG)


@pytest.mark.parametrize("command", ["", "   ", ()])
def test_an_empty_command_is_refused(command: str | tuple[str, ...]) -> None:
    with pytest.raises(UsageError):
        CommandMeasurement(command, ("x",))
