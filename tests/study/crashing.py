"""What the processes do that the tests kill; a module of its own, so that they start without loading the tests."""

import json
import os
import random
import signal
import sys
import time
import warnings
from pathlib import Path

from paraboloid import Study, UsageError
from tests.store.support import say
from tests.study.support import make, measure, yield_of

BUDGET = 100_000


def ask_and_hang(path: Path, answered: int) -> None:
    study = make(path)
    trials = study.ask(3)
    measure(study, trials[:answered])
    say(path.with_name("said"), json.dumps([[trial.id, dict(trial.x)] for trial in trials]))
    time.sleep(600)


def tell_and_hang(path: Path) -> None:
    study = make(path)
    measure(study, study.ask(1))
    say(path.with_name("said"), "told")
    time.sleep(600)


def work_until_killed(path: Path, said: Path) -> None:
    """Ask and tell as fast as possible; say each value once it was taken."""
    say(said, "begun")
    with make(path, budget=BUDGET, timeout=30.0) as study:
        say(said, "opened")
        while trials := study.ask(2):
            for trial in trials:
                value = yield_of(trial.x, trial.id)
                study.tell(trial.id, value)
                say(said, f"{trial.id} {value!r}")


def interrupted_study(path: Path, graceful: bool) -> None:
    if graceful:
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(3))
    with make(path, budget=100_000) as study:
        said = False
        while trials := study.ask(2):
            measure(study, trials)
            if not said:
                say(path.with_name("said"), "begun")
                said = True


def fork_with_a_study(path: Path) -> None:
    warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.12 warns of forks with threads: that is the point
    said = path.with_name("said")
    study = make(path)
    measure(study, study.ask())
    child = os.fork()
    if child == 0:
        try:
            study.ask()
        except UsageError as error:
            say(said, f"{type(error).__name__}: {error}")
        with Study.read(path) as reader:
            say(said, f"child reads {reader.status().n_measurements}")
        try:
            make(path)
        except Exception as error:
            say(said, f"child writes {type(error).__name__}")
        study.close()  # must not let go of what the parent holds
        os._exit(0)
    os.waitpid(child, 0)
    measure(study, study.ask())
    study.close()
    say(said, "parent done")


def interrupt_at_any_moment(path: Path) -> None:
    """Interrupt asking and telling 300 times; memory and file must agree after each.

    In a process of its own: an interrupt that comes while Python collects garbage is printed and forgotten, and test
    tools take that for an error. Inside numpy one may turn into another exception.
    """
    moments, n_interrupts = random.Random(5), 0

    def interrupt(*_: object) -> None:
        nonlocal n_interrupts
        n_interrupts += 1
        raise KeyboardInterrupt

    signal.signal(signal.SIGALRM, interrupt)
    with make(path, budget=10_000) as study:
        for _ in range(300):
            before = n_interrupts
            try:
                signal.setitimer(signal.ITIMER_REAL, moments.uniform(1e-4, 4e-3))
                measure(study, study.ask(2))
                signal.setitimer(signal.ITIMER_REAL, 0.0)
            except (Exception, KeyboardInterrupt):
                signal.setitimer(signal.ITIMER_REAL, 0.0)
                if n_interrupts == before:
                    raise
            with Study.read(path) as reader:
                running = [[trial.as_dict() for trial in each.trials("RUNNING")] for each in (reader, study)]
                assert running[0] == running[1]
                assert reader._state.sequence == study._state.sequence
        assert n_interrupts > 100 and study.status().n_measurements > 0
