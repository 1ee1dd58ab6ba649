"""Studies of other algorithms from the command line: named in study.toml, found in its folder, run to their end."""

import json
from pathlib import Path

import pytest

from paraboloid import Study
from tests.cli.support import paraboloid

TOML = """
[study]
budget = 40
seed = 1
{algorithm}
[[knob]]
name = "a"
low = 1.0
high = 5.0

[[knob]]
name = "b"
low = -3.0
high = 1.0

[measure]
python = "bowl:{measure}"
"""
BOWL = """
def measure(a, b, rng):
    return 2 * (a - 3.5) ** 2 + (b + 1.5) ** 2 / 2 + 0.001 * rng.standard_normal()


def breaks(a, b):
    if a > 4:
        with open("calls", "a+") as calls:
            if calls.tell() >= 5:
                raise ArithmeticError("the oven is off")
            calls.write(".")
    return a + b
"""
STEPS = """
from pathlib import Path

from paraboloid.algorithms import hessian_dependent, universal

Path(__file__).with_name("was imported").touch()


def steps(budget):
    return hessian_dependent([[16.0, 0.0], [0.0, 4.0]], budget)
"""
HESSIAN = 'algorithm = "hessian_dependent"\narguments = { hessian = [[16.0, 0.0], [0.0, 4.0]] }'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "bowl.py").write_text(BOWL, encoding="utf-8")
    (tmp_path / "steps_of_mine.py").write_text(STEPS, encoding="utf-8")
    return tmp_path


def settle(folder: Path, algorithm: str, measure: str = "measure", more: str = "") -> None:
    text = TOML.format(algorithm=algorithm, measure=measure) + more
    (folder / "study.toml").write_text(text, encoding="utf-8")


def test_run_follows_an_algorithm_of_ours_to_its_end(folder: Path) -> None:
    settle(folder, HESSIAN, more="workers = 2\n")
    done = json.loads(paraboloid("run", "--json", cwd=folder).stdout)
    assert done["status"]["phase"] == "BUDGET_SPENT" and done["status"]["is_finished"]
    # Noise of 0.001 on differences over 4 measurements at least, divided by curvatures of 4 and more: far below 0.01.
    assert abs(done["recommendation"]["x"]["a"] - 3.5) < 0.01 and abs(done["recommendation"]["x"]["b"] + 1.5) < 0.01
    assert done["recommendation"]["regret_bound"] is None and done["recommendation"]["x_ci"]["a"] == [None, None]
    assert "best setting" in paraboloid("status", "study.db", cwd=folder).stdout
    again = paraboloid("run", cwd=folder)
    assert "has returned" in again.stdout and "value there" not in again.stdout
    refused = paraboloid("plan", "study.db", "--eps", "0.01", cwd=folder, code=2)
    assert "cannot tell yet how its regret falls" in refused.stderr


def test_blocks_keep_every_value_for_an_algorithm_that_needs_them(folder: Path) -> None:
    settle(folder, 'algorithm = "universal"', more="repeats = 16\n")
    text = (folder / "study.toml").read_text(encoding="utf-8").replace("budget = 40", "budget = 400")
    (folder / "study.toml").write_text(text, encoding="utf-8")
    done = json.loads(paraboloid("run", "--json", cwd=folder).stdout)
    assert done["status"]["is_finished"] and done["status"]["n_measurements"] > 300
    with Study.read(folder / "study.db") as study:
        assert all(trial.values is not None and len(trial.values) == trial.repeats for trial in study.trials())
        assert max(trial.repeats for trial in study.trials()) == 16


def test_a_factory_beside_study_toml_is_run_only_if_study_toml_is_given(folder: Path) -> None:
    settle(folder, 'algorithm = "steps_of_mine:steps"')
    mark = folder / "was imported"
    (trial,) = json.loads(paraboloid("ask", "study.toml", "--json", cwd=folder).stdout)["trials"]
    assert mark.exists()
    mark.unlink()
    refused = paraboloid("tell", "study.db", str(trial["id"]), "1.0", cwd=folder, code=2)
    assert "A file must not decide which code is run" in refused.stderr
    assert "1 RUNNING" in paraboloid("status", "study.db", cwd=folder).stdout
    assert not mark.exists()
    paraboloid("tell", "study.toml", str(trial["id"]), "1.0", cwd=folder)
    message = json.loads(paraboloid("status", "study.toml", "--json", cwd=folder).stdout)["message"]
    assert mark.exists() and "waits for" in message
    done = json.loads(paraboloid("run", "--json", cwd=folder).stdout)
    assert done["status"]["is_finished"]


def test_a_measurement_that_always_fails_ends_the_run_with_its_code(folder: Path) -> None:
    settle(folder, HESSIAN, measure="breaks", more="most_failed = 1.0\n")
    for budget in (40, 60):  # 36 of which the algorithm needs, whatever it may be raised to later
        text = (folder / "study.toml").read_text(encoding="utf-8").replace("budget = 40", f"budget = {budget}")
        (folder / "study.toml").write_text(text, encoding="utf-8")
        ended = paraboloid("run", cwd=folder, code=4)
        assert "cannot go on without trials" in ended.stderr and "Run the same command to try again" in ended.stderr
    with Study.read(folder / "study.db") as study:
        (failed,) = study.trials("FAILED")
        assert failed.attempt == 6 and len(study.trials("COMPLETE")) == len(study.trials()) - 1


@pytest.mark.parametrize(
    ("algorithm", "complaint"),
    [
        ('algorithm = "unversal"', "must be one of adaptive, hessian_dependent"),
        ('algorithm = "hessian_dependent"', "missing a required argument: 'hessian'"),
        ("algorithm = 3", "algorithm must be a text in quotes, got 3"),
        ('algorithm = "universal"\narguments = 3', "arguments must be a table"),
    ],
)
def test_a_wrong_name_is_refused_before_anything_is_measured(folder: Path, algorithm: str, complaint: str) -> None:
    settle(folder, algorithm)
    assert complaint in paraboloid("run", cwd=folder, code=2).stderr
    assert not (folder / "study.db").exists()
