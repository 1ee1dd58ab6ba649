"""Which procedure a study follows: named once, refused if it cannot be found again, never run by a file alone."""

import functools
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from paraboloid import Study, UsageError, algorithms
from paraboloid.core import Procedure, ReplayMismatch
from tests.study import procedures
from tests.study.procedures import BALL, HESSIAN, dose_value, finish, zoomed

KNOWN: dict[str, Any] = {"algorithm": "hessian_dependent", "arguments": {"hessian": HESSIAN}, "budget": 40, "rng": 0}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "study.db"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"algorithm": lambda dimension: None}, "cannot be found again by its name"),
        ({"algorithm": functools.partial(algorithms.universal, 2)}, "cannot be found again by its name"),
        ({"algorithm": "unversal"}, "must be one of adaptive, hessian_dependent, quadratic_search, universal"),
        ({"algorithm": "no_such_module_here:steps"}, "no_such_module_here cannot be imported"),
        ({"algorithm": "tests.study.procedures:nothing"}, "there is no function nothing"),
        ({"algorithm": "universal"}, "missing a required argument: 'budget'"),
        ({"algorithm": "universal", "budget": 3}, "budget"),
        ({"algorithm": "universal", "budget": 400, "eps": 0.1}, "takes no eps"),
        ({"algorithm": "universal", "budget": 400, "arguments": {"speed": 2}}, "unexpected keyword argument 'speed'"),
        ({"algorithm": "universal", "budget": 400, "arguments": {"truncation": object()}}, "arguments must be"),
        ({"algorithm": "hessian_dependent", "budget": 40, "arguments": {"hessian": [[np.nan]]}}, "arguments must be"),
        ({"algorithm": procedures.no_steps, "budget": 9}, "must return a generator of experiments"),
        ({"budget": 9, "arguments": {"rounds": 3}}, "arguments are for another algorithm"),
    ],
)
def test_what_cannot_be_followed_is_refused_before_there_is_a_file(
    path: Path, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        Study.open(path, BALL, **options)
    assert not path.exists()


def test_the_name_and_arguments_stay_and_must_not_differ(path: Path) -> None:
    with Study.open(path, BALL, **{**KNOWN, "arguments": {"hessian": np.array(HESSIAN)}}) as study:
        assert study.settings["algorithm"] == "hessian_dependent"
        assert study.settings["arguments"] == {"hessian": HESSIAN}
    with Study.open(path, arguments={"hessian": HESSIAN}) as study:
        assert len(study.ask(3)) == 3
    with pytest.raises(UsageError, match="was made with arguments"):
        Study.open(path, arguments={"hessian": [[1, 0], [0, 1]]})
    for look in (Study.open, Study.read):
        with pytest.raises(UsageError, match="was made with algorithm hessian_dependent, but universal is given"):
            look(path, algorithm="universal")


def test_naming_the_adaptive_search_changes_nothing(tmp_path: Path) -> None:
    points = []
    for name, options in (("a", {}), ("b", {"algorithm": "adaptive"}), ("c", {"algorithm": algorithms.adaptive})):
        with Study.open(tmp_path / f"{name}.db", BALL, budget=20, rng=0, **options) as study:
            points.append([dict(trial.x) for trial in finish(study)])
    assert points[0] == points[1] == points[2]


def test_a_file_does_not_decide_which_code_is_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "visitor.py").write_text(
        "from pathlib import Path\nPath(__file__).with_name('was here').touch()\n"
        "from tests.study.procedures import zoom\n",
        encoding="utf-8",
    )
    monkeypatch.syspath_prepend(tmp_path)
    path, mark = tmp_path / "study.db", tmp_path / "was here"
    with zoomed(path, algorithm="visitor:zoom") as study:
        for trial in study.ask(6):
            study.tell(trial.id, dose_value(trial))
    mark.unlink()
    del sys.modules["visitor"]
    with Study.read(path) as view:
        status = view.status()
        assert status.n_measurements == 6 and view.recommend().stop_reason == "RUNNING"
        assert any('Study.read(path, algorithm="visitor:zoom")' in text for text in status.warnings)
    with pytest.raises(UsageError, match="A file must not decide which code is run"):
        Study.open(path)
    assert not mark.exists()
    with Study.read(path, algorithm="visitor:zoom") as view:
        assert "experiment 2" in view.status().message
    assert mark.exists()


def test_changed_code_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = tmp_path / "changing.py"
    text = (
        "from tests.study.procedures import zoom\ndef steps(domain, budget):\n    return zoom(domain, budget, 0, {})\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    path = tmp_path / "study.db"

    def opened(shrink: float) -> Study:
        module.write_text(text.format(shrink), encoding="utf-8")
        sys.modules.pop("changing", None)
        return zoomed(path, algorithm="changing:steps")

    monkeypatch.setattr(sys, "dont_write_bytecode", True)  # a file changed within a second has the same stamp
    with opened(0.5) as study:
        for trial in study.ask(6):
            study.tell(trial.id, dose_value(trial))
        study.ask(6)
    with opened(0.7) as study:
        assert "Its code has changed" in study.status().message
        with pytest.raises(ReplayMismatch, match="experiment 2 of changing:steps was planned as round 2"):
            study.ask()
        assert study.tell(7, 1.0).value == 1.0  # a value is taken all the same
    with opened(0.5) as study:
        assert study.status().n_measurements == 7 and "waits for 5 of its 6 trials" in study.status().message


@pytest.mark.parametrize(
    ("algorithm", "message"),
    [
        (procedures.outside, "settings outside the domain, such as"),
        (procedures.fragile, "raised ZeroDivisionError: of 1.0"),
    ],
)
def test_mistakes_of_a_procedure_are_named_and_lose_nothing(
    path: Path, algorithm: Callable[..., Procedure], message: str
) -> None:
    with Study.open(path, BALL, algorithm=algorithm, budget=10) as study:
        if algorithm is procedures.fragile:
            study.tell(study.ask()[0].id, 1.0)
        with pytest.raises(UsageError, match=message):
            study.ask()
        assert message.split(",")[0] in study.status().message
        assert study.status().n_measurements == (algorithm is procedures.fragile)
