"""The pages that join all experiments: ``index.md``, and ``index.html`` with everything inside one file."""

import base64
import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from paraboloid.reproduction.figures import save_figure
from paraboloid.reproduction.workbench import Findings, Row

__all__ = ["write_experiment", "write_pages"]

MOST_ROWS = 60
"""Tables longer than this are left to the CSV in ``index.md``."""

MARKDOWN = """\
# Reproduction of the paper

Made by `{{ results.command }}` with paraboloid {{ results.versions.paraboloid }}, numpy {{ results.versions.numpy }},
in {{ (results.seconds / 60) | round(1) }} minutes. Every measurement is simulated; `results.json` has all numbers.
All intervals and bands are 95 % and come from independent runs.
{% for name, experiment in results.experiments.items() %}
## {{ experiment.title }}

![{{ experiment.title }}: {{ experiment.headline }}]({{ name }}.png)

**Expected.** {{ experiment.expected }}

**Seen.** {{ experiment.seen }}
{% for claim in experiment.claims %}
- {{ "Held" if claim.held else "**Not held**" }}: {{ claim.sentence }}.
{%- endfor %}

{{ tables[name] }}
{% endfor %}"""

HTML = """\
<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Reproduction of the paper</title>
<style>
  body { font: 16px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem; color: #222; }
  img { max-width: 100%; height: auto; }
  table { border-collapse: collapse; font-size: 0.8rem; }
  td, th { border-bottom: 1px solid #ccc; padding: 0.15rem 0.6rem; text-align: left; white-space: nowrap; }
  .wide { overflow-x: auto; }
  .held::before { content: "✓ "; color: #00735a; } .broken::before { content: "✗ "; color: #b04a00; }
  ul { list-style: none; padding: 0; }
</style>
<h1>Reproduction of the paper</h1>
<p>Made by <code>{{ results.command }}</code> with paraboloid {{ results.versions.paraboloid }}, numpy
{{ results.versions.numpy }}, in {{ (results.seconds / 60) | round(1) }} minutes. Every measurement is simulated.
All intervals and bands are 95&nbsp;% and come from independent runs.</p>
<nav><ul>{% for name, experiment in results.experiments.items() -%}
<li><a href="#{{ name }}">{{ experiment.title }}</a>: {{ experiment.headline }}</li>
{% endfor %}</ul></nav>
{% for name, experiment in results.experiments.items() %}
<h2 id="{{ name }}">{{ experiment.title }}</h2>
<p><img src="{{ images[name] }}" alt="{{ experiment.title }}: {{ experiment.headline }}"></p>
{% for word, text in (("Expected.", experiment.expected), ("Seen.", experiment.seen)) -%}
{% for paragraph in text.split("\\n\\n") -%}
<p>{% if loop.first %}<strong>{{ word }}</strong> {% endif %}{{ paragraph }}</p>
{% endfor %}{% endfor -%}
<ul>{% for claim in experiment.claims -%}
<li class="{{ 'held' if claim.held else 'broken' }}">
{{ "Held" if claim.held else "Not held" }}: {{ claim.sentence }}.</li>
{% endfor %}</ul>
<details><summary>All {{ experiment.rows | length }} rows</summary><div class="wide"><table>
<tr>{% for column in experiment.rows[0] %}<th>{{ column }}</th>{% endfor %}</tr>
{% for row in experiment.rows -%}
<tr>{% for value in row.values() %}<td>{{ value | cell }}</td>{% endfor %}</tr>
{% endfor %}</table></div></details>
{% endfor %}
</html>
"""


def write_experiment(directory: Path, name: str, findings: Findings) -> list[str]:
    """Write the figure and the table of one experiment and return the names of the files."""
    figures = save_figure(findings, directory / name)
    with (directory / f"{name}.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, fieldnames=list(findings.rows[0]))
        writer.writeheader()
        writer.writerows(findings.rows)
    return [*(path.name for path in figures), f"{name}.csv"]


def write_pages(directory: Path, results: Mapping[str, Any]) -> list[str]:
    """Write both pages for the results, whose figures are in the directory already."""
    from jinja2 import Environment, StrictUndefined

    experiments = results["experiments"]
    tables = {name: _markdown_table(name, experiment["rows"]) for name, experiment in experiments.items()}
    images = {name: _embedded((directory / f"{name}.svg").read_bytes()) for name in experiments}
    plain = Environment(undefined=StrictUndefined, keep_trailing_newline=True)  # Markdown has nothing to escape here
    escaping = Environment(undefined=StrictUndefined, autoescape=True)
    escaping.filters["cell"] = _cell
    for file, environment, template in (("index.md", plain, MARKDOWN), ("index.html", escaping, HTML)):
        page = environment.from_string(template).render(results=results, tables=tables, images=images)
        (directory / file).write_text(page, encoding="utf-8")
    return ["index.md", "index.html"]


def _embedded(svg: bytes) -> str:
    """Return an address that holds the picture itself; as an image its identifiers cannot clash with another's."""
    return "data:image/svg+xml;base64," + base64.b64encode(svg).decode("ascii")


def _markdown_table(name: str, rows: Sequence[Row]) -> str:
    if len(rows) > MOST_ROWS:
        return f"All {len(rows)} rows are in `{name}.csv`."
    lines = ["| " + " | ".join(rows[0]) + " |", "|" + "---|" * len(rows[0])]
    lines += ["| " + " | ".join(_cell(value).replace("|", "\\|") for value in row.values()) + " |" for row in rows]
    return "\n".join(lines)


def _cell(value: str | int | float) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    return f"{value:,}" if isinstance(value, int) else value
