"""One experiment per theorem of the paper, each with a figure, a table, and a text of what was expected and seen."""

from paraboloid.reproduction.experiments import EXPERIMENTS
from paraboloid.reproduction.reproduce import reproduce
from paraboloid.reproduction.workbench import Size

__all__ = ["EXPERIMENTS", "Size", "reproduce"]
