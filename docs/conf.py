"""Sphinx settings: MyST pages, docstrings through autodoc, the furo theme; nothing is fetched from a network."""

import ast
import dataclasses
import inspect
import re
import textwrap
from importlib.metadata import version as installed_version

project = "Paraboloid"
author = "The Paraboloid developers"
version = release = installed_version("paraboloid")

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["_build"]
root_doc = "index"

html_theme = "furo"
html_title = f"Paraboloid {release}"
html_show_sphinx = False
html_copy_source = False

myst_enable_extensions = ["deflist"]
myst_heading_anchors = 3

default_role = "py:obj"  # our docstrings write `name` for a name
add_module_names = False
autodoc_member_order = "bysource"
napoleon_google_docstring = False
napoleon_attr_annotations = False

# Mathematics in our docstrings is plain text. Two of its signs mean something else to reStructuredText: |x| is a
# substitution there, and a star that is no emphasis (k*, x*) is half of one.
_NORM = re.compile(r"\|")
_STAR = re.compile(r"(?<![\w*])\*\w[^*]*\*(?!\w)|(?<=\w)\*(?!\*)")


def _escaped(match):
    """Leave *emphasis* as it is, and escape a lone star."""
    return match[0] if len(match[0]) > 1 else r"\*"


def _escape_mathematics(app, what, name, obj, options, lines):
    """Escape the signs above wherever they stand outside of literals and examples."""
    for index, line in enumerate(lines):
        if line.lstrip().startswith((">>>", "...")):
            continue
        parts = line.split("``")
        parts[::2] = [_STAR.sub(_escaped, _NORM.sub(r"\\|", part)) for part in parts[::2]]
        lines[index] = "``".join(parts)


def _signature_as_written(app, what, name, obj, options, signature, returns):
    """Show a signature as its source has it: the names of types and defaults, and not what they expand to."""
    if signature is None:
        return None
    if what == "class":
        tree = _source(obj)
        own = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == "__init__"]
        if own:
            return f"({_arguments(own[0])})", None
        if not dataclasses.is_dataclass(obj):
            return "", None
        fields = [node for node in tree.body if isinstance(node, ast.AnnAssign)]
        return f"({', '.join(ast.unparse(node).replace(' = ', '=') for node in fields)})", None
    if what in ("function", "method"):
        tree = _source(inspect.unwrap(obj))
        return f"({_arguments(tree)})", ast.unparse(tree.returns) if tree.returns else None
    return None


def _source(obj):
    return ast.parse(textwrap.dedent(inspect.getsource(obj))).body[0]


def _arguments(function):
    arguments = function.args
    if arguments.args and arguments.args[0].arg in ("self", "cls"):
        del arguments.args[0]
    return ast.unparse(arguments)


def setup(app):
    """Hook both in; the escaping before napoleon reads the docstrings."""
    app.connect("autodoc-process-docstring", _escape_mathematics, priority=100)
    app.connect("autodoc-process-signature", _signature_as_written)
