"""Reports are written whole or not at all, and never over something of somebody else."""

import io
import os
import pickle
import re
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

import paraboloid
from paraboloid import Study, UsageError
from paraboloid.algorithms import conclude
from paraboloid.answer import Recommendation
from paraboloid.report import check_writable, html_report, write_report
from tests.report.reading import check

PAGE = '<!doctype html>\n<meta name="generator" content="paraboloid report">\nold'


def result() -> Recommendation:
    found = paraboloid.minimize(lambda x: (x[0] - 1) ** 2, [(0, 3)], budget=9, rng=0)
    assert isinstance(found, Recommendation)
    return found


def test_a_result_writes_its_report_and_replaces_an_earlier_one(tmp_path: Path) -> None:
    path = tmp_path / "out.html"
    assert result().report(path, title="Oven 3") == path
    first = path.read_text(encoding="utf-8")
    assert check(first).all("h1")[0].text == "Oven 3"
    result().report(str(path))
    assert check(path.read_text(encoding="utf-8")).all("h1")[0].text == "Paraboloid"
    assert os.listdir(tmp_path) == ["out.html"]
    umask = os.umask(0)
    os.umask(umask)
    assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~umask


@pytest.mark.parametrize("content", ["dear diary", "<!doctype html><p>mine</p>", "x" * 5000 + PAGE])
def test_a_file_of_somebody_else_is_left_unless_told(tmp_path: Path, content: str) -> None:
    path = tmp_path / "out.html"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(UsageError, match="no report of ours"):
        result().report(path)
    assert path.read_text(encoding="utf-8") == content
    result().report(path, force=True)
    check(path.read_text(encoding="utf-8"))


def test_a_study_is_never_written_over(tmp_path: Path) -> None:
    path = tmp_path / "study.db"
    Study.open(path, [(0, 1)], budget=5, rng=0).close()
    before = path.read_bytes()
    link = tmp_path / "link.html"
    link.symlink_to(path)
    for target in (path, link):
        with pytest.raises(UsageError, match="never written over"):
            result().report(target, force=True)
    assert path.read_bytes() == before


def test_a_folder_a_missing_folder_and_a_device_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is no file"):
        check_writable(tmp_path, force=True)
    with pytest.raises(UsageError, match="does not exist"):
        check_writable(tmp_path / "none" / "out.html")
    with pytest.raises(UsageError, match="is no file"):
        check_writable("/dev/null")


def test_a_link_to_a_report_is_followed(tmp_path: Path) -> None:
    target, link = tmp_path / "target.html", tmp_path / "link.html"
    target.write_text(PAGE, encoding="utf-8")
    link.symlink_to(target)
    assert write_report(link, PAGE + "new") == target
    assert link.is_symlink() and target.read_text(encoding="utf-8").endswith("new")


FULL = """
import resource, signal, sys
from paraboloid.report import write_report
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
write_report(sys.argv[1], "x" * 100_000)
"""


def test_a_full_disk_leaves_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "out.html"
    path.write_text(PAGE, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-c", FULL, str(path)], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode != 0 and "OSError" in done.stderr
    assert path.read_text(encoding="utf-8") == PAGE and os.listdir(tmp_path) == ["out.html"]


def test_text_that_cannot_be_encoded_is_written_all_the_same(tmp_path: Path) -> None:
    assert write_report(tmp_path / "out.html", "half a pair: \udc80").read_text(encoding="utf-8") == "half a pair: ?"


def test_a_bad_worsening_is_refused_and_nothing_is_written(tmp_path: Path) -> None:
    for bad in (0.0, -1.0, float("nan")):
        with pytest.raises(UsageError, match="worsening"):
            result().report(tmp_path / "out.html", worsening=bad)
    assert os.listdir(tmp_path) == []


def test_a_result_is_still_what_scipy_returns_and_survives_a_pickle(tmp_path: Path) -> None:
    found = result()
    assert "subject" not in found and found["x"] is found.x
    again = pickle.loads(pickle.dumps(found))
    assert str(again) == str(found)
    again.report(tmp_path / "out.html")
    assert "x_ci" in repr(found) and "subject" not in repr(found)


def test_the_short_versions_say_the_main_things() -> None:
    noise = iter(range(10**6))
    found = paraboloid.maximize(
        lambda x: 5 - (x[0] - 200) ** 2 / 100 + 0.1 * ((next(noise) * 0.618) % 1),
        paraboloid.Box([paraboloid.Knob("heat & <b> [/red]", 100, 210, "°C")]),
        budget=30,
        rng=0,
    )
    text, piece = str(found), found._repr_html_()
    assert text.splitlines()[0].startswith("heat & <b>") and "°C" in text and len(text.splitlines()) <= 10
    written = io.StringIO()
    Console(width=100, file=written).print(found)
    printed = written.getvalue()
    assert "heat & <b>" in printed and "[/red]" in printed
    assert "heat &amp; &lt;b&gt;" in piece and "<b> " not in piece
    for word in ("expected", "at most", "95%", "30", "The budget is spent"):
        assert word in text and word in piece and word in printed


@pytest.mark.parametrize(("sigma", "is_said"), [(1.0, True), (0.01, False)])
def test_doubt_about_the_shape_is_said_where_it_makes_the_bound_wide(sigma: float, is_said: bool) -> None:
    noise = np.random.default_rng(1)
    found = paraboloid.minimize(
        lambda x: 3 * float(np.sum((x - 0.2) ** 2)) + sigma * noise.standard_normal(), [(-1, 1)] * 2, budget=150, rng=0
    )
    assert (found.regret_bound >= 2 * found.regret_bound_if_quadratic) == is_said and np.isfinite(found.regret_bound)
    sentence = f"at most {found.regret_bound_if_quadratic:.3g} if the response is a paraboloid;"
    page = html_report(found.subject)
    for text in (str(found), found._repr_html_(), page):
        assert (sentence in text) == is_said
    foretold = re.search(r'data-label="loss at most \(95%\)([^"]*)"><span>([^<]*)</span>', page)
    assert foretold is not None and (foretold[1] == ", if the response is a paraboloid") == is_said
    now = found.regret_bound_if_quadratic if is_said else found.regret_bound
    assert float(foretold[2]) == pytest.approx(now, rel=5.001e-3)
    assert len(str(found).splitlines()) <= 10 and found.caveats == []


def test_a_knob_is_printed_with_the_digits_that_are_known_of_it() -> None:
    noise = np.random.default_rng(0)
    box = paraboloid.Box(
        [
            paraboloid.Knob("alpha", 1e-6, 10, log=True),
            paraboloid.Knob("idle", 0.01, 1000, log=True),
            paraboloid.Knob("heat", 150, 210),
            paraboloid.Knob("load", 1000, 20000),
        ]
    )

    def measure(x: Any) -> float:
        z = box.to_unit(x)
        return float((z[0] + 0.5) ** 2 + (z[2] - 0.1) ** 2 + 0.05 * noise.standard_normal())

    found = paraboloid.minimize(measure, box, budget=60, rng=0)
    lines = {line.split()[0]: line.split()[1:] for line in str(found).splitlines()[:4]}
    for k, (name, (setting, low, _, high)) in enumerate(lines.items()):
        x, ends = found.x[k], found.x_ci[k]
        assert name == box.names[k] and float(setting) == pytest.approx(x, rel=5.001e-3)
        assert [float(low[1:]), float(high[:-1])] == pytest.approx(ends, rel=5.001e-3)
    assert lines["idle"][1:] == ["(0.01", "to", "1000)"] and lines["load"][1:] == ["(1000", "to", "20000)"]
    flat = " ".join(caveat for caveat in found.caveats if caveat.startswith("no curvature"))
    assert re.search(r"idle ×\d", flat) and not re.search(r"idle [+-]", flat), "a log knob moves by a factor"
    assert re.search(r"load [+-]\d", flat) and not re.search(r"load ×", flat)


def test_a_narrow_interval_of_a_log_knob_keeps_its_digits() -> None:
    box = paraboloid.Box([paraboloid.Knob("alpha", 1e-6, 10, log=True)])
    noise = np.random.default_rng(0)
    found = paraboloid.minimize(
        lambda x: float((box.to_unit(x)[0] + 0.7) ** 2 + 1e-3 * noise.standard_normal()), box, budget=60, rng=0
    )
    setting, low, _, high = str(found).splitlines()[0].split()[1:]
    half = float(np.ptp(found.x_ci)) / 2
    assert 0 < half < 0.1 * found.x[0] < 1e-4, "or this tests nothing"
    read = np.array([float(setting), float(low[1:]), float(high[:-1])])
    np.testing.assert_allclose(read, [found.x[0], *found.x_ci[0]], rtol=0, atol=0.05 * half)


def test_what_has_no_bound_is_printed_without_one() -> None:
    rng = np.random.default_rng(0)
    z = rng.uniform(-1, 1, (60, 2))
    saddle = z[:, :1] ** 2 - z[:, 1:] ** 2 + 0.01 * rng.standard_normal((60, 1))
    evidence = paraboloid.Evidence.empty(2).with_measurements(z, paraboloid.Measurements.from_values(saddle))
    text = str(conclude(evidence, paraboloid.Box([(-1, 1)] * 2)))
    assert "regret         not known, no bound" in text and "inf" not in text


WITHOUT = """
import sys
sys.modules["jinja2"] = None  # as where the extra is not installed
import paraboloid
result = paraboloid.minimize(lambda x: (x[0] - 1) ** 2, [(0, 3)], budget=9, rng=0)
print(result)
try:
    result.report(sys.argv[1])
except paraboloid.UsageError as error:
    print(error)
"""


def test_without_the_extra_a_result_is_printed_and_the_report_says_what_to_install(tmp_path: Path) -> None:
    path = tmp_path / "out.html"
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT, str(path)], capture_output=True, text=True, timeout=60, check=True
    )
    assert "x1" in done.stdout and 'pip install "paraboloid[report]"' in done.stdout and not path.exists()


def test_the_recommendation_of_a_study_has_a_report_too(tmp_path: Path) -> None:
    with Study.open(tmp_path / "study.db", [(0, 1)], budget=12, rng=0) as study:
        while trials := study.ask(4):
            for trial in trials:
                study.tell(trial.id, (trial.x["x1"] - 0.4) ** 2)
        written = study.recommend().report(tmp_path / "out.html", title="Valve")
    assert check(written.read_text(encoding="utf-8")).all("h1")[0].text == "Valve"
