"""Kill ``paraboloid run`` with SIGKILL at random moments and run it again, until it ends by itself.

``python -m tests.cli.killing STUDY.TOML KILLS SEED``. Each run is a process of its own, forked after the imports (they
take a second, in which there is nothing to kill), with no thread alive at the fork. Prints one JSON line for each run.
"""

import contextlib
import json
import os
import random
import signal
import sys
import time

from paraboloid.cli import main


def run_in_child(settings: str, errors: str) -> int:
    child = os.fork()
    if child:
        return child
    code = 70
    with contextlib.suppress(BaseException):
        descriptor = os.open(errors, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.dup2(descriptor, 1)
        os.dup2(descriptor, 2)
        try:
            main(["run", settings], prog_name="paraboloid")
        except SystemExit as left:
            code = int(left.code or 0)
    os._exit(code)


def kill_and_run_again(settings: str, kills: int, seed: int) -> None:
    moments = random.Random(seed)
    for number in range(kills + 1):
        child = run_in_child(settings, f"{settings}.errors-{number}")
        if number < kills:
            time.sleep(moments.uniform(0.0, 0.25))
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        print(json.dumps({"run": number, "code": os.waitstatus_to_exitcode(status)}), flush=True)


if __name__ == "__main__":
    kill_and_run_again(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
