"""Pictures of a contest: regret against the budget, performance profiles, data profiles."""

import importlib
import math
from pathlib import Path
from typing import Any

import numpy as np

from contest.problems import kind_of
from contest.standings import OURS, Standings
from contest.tables import geometric_means

N_SHOWN = 7
"""Rivals in a picture: those with the least geometric mean on the whole."""


def _pyplot() -> Any:
    matplotlib = importlib.import_module("matplotlib")
    matplotlib.use("Agg")
    matplotlib.rcParams.update({"font.size": 9, "axes.grid": True, "grid.alpha": 0.3})
    return importlib.import_module("matplotlib.pyplot")


def _shown(of: Standings, *, is_quadratic: bool) -> list[str]:
    order = geometric_means(of, of.quadratic_cells if is_quadratic else of.other_cells)
    best = sorted((name for name in order if name != OURS), key=lambda name: order[name])
    return [OURS, *best[:N_SHOWN]]


def _style(of: Standings, name: str) -> dict[str, Any]:
    """Return colour and width of a solver's line, the same in all pictures."""
    if name == OURS:
        return {"color": "black", "linewidth": 2.2, "zorder": 5}
    names = dict.fromkeys([*_shown(of, is_quadratic=True), *_shown(of, is_quadratic=False)])
    i = list(names).index(name) - 1
    return {"color": f"C{i % 10}", "linewidth": 1.1, "linestyle": "-" if i < 10 else "--"}


def draw_convergence(of: Standings, path: Path, n_problems: int = 6) -> None:
    """Draw median and middle half of the true regret against T on the problems with most budgets, and the limit."""
    budgets: dict[str, set[int]] = {}
    for problem, T in of.regrets:
        budgets.setdefault(problem, set()).add(T)
    several = [name for name in budgets if len(budgets[name]) > 1]
    quadratic = sorted((n for n in several if kind_of(n)[1]), key=lambda n: (-len(budgets[n]), n))[: n_problems // 3]
    other = sorted((n for n in several if not kind_of(n)[1]), key=lambda n: (-len(budgets[n]), n))
    step = max(1, len(other) // (n_problems - len(quadratic)))
    chosen = [*quadratic, *other[::step][: n_problems - len(quadratic)]]
    if not chosen:
        return
    plt = _pyplot()
    figure, axes = plt.subplots(math.ceil(len(chosen) / 3), 3, figsize=(11, 3.3 * math.ceil(len(chosen) / 3)))
    labels: dict[str, Any] = {}
    for axis, problem in zip(np.ravel(axes), chosen, strict=False):
        for name in _shown(of, is_quadratic=kind_of(problem)[1]):
            lines = _curve(of, axis, problem, name)
            if lines is not None:
                labels.setdefault(name, lines)
        _draw_limit(of, axis, problem, sorted(budgets[problem]))
        axis.set(xscale="log", yscale="log", title=problem, xlabel="measurements T")
        axis.set_xticks(sorted(budgets[problem]), [str(T) for T in sorted(budgets[problem])])
        axis.set_xticks([], minor=True)
    for axis in np.ravel(axes)[len(chosen) :]:
        axis.set_axis_off()
    np.ravel(axes)[0].set_ylabel("true regret: median, middle half")
    figure.legend(labels.values(), labels.keys(), loc="lower center", ncols=6, fontsize=8)
    figure.tight_layout(rect=(0, 0.07, 1, 1))
    figure.savefig(path, dpi=90, metadata={"Software": None})
    plt.close(figure)


def _curve(of: Standings, axis: Any, problem: str, name: str) -> Any:
    found = sorted((T, list(of.regrets[p, T].get(name, {}).values())) for p, T in of.regrets if p == problem)
    found = [(T, values) for T, values in found if values]
    if not found:
        return None
    T = [budget for budget, _ in found]
    low, middle, high = np.array([np.quantile(values, [0.25, 0.5, 0.75]) for _, values in found]).T
    (line,) = axis.plot(T, middle, marker="o", markersize=3, **_style(of, name))
    axis.fill_between(T, low, high, alpha=0.12, color=line.get_color(), linewidth=0)
    return line


def _draw_limit(of: Standings, axis: Any, problem: str, budgets: list[int]) -> None:
    limits = [row["v_high"] for row in of.rows if row["problem"] == problem and "v_high" in row]
    if limits:
        axis.plot(budgets, np.mean(limits) / np.array(budgets), "k:", label="limit V*/T (of the mean)")
        axis.legend(fontsize=7)


def draw_profiles(of: Standings, path: Path) -> None:
    """Draw the performance profile (share of cells within a factor of the best) and the data profile."""
    plt = _pyplot()
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.2))
    relative, names = of.relative(of.other_cells), _shown(of, is_quadratic=False)
    factors, budgets = np.geomspace(1, 1000, 200), np.geomspace(5, 2500, 200)
    for name in names:
        values = np.array(relative.get(name, [math.inf]))
        left.plot(factors, [(values <= factor).mean() for factor in factors], label=name, **_style(of, name))
        solved = of.solved_at(name, 0.01)
        if solved.size:
            right.plot(budgets, [(solved <= budget).mean() for budget in budgets], label=name, **_style(of, name))
    left.set(xscale="log", xlabel="factor of the best solver's median regret", ylabel="share of cells", ylim=(0, 1.02))
    left.set_title("performance profile, third-party problems")
    right.set(xscale="log", xlabel="T / (d + 1)", ylabel="share of all runs")
    right.set_title("data profile: runs that left 1 % of the start's regret or less")
    right.legend(fontsize=7, loc="upper left")
    figure.tight_layout()
    figure.savefig(path, dpi=90, metadata={"Software": None})
    plt.close(figure)
