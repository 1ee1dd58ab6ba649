"""The page of every kind of study: empty, all failed, saddle, edge, one knob, a ball, another algorithm."""

from pathlib import Path

import pytest

from paraboloid import Study
from paraboloid.web import Guard
from paraboloid.web.desk import Desk
from paraboloid.web.fit import fit_of
from paraboloid.web.pages import Pages
from paraboloid.web.typed import Typed
from tests.report.scenarios import page_of
from tests.web.support import OVEN
from tests.web.test_injection import checked

KINDS = {
    "empty": "Nothing has been handed out yet",
    "failed": "All 12 attempts failed",
    "saddle": "no bound can be given",
    "edge": "Set the knobs so",
    "one": "What more would buy",
    "single": "Set the knobs so",
    "ball": "What more would buy",
    "constant": "Set the knobs so",
    "kinked": "not quite a paraboloid",
    "running": "To measure",
}
"""What the page of each says; a word that must be there."""


def pages_of(study: Study) -> tuple[Pages, Desk]:
    desk = Desk(study)
    return Pages(desk, Guard(study.settings["study"], None, is_local=True)), desk


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_study_has_a_page_that_makes_sense(tmp_path: Path, kind: str) -> None:
    page_of(tmp_path, kind, worsening=1.0)  # measures the study
    with Study.open(tmp_path / f"{kind}.db") as study:
        pages, _ = pages_of(study)
        shown = checked(pages.sheet())
        text = " ".join(" ".join(shown.texts).split())
        words = set(text.replace("(", " ").split())
        assert not {"nan", "inf", "-inf", "None"} & words
        assert KINDS[kind] in text
        checked(pages.trials(0))
        for trial in study.trials()[:2]:
            checked(pages.trial(trial.id))


def test_a_study_of_another_algorithm_has_a_page_too(tmp_path: Path) -> None:
    """The paper's algorithms ask for whole experiments, and say nothing about how good their answer is."""
    arguments = {"hessian": [[1.0, 0.0], [0.0, 0.5]]}
    path = tmp_path / "paper.db"
    with Study.open(path, OVEN, budget=200, rng=0, algorithm="hessian_dependent", arguments=arguments) as study:
        pages, desk = pages_of(study)
        checked(pages.sheet())
        asked = desk.ask(2, 0)
        assert asked.count >= 1
        trials = study.trials("RUNNING")
        fields = [f'name="value-{trial.id}"' for trial in trials]
        shown = pages.sheet()
        checked(shown)
        assert [shown.count(field) for field in fields] == [min(50, trial.repeats) for trial in trials]
        rows = [Typed(trial.id, values=("80",) * trial.repeats) for trial in trials]
        assert [deed.kind for deed in desk.save(rows)] == ["told"] * len(rows)
        short = desk.save([Typed(trials[0].id, desk.version(trials[0].id), values=("80",) * (trials[0].repeats + 1))])
        assert short[0].kind == "refused" and "asks for just" in short[0].message
        checked(pages.sheet())
        assert fit_of(study).forecast is None
