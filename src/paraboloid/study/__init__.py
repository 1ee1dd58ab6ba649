"""Studies: ask for trials, tell their values, and go on after whatever happened to the process."""

from paraboloid.study.outcome import Answer
from paraboloid.study.status import RunningTrial, StudyStatus
from paraboloid.study.study import Study
from paraboloid.study.trial import Trial, TrialState

__all__ = ["Answer", "RunningTrial", "Study", "StudyStatus", "Trial", "TrialState"]
