"""All experiments by name."""

from collections.abc import Callable

from paraboloid.reproduction.energy import energy
from paraboloid.reproduction.quantisation import quantisation
from paraboloid.reproduction.rank_deficient import rank_deficient
from paraboloid.reproduction.theorem_1 import theorem_1
from paraboloid.reproduction.theorem_2 import theorem_2
from paraboloid.reproduction.theorem_3 import theorem_3
from paraboloid.reproduction.truncation import truncation
from paraboloid.reproduction.workbench import Findings, Workbench

__all__ = ["EXPERIMENTS"]

EXPERIMENTS: dict[str, Callable[[Workbench], Findings]] = {
    "theorem_1": theorem_1,
    "theorem_2": theorem_2,
    "theorem_3": theorem_3,
    "rank_deficient": rank_deficient,
    "energy": energy,
    "truncation": truncation,
    "quantisation": quantisation,
}
"""From an experiment's name to the function that does it, in the order of the page."""
