"""How templates become pages, those of reports and of the laboratory's page: escaped, strict, with the same tables."""

from typing import Any

from paraboloid.core import UsageError

__all__ = ["template_environment"]

LONG_WORD = 14  # characters


def template_environment(package: str) -> Any:
    """Return jinja2's environment for the templates beside a package's files; ``table.html.jinja`` is there for all.

    >>> made = template_environment("paraboloid.report")
    >>> made.from_string("{{ text }} {{ text | kind }}").render(text="<b>")
    '&lt;b&gt; word'
    """
    try:
        import jinja2
    except ImportError as error:
        raise UsageError(
            'the report needs the extra "report", but jinja2 is not installed. Run: pip install "paraboloid[report]"'
        ) from error
    places = dict.fromkeys((package, "paraboloid.report"))
    made = jinja2.Environment(
        loader=jinja2.ChoiceLoader([jinja2.PackageLoader(place, ".") for place in places]),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["kind"] = _kind
    return made


def _kind(cell: str) -> str:
    """Return the class of a cell: empty, or with a word so long that it may be broken anywhere; others stay whole."""
    longest = max(map(len, cell.split(" ")), default=0)
    return "none" if longest == 0 else "long" if longest > LONG_WORD else "word"
