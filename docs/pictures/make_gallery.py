"""Draw the pictures of docs/gallery.md: ``python docs/pictures/make_gallery.py``, about a minute.

Needs the extras ``report`` and ``sklearn``. Every picture is drawn from an answer of the package and, where the truth
can be had, from the truth. The numbers that the page quotes are printed.
"""

import csv
import importlib
import io
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from PIL import Image
from sklearn.datasets import load_diabetes
from sklearn.model_selection import KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR

import paraboloid
from paraboloid import Box, Knob, Study
from paraboloid.core import Matrix, Vector
from paraboloid.integrations.sklearn import NoisySearchCV
from paraboloid.report.surface import surface_of

HERE = Path(__file__).resolve().parent
EXAMPLES = HERE.parents[1] / "examples"
BLUE, ORANGE, GREY = "#0072B2", "#D55E00", "#767676"  # as in the report: told apart by all eyes
SIDE = 61
Values = Callable[[Matrix], Vector]


def axes(title: str) -> tuple[Any, Axes]:
    """Return a picture as wide as a page of the documentation."""
    plt.rcParams.update({"font.size": 10, "axes.spines.top": False, "axes.spines.right": False})
    figure, one = plt.subplots(figsize=(6.4, 4.4), layout="constrained")
    one.set_title(title, loc="left", fontsize=11)
    return figure, one


def grid(box: Box, side: int = SIDE) -> tuple[Matrix, Matrix]:
    """Return settings over the whole of two knobs, and the same in unit coordinates."""
    line = np.linspace(-1, 1, side)
    unit = np.stack(np.meshgrid(line, line), axis=-1).reshape(-1, 2)
    return np.array([box.from_unit(z) for z in unit]), unit


def surface_picture(name: str, title: str, result: Any, seen: Matrix, truth: tuple[Vector, int] | None = None) -> None:
    """Draw lines of equal value, of the fit and of the truth if that is known, the measurements and the answer."""
    box, surface = result.subject.domain, surface_of(result.subject)
    assert surface is not None
    figure, one = axes(title)
    settings, unit = grid(box)
    values = surface.values(unit)
    x, y = (settings[:, k].reshape(SIDE, SIDE) for k in (0, 1))
    levels = np.unique(np.quantile(values, [0, 0.12, 0.25, 0.4, 0.55, 0.7, 0.82, 0.92, 1]))
    better = np.linspace(0.02, 0.45, len(levels) - 1)  # darker where it is better; light enough to read what is on it
    colours = plt.get_cmap("Blues")(better if surface.sign < 0 else better[::-1])
    one.contourf(x, y, values.reshape(SIDE, SIDE), levels=levels, colors=colours)
    lines = one.contour(x, y, values.reshape(SIDE, SIDE), levels=levels[1:-1], colors=BLUE, linewidths=0.9)
    one.clabel(lines, fontsize=8, fmt="%.3g")
    if truth is not None:
        places = grid(box, truth[1])[0]
        across, up = (places[:, k].reshape(truth[1], truth[1]) for k in (0, 1))
        known = truth[0].reshape(truth[1], truth[1])
        one.contour(across, up, known, levels=levels[1:-1], colors=GREY, linewidths=0.9, linestyles="dashed")
    places, counts = np.unique(seen.round(9), axis=0, return_counts=True)
    one.scatter(
        places[:, 0],
        places[:, 1],
        s=12 + 6 * counts,
        facecolor="white",
        edgecolor="black",
        linewidth=0.8,
        zorder=3,
        clip_on=False,
    )
    low, high = np.array(result.x_ci).T
    error = np.abs(np.array([result.x - low, high - result.x]))
    one.errorbar(
        result.x[0], result.x[1], error[:, 1:2], error[:, :1], fmt="D", color=ORANGE, markersize=7, capsize=3, zorder=4
    )
    for k, knob in enumerate(box.knobs):
        label = f"{knob.name} ({knob.unit})" if knob.unit else knob.name
        (one.set_xlabel if k == 0 else one.set_ylabel)(label)
        if knob.log:
            (one.set_xscale if k == 0 else one.set_yscale)("log")
    save(figure, name)


def save(figure: Any, name: str) -> None:
    """Write a picture with few colours, which is a third of the size."""
    buffer = io.BytesIO()
    figure.savefig(buffer, dpi=100)
    Image.open(buffer).convert("RGB").quantize(128).save(HERE / name, optimize=True)
    plt.close(figure)
    print(HERE / name, (HERE / name).stat().st_size // 1000, "kB")


def reaction() -> None:
    """Fit real data: 13 runs of a chemical reaction, from a book."""
    box = Box([Knob("time", 75, 95, "min"), Knob("temperature", 165, 185, "°F")])
    with open(EXAMPLES / "laboratory" / "data" / "response_surface.csv", encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["set"] == "montgomery_11_1"]
    seen = np.array([[float(row["x1"]), float(row["x2"])] for row in rows])
    with tempfile.TemporaryDirectory() as folder, Study.open(Path(folder) / "s.db", box, maximize=True, rng=1) as study:
        for (minutes, degrees), row in zip(seen, rows, strict=True):
            study.tell(None, float(row["y"]), x={"time": float(minutes), "temperature": float(degrees)})
        result = study.recommend()
    print(result)
    surface_picture("gallery-reaction.png", "Yield of a reaction (%): 13 runs, real data", result, seen)


def store_room() -> None:
    """Simulate a store room: when to order, and how much."""
    sys.path.insert(0, str(EXAMPLES / "subprocess_simulator"))
    simulate = importlib.import_module("simulate")
    box = Box([Knob("reorder point", 84, 112, "pieces"), Knob("order quantity", 80, 140, "pieces")])
    seen: list[Vector] = []

    def cost(x: Vector, rng: np.random.Generator) -> float:
        seen.append(x.copy())
        return float(simulate.mean_cost(x[0], x[1], int(rng.integers(2**31))))

    result = paraboloid.minimize(cost, box, budget=80, rng=1)
    print(result)
    side, years = 13, 60
    truth = np.array(
        [np.mean([simulate.mean_cost(s, q, 10**6 + k) for k in range(years)]) for s, q in grid(box, side)[0]]
    )
    print("cost at the answer", np.mean([simulate.mean_cost(*result.x, 10**6 + k) for k in range(400)]))
    print("least cost on the grid", truth.min(), "at", grid(box, side)[0][truth.argmin()])
    title = "Cost of a store room (a day): 80 simulated years; dashed, the truth"
    surface_picture("gallery-store-room.png", title, result, np.array(seen), (truth, side))


def support_vectors() -> None:
    """Tune on real data: two hyper-parameters on the diabetes data, random splits as the noise."""
    features, targets = load_diabetes(return_X_y=True)
    model = make_pipeline(StandardScaler(), SVR())
    space = {"svr__C": (1, 1000, "log"), "svr__gamma": (1e-4, 1e-1, "log")}
    search = NoisySearchCV(model, space, n_iter=40, cv=5, random_state=0).fit(features, targets)
    print(search.best_params_, search.best_score_, search.best_score_se_, search.result_.caveats)
    seen = np.column_stack([search.cv_results_[f"param_{name}"] for name in space])
    side, box = 11, search.result_.subject.domain
    folds = KFold(5, shuffle=True, random_state=1)
    truth = np.array(
        [
            cross_val_score(model.set_params(svr__C=c, svr__gamma=g), features, targets, cv=folds).mean()
            for c, g in grid(box, side)[0]
        ]
    )
    title = "R² of a support vector machine: 40 times 5 folds; dashed, a grid"
    surface_picture("gallery-support-vectors.png", title, search.result_, seen, (truth, side))


def reactor() -> None:
    """Show with four knobs how the loss and its bound fall with the measurements, beside the true loss."""
    sys.path.insert(0, str(EXAMPLES / "process"))
    module = importlib.import_module("reactor")
    box = Box(
        [
            Knob("temperature", 160, 190, "°C"),
            Knob("minutes", 25, 55, "min"),
            Knob("catalyst", 0.02, 0.5, "g/L", log=True),
            Knob("flow", 1, 4, "L/min"),
        ]
    )
    rounds: list[Any] = []

    def measure(x: Vector, rng: np.random.Generator) -> float:
        return float(module.true_yield(*x) + module.NOISE * rng.standard_normal())

    rounds.append(paraboloid.maximize(measure, box, budget=1000, rng=1, callback=rounds.append))
    figure, one = axes("A reactor with four knobs: how good the answer is (loss of yield, %)")
    n = [found.nfev for found in rounds]
    true = [module.BEST_YIELD - module.true_yield(*found.x) for found in rounds]
    one.plot(n, true, "D", color=ORANGE, label="true loss")
    one.plot(n, [found.regret for found in rounds], "o-", color=BLUE, label="expected loss")
    bounds = [found.regret_bound if np.isfinite(found.regret_bound) else np.nan for found in rounds]
    one.plot(n, bounds, "s--", color=GREY, label="bound at 95 %")
    one.set(xscale="log", yscale="log", xlabel="measurements (noise of one: 2 %)")
    one.legend(frameon=False)
    print(
        [(k, round(t, 4), round(r.regret, 4), round(b, 4)) for k, t, r, b in zip(n, true, rounds, bounds, strict=True)]
    )
    save(figure, "gallery-reactor.png")


def main() -> None:
    """Draw them all."""
    for draw in (reaction, store_room, support_vectors, reactor):
        draw()


if __name__ == "__main__":
    main()
