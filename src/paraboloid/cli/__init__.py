"""The command line: parse, call, print. Results go to standard output, everything else to standard error."""

import click

from paraboloid.cli import doctor, init, planning, report, reproduction, run, serve, sheets, status

__all__ = ["main"]


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="paraboloid", prog_name="paraboloid")
def main() -> None:
    """Find the best setting of a noisy system with the fewest measurements, and know how good it is.

    \b
    Example:
      paraboloid init
      paraboloid run
    """  # noqa: D301 - \b is click's mark for lines that stay as they are


for command in (
    doctor.doctor_command,
    init.init_command,
    planning.plan_command,
    report.report_command,
    reproduction.reproduce_command,
    run.run_command,
    serve.serve_command,
    sheets.ask_command,
    sheets.export_command,
    sheets.import_command,
    sheets.tell_command,
    status.recommend_command,
    status.status_command,
):
    main.add_command(command)
