"""Drivers: the only callers of ``next`` and ``send``. They measure, count, log and replay; no mathematics."""

from paraboloid.run.ask_tell import Session
from paraboloid.run.block import Block, measure_block
from paraboloid.run.errors import ExecutorLost, TooManyFailures
from paraboloid.run.many import Runs, ScoredProblem, process_pool, progress_bar, simulate_many
from paraboloid.run.parallel import Crew, Outcome
from paraboloid.run.record import Record, replay
from paraboloid.run.rounds import Measurer
from paraboloid.run.simulate import Simulable, simulate
from paraboloid.run.worker import Job

__all__ = [
    "Block",
    "Crew",
    "ExecutorLost",
    "Job",
    "Measurer",
    "Outcome",
    "Record",
    "Runs",
    "ScoredProblem",
    "Session",
    "Simulable",
    "TooManyFailures",
    "measure_block",
    "process_pool",
    "progress_bar",
    "replay",
    "simulate",
    "simulate_many",
]
