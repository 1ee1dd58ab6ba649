"""What is not an answer at all is refused by name, and the session goes on."""

from typing import Any

import numpy as np
import pytest

from paraboloid import MeasurementError, Measurements, UsageError, algorithms
from paraboloid.run import Session


@pytest.mark.parametrize("sent", [[1.0, 2.0], None, 3.0, "text"])
def test_what_is_not_measurements_is_refused_and_the_session_goes_on(sent: Any) -> None:
    session = Session(algorithms.hessian_dependent(np.eye(1), 6))
    with pytest.raises(MeasurementError, match="from_values"):
        session.tell(sent)
    session.tell(Measurements.from_values([[0.0, 1.0], [1.0, 2.0]]))
    assert session.is_done and session.n_measurements == 4


def test_what_is_sent_to_a_procedure_by_hand_is_checked_too() -> None:
    procedure: Any = algorithms.hessian_dependent(np.eye(1), 6)
    next(procedure)
    with pytest.raises(MeasurementError, match="from_values"):
        procedure.send([1.0, 2.0])


@pytest.mark.parametrize("values", [5.0, "12", None])
def test_values_without_a_list_for_each_point_are_refused(values: Any) -> None:
    with pytest.raises(MeasurementError, match="for each point"):
        Measurements.from_values(values)


def test_an_unknown_truncation_is_refused_before_the_first_step() -> None:
    wrong: Any = "printed"
    with pytest.raises(UsageError, match="CENTRED"):
        algorithms.universal(2, 10_000, truncation=wrong)
