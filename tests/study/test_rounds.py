"""How large the rounds of a study are: those of the search, whatever the response turns out to be."""

from pathlib import Path

import numpy as np

from paraboloid import Study
from paraboloid.store import EventLog


def round_sizes(path: Path) -> list[int]:
    with EventLog.read(path) as log:
        return [sum(event.payload["repeats"]) for event in log.events() if event.kind == "planned"]


def measured(path: Path, spread: float, sigma: float) -> list[int]:
    """Return the rounds of a study of a bowl whose noise is a part of its height, or the same everywhere."""
    noise = np.random.default_rng(3)
    with Study.open(path, [(-1, 1)] * 3, budget=200, rng=0) as study:
        while trials := study.ask(1):
            height = 10 * sum((value - 0.3) ** 2 for value in trials[0].x.values())
            w = noise.normal()
            study.tell(trials[0].id, height * np.exp(spread * w) + sigma * w)
    return round_sizes(path)


def test_rounds_grow_on_a_quadratic_and_are_of_one_size_where_the_noise_is_a_part_of_the_height(tmp_path: Path) -> None:
    quadratic = measured(tmp_path / "quadratic.db", 0.0, 1.0)
    closing_in = measured(tmp_path / "closing_in.db", 0.1, 0.0)
    assert sum(quadratic) == sum(closing_in) == 200 and len(quadratic) == len(closing_in) == 8
    assert np.all(np.diff(quadratic) > 0)
    assert np.ptp(closing_in[-4:]) <= 1  # from where the noise is known to grow


def test_more_budget_is_spent_in_as_many_rounds_as_a_search_has_for_that_part(tmp_path: Path) -> None:
    path = tmp_path / "study.db"
    before = measured(path, 0.1, 0.0)
    noise = np.random.default_rng(4)
    with Study.open(path) as study:
        study.extend(400)
        while trials := study.ask(1):
            height = 10 * sum((value - 0.3) ** 2 for value in trials[0].x.values())
            study.tell(trials[0].id, height * np.exp(0.1 * noise.normal()))
    added = round_sizes(path)[len(before) :]
    assert sum(added) == 200 and len(added) == 4
