"""The short version: what a terminal and a notebook show of an answer."""

import html

from rich.console import Group
from rich.table import Table
from rich.text import Text

from paraboloid.core import doubt_about_shape
from paraboloid.report.subject import Subject
from paraboloid.report.tables import setting_table
from paraboloid.report.wording import clean, counted, number

__all__ = ["short_html", "short_table", "short_text"]

MOST_KNOBS = 12
MOST_CAVEATS = 3


def short_text(subject: Subject) -> str:
    """Return the answer in a few lines.

    >>> import paraboloid
    >>> result = paraboloid.minimize(lambda x: (x[0] - 1) ** 2, [(0, 3)], budget=30, rng=0)
    >>> print(short_text(result.subject).splitlines()[0])
    x1             1.000000  (1.000000 to 1.000000)
    """
    settings, facts = _settings(subject), _facts(subject)
    width = max([14, *(len(name) for name, *_ in settings)])
    lines = [f"{name:<{width}} {setting}  ({interval})" for name, setting, interval in settings]
    if subject.domain.dimension > MOST_KNOBS:
        lines.append(f"and {subject.domain.dimension - MOST_KNOBS} more knobs")
    lines += [f"{name:<{width}} {text}" for name, text in facts]
    return "\n".join(lines)


def short_table(subject: Subject) -> Group:
    """Return the answer as `rich` prints it: a table of the knobs, and lines below it.

    >>> import paraboloid
    >>> result = paraboloid.minimize(lambda x: (x[0] - 1) ** 2, [(0, 3)], budget=30, rng=0)
    >>> len(short_table(result.subject).renderables)
    5
    """
    table = Table("knob", "set to", f"best setting lies in ({subject.confidence:.0%})")
    for cells in _settings(subject):
        table.add_row(*(Text(cell) for cell in cells))  # as text: a name in brackets is no mark-up
    more = subject.domain.dimension - MOST_KNOBS
    rest = [Text(f"and {more} more knobs")] if more > 0 else []
    return Group(table, *rest, *(Text.assemble((f"{name:<14} ", "bold"), text) for name, text in _facts(subject)))


def short_html(subject: Subject) -> str:
    """Return the answer as a small piece of HTML for a notebook, every text escaped.

    >>> import paraboloid
    >>> result = paraboloid.minimize(lambda x: (x[0] - 1) ** 2, [(0, 3)], budget=30, rng=0)
    >>> short_html(result.subject)[:38]
    '<table><thead><tr><th scope="col">knob'
    """

    def row(cells: tuple[str, ...]) -> str:
        first, *rest = (html.escape(cell) for cell in cells)
        return f'<tr><th scope="row">{first}</th>{"".join(f"<td>{cell}</td>" for cell in rest)}</tr>'

    share = html.escape(f"{subject.confidence:.0%}")
    heads = f'<th scope="col">knob</th><th scope="col">set to</th><th scope="col">best setting lies in ({share})</th>'
    body = "".join(row(cells) for cells in _settings(subject))
    more = subject.domain.dimension - MOST_KNOBS
    rest = f"<p>and {more} more knobs</p>" if more > 0 else ""
    facts = "".join(f"<li><b>{html.escape(name)}</b>: {html.escape(text)}</li>" for name, text in _facts(subject))
    return f"<table><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>{rest}<ul>{facts}</ul>"


def _settings(subject: Subject) -> list[tuple[str, str, str]]:
    """Return name, setting and interval of the first knobs."""
    return [(row[0], row[1], row[2]) for row in setting_table(subject).rows[:MOST_KNOBS]]


def _facts(subject: Subject) -> list[tuple[str, str]]:
    """Return what else is worth a line: value, loss, counts, status, caveats."""
    assert subject.result is not None
    evidence, c = subject.evidence, subject.result.certificate
    n_failed = int(evidence.failures.sum())
    found = []
    if c is not None:
        scatter = f"one measurement scatters by {number(c.sigma, digits=3)}"
        found.append(("value", f"{number(subject.sign * c.fun, c.fun_se)} ± {number(c.fun_se, c.fun_se)}; {scatter}"))
        bound = number(c.regret_bound, digits=3)
        at_most = "no bound" if bound == "none" else f"at most {bound} at {c.confidence:.0%}"
        expected = number(c.regret, digits=3)
        found.append(("loss", f"{'not known' if expected == 'none' else f'{expected} expected'}, {at_most}"))
        doubt = doubt_about_shape(c.regret_bound, c.regret_bound_if_quadratic)
        found += [("shape", doubt)] if doubt else []
    failed = f", {n_failed:,} failed" if n_failed else ""
    found.append(("measurements", f"{evidence.n_measurements:,}{failed}, in {counted(subject.n_rounds, 'round')}"))
    found.append(("status", subject.sentence))
    caveats = () if c is None else c.caveats
    found += [("caveat", clean(caveat, 400)) for caveat in caveats[:MOST_CAVEATS]]
    if len(caveats) > MOST_CAVEATS:
        found.append(("caveat", f"and {len(caveats) - MOST_CAVEATS} more"))
    return found
