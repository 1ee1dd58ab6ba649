"""The benchmarks are no part of the package: their folder is put on the path for these tests."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
