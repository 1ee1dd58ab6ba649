"""``paraboloid plan``: what an accuracy costs, or what a budget buys, before or during a study."""

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import click
from rich.table import Table

from paraboloid.cli.exits import exits_with_its_code
from paraboloid.cli.printing import number, print_json, print_table
from paraboloid.cli.settings import read_settings
from paraboloid.cli.studies import read_study
from paraboloid.core import Box, Domain, UsageError, check_budget, check_positive
from paraboloid.planning import plan

__all__ = ["plan_command"]

STEPS = (4.0, 2.0, 1.0, 0.5, 0.25)
FAR = 2**60  # more measurements than anybody makes


@dataclass(frozen=True, slots=True)
class _Cost:
    """One row: so many (further) measurements, and the regret after them."""

    measurements: int
    regret: float
    regret_bound: float


@dataclass(frozen=True, slots=True)
class _Forecast:
    """Expected regret, and its bound, after n measurements; ``start`` of them are made already."""

    regret: Callable[[int], float]
    bound: Callable[[int], float]
    smallest: int
    confidence: float
    origin: str
    start: int = 0

    def cost(self, n: int) -> _Cost:
        """Return the row of n measurements."""
        return _Cost(n, self.regret(n), self.bound(n))


@click.command("plan")
@click.argument("study", type=click.Path(path_type=Path), required=False, metavar="[STUDY]")
@click.option("--eps", type=float, help="The accuracy that is wanted: f(x) minus the best value.")
@click.option("--budget", type=int, help="How many measurements can be made.")
@click.option(
    "--rise",
    "--curvature",
    "rise",
    type=float,
    multiple=True,
    help="A guess: how much worse the value gets half a range away from the best setting. Once, or for each knob.",
)
@click.option("--noise", type=float, help="A guess: standard deviation of one measurement.")
@click.option("--knobs", type=click.IntRange(min=1), help="Number of knobs, where there is no study.toml yet.")
@click.option("--confidence", type=float, default=0.95, show_default=True, help="Of the bound, for a guess.")
@click.option("--json", "as_json", is_flag=True, help="Print the rows as JSON.")
@exits_with_its_code
def plan_command(
    study: Path | None,
    eps: float | None,
    budget: int | None,
    rise: tuple[float, ...],
    noise: float | None,
    knobs: int | None,
    confidence: float,
    as_json: bool,
) -> None:
    """Say how many measurements an accuracy costs (--eps), or what accuracy a budget buys (--budget).

    Either from a guess of curvature and noise (--rise, --noise), before anything is measured; or from a STUDY (study.db
    or study.toml) that has measurements, then for further ones.

    \b
    Examples:
      paraboloid plan --knobs 2 --rise 8 --rise 4 --noise 1 --eps 0.01
      paraboloid plan study.toml --rise 8 --noise 1 --budget 40
      paraboloid plan study.db --eps 0.001

    \b
    Exit codes:
      0  done
      1  the file could not be read: it is locked, or not permitted
      2  called wrongly, or the study has too few measurements to tell
      5  the file is damaged, or of a newer version
    """  # noqa: D301 - \b is click's mark for lines that stay as they are
    if (eps is None) == (budget is None):
        raise UsageError("give --eps for what an accuracy costs, or --budget for what a number of measurements buys.")
    if rise or noise is not None:
        forecast = _from_guess(_domain(study, knobs), rise, noise, confidence)
    elif study is not None:
        forecast = _from_study(study)
    else:
        raise UsageError("give a guess (--rise and --noise), or a study that has measurements.")
    rows = _rows(forecast, eps, budget)
    if as_json:
        print_json(
            {
                "from": forecast.origin,
                "measured": forecast.start,
                "smallest": forecast.smallest,
                "confidence": forecast.confidence,
                "eps": eps,
                "budget": budget,
                "rows": [asdict(row) for row in rows],
            }
        )
    else:
        _print_rows(forecast, rows)


def _domain(study: Path | None, knobs: int | None) -> Domain:
    if study is None:
        if knobs is None:
            raise UsageError("give a study.toml, or the number of knobs by --knobs.")
        return Box([(-1.0, 1.0)] * knobs)
    if study.suffix == ".toml" or study.is_dir():
        return read_settings(study).domain
    with read_study(study) as view:
        return view.domain


def _from_guess(domain: Domain, rise: tuple[float, ...], noise: float | None, confidence: float) -> _Forecast:
    if not rise or noise is None:
        raise UsageError("a guess needs both --rise and --noise.")
    # At an accuracy far below the noise the costs are proportional to 1/eps: one plan tells them all.
    tiny = 1e-9 * noise * min(1.0, noise / max(rise)) if noise > 0 else 1.0
    made = plan(domain, eps=tiny, rise=rise if len(rise) > 1 else rise[0], sigma=noise, confidence=confidence)
    expected, certain = made.measurements * tiny, made.measurements_certain * tiny
    return _Forecast(
        lambda n: expected / n,
        lambda n: certain / n if n >= made.smallest else math.inf,
        made.smallest,
        confidence,
        f"a guess: rise {', '.join(f'{r:g}' for r in rise)}, noise {noise:g}",
    )


def _from_study(given: Path) -> _Forecast:
    with read_study(given) as view:
        status, path = view.status(), view.path
        if status.n_measurements == 0:
            raise UsageError(f"nothing has been measured in {path} yet: give a guess by --rise and --noise.")
        result, dimension = view.recommend(), view.domain.dimension
    if not (math.isfinite(result.get("regret", math.inf)) and result.regret > 0):
        raise UsageError(
            f"{path} cannot tell yet how its regret falls: {result.message} Measure more, or give a guess."
        )
    ratio = result.regret_bound / result.regret
    smallest = 1 + dimension + dimension * (dimension + 1) // 2 + 2
    return _Forecast(
        lambda n: float(result.forecast(n)),
        lambda n: ratio * float(result.forecast(n)),
        smallest,
        result.confidence,
        f"the {status.n_measurements} measurements of {path}",
        status.n_measurements,
    )


def _rows(forecast: _Forecast, eps: float | None, budget: int | None) -> list[_Cost]:
    if budget is not None:
        n = check_budget(budget, smallest=1, what_for="a plan")
        return [forecast.cost(max(1, math.ceil(n / step))) for step in STEPS]
    wanted = check_positive("eps", eps or 0.0)
    return [forecast.cost(_least(forecast, wanted * step)) for step in STEPS]


def _least(forecast: _Forecast, eps: float) -> int:
    """Return the least number of measurements whose bound (or regret, where there is no bound) is below eps."""
    has_bound = math.isfinite(forecast.bound(FAR))
    value = forecast.bound if has_bound else forecast.regret
    low, high = 0, 1
    while value(high) > eps and high < FAR:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if value(middle) > eps else (low, middle)
    return high


def _print_rows(forecast: _Forecast, rows: list[_Cost]) -> None:
    further = "further measurements" if forecast.start else "measurements"
    table = Table(
        further, "regret expected", f"regret at most ({forecast.confidence:.0%})", title=f"From {forecast.origin}"
    )
    for row in dict.fromkeys(rows):  # several steps may cost the same: the least number with a bound
        table.add_row(f"{row.measurements:,}", number(row.regret, 3), number(row.regret_bound, 3))
    print_table(table)
    if not forecast.start:
        click.echo(f"No bound can be given below {forecast.smallest} measurements.")
