"""``paraboloid reproduce``: the paper's theorems, simulated."""

import json
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.table import Table

from paraboloid.cli.exits import exits_with_its_code
from paraboloid.reproduction import EXPERIMENTS, Size, reproduce

__all__ = ["reproduce_command"]


@click.command("reproduce")
@click.option("--quick", "size", flag_value="quick", help="A few minutes on two cores (the default).")
@click.option(
    "--full", "size", flag_value="full", help="Up to 10^8 measurements a run: about half an hour on two cores."
)
@click.option("--tiny", "size", flag_value="tiny", hidden=True, help="Seconds, for tests: the numbers mean nothing.")
@click.option(
    "--output",
    type=click.Path(path_type=Path),
    default=Path("reproduction"),
    show_default=True,
    help="Directory for figures, tables and pages. Replaced as a whole if it holds an earlier reproduction and "
    "nothing else; refused if it holds anything else.",
)
@click.option(
    "--only",
    multiple=True,
    metavar="NAME",
    help=f"Do only this experiment; may be given again. Names: {', '.join(EXPERIMENTS)}.",
)
@click.option("--workers", type=click.IntRange(min=1), show_default="one for each core", help="Number of processes.")
@click.option("--rng", type=click.IntRange(min=0), default=2023, show_default=True, metavar="SEED", help="Seed.")
@click.option("--json", "as_json", is_flag=True, help="Print the content of results.json instead of a table.")
@exits_with_its_code
def reproduce_command(
    size: str | None, output: Path, only: tuple[str, ...], workers: int | None, rng: int, as_json: bool
) -> None:
    """Reproduce the paper: one experiment per theorem, with figures, tables and what was expected and seen.

    Everything is simulated. The output holds index.html (all in one file), index.md, a PNG, an SVG and a CSV for each
    experiment, and results.json with all numbers, seeds and versions.

    \b
    Examples:
      paraboloid reproduce --quick --output reproduction
      paraboloid reproduce --full --only theorem_3 --workers 2 --output theorem_3

    \b
    Exit codes:
      0    done, whether or not the claims held
      1    a run failed: the disk is full, a worker was killed
      2    called wrongly, or the output directory holds something else
      130  interrupted with Ctrl-C; nothing was changed
    """  # noqa: D301 - as above
    results = reproduce(output, Size(size or "quick"), names=only, rng=rng, workers=workers)
    if as_json:
        click.echo(json.dumps(results, indent=1, ensure_ascii=False))
    else:
        _print_summary(results)
    click.echo(f"Written to {output}; open {output / 'index.html'}", err=True)


def _print_summary(results: dict[str, Any]) -> None:
    table = Table("experiment", "seen", "claims held", "seconds", title=f"Reproduction, {results['size']}")
    for name, experiment in results["experiments"].items():
        held = [claim["held"] for claim in experiment["claims"]]
        table.add_row(name, experiment["headline"], f"{sum(held)} of {len(held)}", f"{experiment['seconds']:g}")
    Console().print(table)
