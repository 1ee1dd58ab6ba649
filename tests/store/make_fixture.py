"""Make the fixture of the schema as it is now: ``python -m tests.store.make_fixture``; run once for each version.

A fixture is never made anew: it is what a release has left on people's disks.
"""

import sys
from pathlib import Path

from paraboloid.store import VERSION
from tests.study.support import make, measure

if __name__ == "__main__":
    target = Path(__file__).parent / "fixtures" / f"version-{VERSION}.study"
    if target.exists():
        sys.exit(f"{target} exists and is kept")
    with make(target) as study:
        measure(study, study.ask(12))
