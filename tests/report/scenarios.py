"""Studies of every kind that a report must make sense of, measured with noise of their own."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from paraboloid import Ball, Box, Knob, Study
from paraboloid.core import Domain
from paraboloid.report import html_report, study_subject
from paraboloid.study import Answer

OVEN = Box([Knob("temperature", 150, 210, "°C"), Knob("time", 20, 60, "min")])
REACTOR = Box([*OVEN.knobs, Knob("rate", 0.001, 1, "1/s", log=True)])

Response = Callable[[np.ndarray[Any, np.dtype[np.float64]], np.random.Generator, int], tuple[float | None, str | None]]
"""Value (None: failed) and note of a measurement at unit coordinates, with its own noise and its number."""


def make_study(path: Path, domain: Domain, response: Response, n: int, **options: Any) -> Path:
    """Measure n times, and return the file."""
    noise, number = np.random.default_rng(5), 0
    with Study.open(path, domain, budget=n, rng=0, **options) as study:
        while trials := study.ask(20):
            for trial in trials:
                z = domain.to_unit(np.array(list(trial.x.values())))
                value, note = response(z, noise, number)
                study.tell(trial.id, value, note=note)
                number += 1
    return path


def bowl(centre: float = 0.1, sigma: float = 0.05, scale: float = 1.0, offset: float = 0.0) -> Response:
    def response(z: Any, noise: np.random.Generator, _: int) -> tuple[float, None]:
        weights = np.arange(1, z.size + 1)
        return float(offset + scale * (weights @ (z - centre) ** 2 + sigma * noise.standard_normal())), None

    return response


def oven(z: Any, noise: np.random.Generator, number: int) -> tuple[float | None, str | None]:
    """Too hot it fails, and once the stirrer stood still."""
    if z[0] > 0.9:
        return None, "over-temperature alarm"
    value = 20 - 9 * z[0] ** 2 - 8 * (z[1] + 0.25) ** 2 + 0.3 * noise.standard_normal()
    return (value + 9, "the stirrer stood still") if number == 17 else (value, None)


def drifting(z: Any, noise: np.random.Generator, number: int) -> tuple[float, None]:
    return float(z @ z + 0.05 * noise.standard_normal() + 0.05 * number), None


def growing(z: Any, noise: np.random.Generator, _: int) -> tuple[float, None]:
    """The noise is a share of the value: near the minimum there is hardly any."""
    return float(np.arange(1, z.size + 1) @ (z - 0.1) ** 2 * np.exp(0.3 * noise.standard_normal())), None


def valley(z: Any, _: np.random.Generator, __: int) -> tuple[float, None]:
    """A deterministic simulation of a curved valley, least at (½, ½)."""
    u, v = 2 * z
    return float(100 * (v - u**2) ** 2 + (1 - u) ** 2), None


def _study(folder: Path, name: str) -> Path:
    path = folder / f"{name}.db"
    saddle: Response = lambda z, noise, _: (float(z[0] ** 2 - z[1] ** 2 + 0.02 * noise.standard_normal()), None)  # noqa: E731
    flat: Response = lambda z, noise, _: (float(z[0] ** 2 + 0.02 * noise.standard_normal()), None)  # noqa: E731
    made: dict[str, Callable[[], Path]] = {
        "oven": lambda: make_study(path, OVEN, oven, 60, maximize=True),
        "failed": lambda: make_study(path, OVEN, lambda *_: (None, "no reading"), 12),
        "saddle": lambda: make_study(path, OVEN, saddle, 60),
        "edge": lambda: make_study(path, OVEN, bowl(1.5), 60),
        "one": lambda: make_study(path, Box([Knob("rate", 0.001, 1, "1/s", log=True)]), bowl(), 20),
        "thirty": lambda: _thirty(path),
        "single": lambda: make_study(path, OVEN, bowl(), 1),
        "few": lambda: make_study(path, OVEN, bowl(), 4),
        "ball": lambda: make_study(path, Ball([1.0, 2.0, 3.0], 2.0), bowl(), 60),
        "flat": lambda: make_study(path, OVEN, flat, 40),
        "exact": lambda: make_study(path, OVEN, bowl(sigma=0.0), 30),
        "constant": lambda: make_study(path, OVEN, lambda *_: (3.0, None), 20),
        "drift": lambda: make_study(path, OVEN, drifting, 80),
        "kinked": lambda: _kinked(path),
        "valley": lambda: make_study(path, OVEN, valley, 160),
        "growing": lambda: make_study(path, REACTOR, growing, 200),
        "tiny": lambda: make_study(path, OVEN, bowl(scale=1e-12), 40),
        "huge": lambda: make_study(path, OVEN, bowl(scale=1e12), 40),
        "offset": lambda: make_study(path, OVEN, bowl(offset=1e9), 40),
        "running": lambda: _running(path),
        "empty": lambda: _empty(path),
    }
    return made[name]()


NAMES = (
    *("oven", "failed", "saddle", "edge", "one", "thirty", "single", "few", "ball", "flat", "exact", "constant"),
    *("drift", "kinked", "valley", "growing", "tiny", "huge", "offset", "running", "empty"),
)


def _empty(path: Path) -> Path:
    Study.open(path, OVEN, budget=10, rng=0).close()
    return path


def _thirty(path: Path) -> Path:
    """Return a study with thirty knobs and old data, for planning that many takes seconds."""
    box = Box([Knob(f"valve {k}", 0, 10, "mm") for k in range(30)])
    noise, response = np.random.default_rng(5), bowl()
    places = noise.choice([-1.0, 0.0, 1.0], (600, 30))
    with Study.open(path, box, budget=10, rng=0) as study:
        settings = [dict(zip(box.names, x, strict=True)) for x in box.from_unit(places).tolist()]
        values = [response(z, noise, 0)[0] for z in places]
        study.tell_all([Answer(None, value, x=x) for value, x in zip(values, settings, strict=True)])
    return path


def _kinked(path: Path) -> Path:
    """Return a study with old data of a response with a kink, three times at each of 25 settings."""
    noise = np.random.default_rng(5)
    with Study.open(path, OVEN, budget=10, rng=0) as study:
        for place in np.array(np.meshgrid(*[np.linspace(-1, 1, 5)] * 2)).reshape(2, -1).T:
            values = 10 * np.abs(place).sum() + 0.02 * noise.standard_normal(3)
            x = dict(zip(OVEN.names, OVEN.from_unit(place).tolist(), strict=True))
            study.tell(None, values.tolist(), x=x)
    return path


def _running(path: Path) -> Path:
    """Return a study half way: trials out, one abandoned, one censored, old data with standard errors."""
    with Study.open(path, OVEN, budget=60, eps=1e-4, rng=0) as study:
        study.tell(None, 1.5, x={"temperature": 170, "time": 30}, sem=0.2, note="from last year")
        for trial in study.ask(20)[:16]:
            z = OVEN.to_unit(np.array(list(trial.x.values())))
            study.tell(trial.id, float(z @ z))
        study.abandon(18)
        study.tell(19, 2.0, state="CENSORED")
    return path


_PAGES: dict[str, str] = {}


def page_of(folder: Path, name: str, **options: Any) -> str:
    """Return the report of a study of this name; each is measured once."""
    if options or name not in _PAGES:
        path = folder / f"{name}.db"
        with Study.read(path if path.exists() else _study(folder, name)) as study:
            text = html_report(study_subject(study), **options)
        if options:
            return text
        _PAGES[name] = text
    return _PAGES[name]
