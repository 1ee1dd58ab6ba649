"""Drivers: the only callers of ``next`` and ``send``. They measure, count, log and replay; no mathematics."""

from paraboloid.run.ask_tell import Session
from paraboloid.run.many import Runs, ScoredProblem, process_pool, progress_bar, simulate_many
from paraboloid.run.record import Record, replay
from paraboloid.run.simulate import Simulable, simulate

__all__ = [
    "Record",
    "Runs",
    "ScoredProblem",
    "Session",
    "Simulable",
    "process_pool",
    "progress_bar",
    "replay",
    "simulate",
    "simulate_many",
]
