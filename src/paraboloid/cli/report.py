"""``paraboloid report``: a study as one HTML file that anybody can read."""

from pathlib import Path

import click

from paraboloid.cli.exits import exits_with_its_code
from paraboloid.cli.printing import print_json
from paraboloid.cli.settings import study_path
from paraboloid.cli.studies import looking
from paraboloid.core import UsageError
from paraboloid.report import check_writable, html_report, study_subject, write_report

__all__ = ["report_command"]


@click.command("report")
@click.argument("study", type=click.Path(path_type=Path), default=Path("study.db"), metavar="STUDY")
@click.option(
    "--output",
    "-o",
    type=click.Path(path_type=Path, allow_dash=True),
    help="The HTML file to write, or - for standard output.",
    show_default="beside the study, with the ending .html",
)
@click.option("--worsening", type=float, help="Give tolerances for a worsening of the value by so much.")
@click.option("--force", is_flag=True, help="Replace a file even if it is no report of ours.")
@click.option("--json", "as_json", is_flag=True, help="Print where the report is and how large, as JSON.")
@exits_with_its_code
def report_command(study: Path, output: Path | None, worsening: float | None, force: bool, as_json: bool) -> None:
    """Write the report of a study: what to set, how good it is, what more would buy, what matters, what to check.

    STUDY is a study.db or the study.toml beside it. The report is one HTML file that needs no network and runs no
    script. The study may be at work; it is not disturbed. Needs the extra "report".

    \b
    Examples:
      paraboloid report
      paraboloid report study.toml --output oven.html --worsening 0.5

    \b
    Exit codes:
      0  done
      1  a file could not be read or written: locked, not permitted, the disk is full
      2  called wrongly, there is no study, or the output is a file that is no report
      5  the file is damaged, or of a newer version; see `paraboloid doctor`
    """  # noqa: D301 - \b is click's mark for lines that stay as they are
    is_standard = output is not None and str(output) == "-"
    if is_standard and as_json:
        raise UsageError("--json would stand behind the report on standard output. Give a file, or leave --json out.")
    target = study_path(study).with_suffix(".html") if output is None else output
    if not is_standard:
        check_writable(target, force=force)
    with looking(study) as view:
        text = html_report(study_subject(view), worsening=worsening)
    if is_standard:
        click.echo(text, nl=False)
        return
    where = write_report(target, text, force=force)
    if as_json:
        print_json({"path": str(where), "bytes": where.stat().st_size})
    else:
        click.echo(str(where))
