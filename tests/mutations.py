"""Break one constant at a time and see a test fail: ``python tests/mutations.py`` prints mutation -> caught or not.

Not collected by pytest. Each mutation is a replacement of text in a copy of ``src`` that is put first on the path; the
tests of algorithms, numerics and theory run against it, after it was checked that the copy is what is imported.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TESTS = ["tests/algorithms", "tests/numerics", "tests/theory"]


@dataclass(frozen=True, slots=True)
class Mutation:
    """One wrong constant: in ``file``, the only occurrence of ``right`` becomes ``wrong``."""

    file: str
    right: str
    wrong: str


MUTATIONS = [
    Mutation(
        "algorithms/hessian_dependent.py",
        "lam**-0.5 / np.sum(lam**-0.5) * (T - 2",
        "lam**-1 / np.sum(lam**-1) * (T - 2",
    ),
    Mutation("algorithms/hessian_dependent.py", "(T - 2 * d - 1)", "(T - 2 * d - 2)"),
    Mutation("algorithms/hessian_dependent.py", "np.ceil(R / 2)", "np.floor(R / 2 + 1)"),
    Mutation("algorithms/hessian_dependent.py", "/ (2 * c.lam[k])", "/ (1.9 * c.lam[k])"),
    Mutation("algorithms/hessian_dependent.py", "(2 * c.lam**2 * c.t)", "(4 * c.lam**2 * c.t)"),
    Mutation("algorithms/hessian_estimate.py", "np.array([1.0, 1.0, -2.0])", "np.array([1.0, 1.0, -1.9])"),
    Mutation("algorithms/hessian_estimate.py", "T0 // (3 * d**2)", "T0 // (3 * d**2 + 1)"),
    Mutation("algorithms/hessian_estimate.py", "truncation.half_width(T0)", "truncation.half_width(T0 // 3)"),
    Mutation("algorithms/hessian_estimate.py", "sign * curvature / 2", "sign * curvature"),
    Mutation("algorithms/quadratic_search.py", "T**-0.2", "T**-0.25"),
    Mutation("algorithms/quadratic_search.py", "lam >= T", "lam > T"),
    Mutation("algorithms/quadratic_search.py", "(4 * np.sum(lam**-0.5))", "(5 * np.sum(lam**-0.5))"),
    Mutation("algorithms/quadratic_search.py", "(T1 - 4 * d - 1)", "(T1 - 4 * d)"),
    Mutation("algorithms/quadratic_search.py", "RADIUS = 1.5", "RADIUS = 1.4"),
    Mutation("algorithms/quadratic_search.py", "-diff / (2 * c.lam[k])", "-diff / (2.1 * c.lam[k])"),
    Mutation("algorithms/quadratic_search.py", "beta[k] = -4 /", "beta[k] = -3.9 /"),
    Mutation("algorithms/quadratic_search.py", "(e + 2 * x) / 4, (-e + 2 * x) / 4", "(e + x) / 4, (-e + x) / 4"),
    Mutation("algorithms/quadratic_search.py", "truncation.half_width(int(t))", "truncation.half_width(int(t) + 1)"),
    Mutation("algorithms/universal.py", "total_budget=T,", "total_budget=T - T0,"),
    Mutation("algorithms/universal.py", "while n**5 < T**4", "while n**5 <= T**4"),
    Mutation("numerics/truncation.py", "exponent: float = 0.5", "exponent: float = 0.49"),
    Mutation("numerics/ball.py", "along[eigenvalues == 0] = 0.0", "along[eigenvalues == 0] *= 0.5"),
    Mutation("theory/lower_bounds.py", "variance = T ** (-2 / 3)", "variance = T ** (-1 / 2)"),
    Mutation("theory/finite_budget.py", "np.cumsum(eigenvalues**-1.5)", "np.cumsum(eigenvalues**-1.0)"),
    Mutation("theory/truncation.py", "v / (4 * (m - mu))", "v / (5 * (m - mu))"),
    Mutation("theory/energy.py", "return 2 * (eigenvalue * offset)", "return (eigenvalue * offset)"),
]


def try_out(mutation: Mutation | None, scratch: Path, source: Path) -> str:
    """Return what failed first, or an empty string if nothing did; without a mutation nothing may."""
    copy = scratch / "src"
    shutil.copytree(source, copy, ignore=shutil.ignore_patterns("__pycache__"))
    if mutation is not None:
        path = copy / "paraboloid" / mutation.file
        text = path.read_text(encoding="utf-8")
        if text.count(mutation.right) != 1:
            sys.exit(f"{mutation.file} holds {mutation.right!r} {text.count(mutation.right)} times: mend the list.")
        path.write_text(text.replace(mutation.right, mutation.wrong), encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"}
    imported = subprocess.run(
        [sys.executable, "-c", "import paraboloid; print(paraboloid.__file__)"],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    if not imported.stdout.startswith(str(copy)):
        sys.exit(f"the copy in {copy} is not what is imported, but {imported.stdout}")
    # The tests of our own search are slow and see none of these constants.
    skipped = "--ignore=tests/algorithms/test_adaptive.py"
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", skipped, *TESTS]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        sys.exit(f"pytest could not run:\n{done.stdout}\n{done.stderr}")
    failed = [line for line in done.stdout.splitlines() if line.startswith("FAILED")]
    return failed[0].split(" - ")[0].rsplit("::", 1)[1] if failed else ""


def main() -> None:
    """Try every mutation; the exit code is the number that was not caught. An argument names another source tree."""
    source = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "src"
    with tempfile.TemporaryDirectory() as scratch:
        failed = try_out(None, Path(scratch).resolve(), source.resolve())
    if failed:
        sys.exit(f"{failed} fails without any mutation, so that every one would seem to be caught: mend it first.")
    missed = 0
    for mutation in MUTATIONS:
        begun = time.monotonic()
        with tempfile.TemporaryDirectory() as scratch:
            failed = try_out(mutation, Path(scratch).resolve(), source.resolve())
        missed += not failed
        verdict = f"caught by {failed}" if failed else "NOT CAUGHT"
        seconds = time.monotonic() - begun
        print(f"{mutation.file}: {mutation.right}  ->  {mutation.wrong}: {verdict} ({seconds:.0f} s)", flush=True)
    sys.exit(missed)


if __name__ == "__main__":
    main()
