"""Properties of every algorithm: accounting, the ball, and the symmetries of the problem."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from paraboloid.algorithms import estimate_hessian
from paraboloid.core import Experiment, Matrix, Measurements, Procedure, Result, Vector
from paraboloid.numerics import CENTRED
from paraboloid.problems import LogNormal, NoisyQuadratic, StudentT
from paraboloid.run import Record, Session, simulate
from tests.algorithms.catalogue import ALGORITHMS, Entry
from tests.support import ball_point, noisy_answer, random_hessian, rotation

seeds = st.integers(0, 2**32 - 1)
over_algorithms = pytest.mark.parametrize("entry", ALGORITHMS, ids=lambda entry: entry.name)


def random_problem(seed: int, *, largest: int = 6) -> tuple[np.random.Generator, NoisyQuadratic]:
    """Return a problem of random dimension, spectrum (some eigenvalues zero), minimiser (also on the sphere), noise."""
    rng = np.random.default_rng(seed)
    d = int(rng.integers(1, largest + 1))
    eigenvalues = 10 ** rng.uniform(-2, 3, d) * (rng.random(d) > 0.2)
    noise = rng.choice(np.array([StudentT(2.5), LogNormal(1.5)], dtype=object))
    minimiser = ball_point(rng, d, float(rng.choice([0.0, 0.5, 1.0])))
    return rng, NoisyQuadratic(random_hessian(rng, eigenvalues), minimiser, offset=rng.normal(), noise=noise)


@over_algorithms
@given(seed=seeds)
def test_at_most_budget_minus_one_measurements_all_in_the_ball(entry: Entry, seed: int) -> None:
    rng, problem = random_problem(seed)
    smallest = entry.smallest(problem.dimension)
    T = smallest + int(rng.choice([0, 1, 7, 100, 3000]))
    record = Record()
    result = simulate(entry.build(problem.hessian, T), problem, rng=seed, log=record)
    assert result.n_measurements == sum(experiment.n_measurements for experiment in record.experiments) <= T - 1
    for experiment in record.experiments:
        assert np.linalg.norm(experiment.points, axis=1).max() <= 1 + 1e-9  # the tolerance of `check_point_in_ball`
    assert np.linalg.norm(result.x) <= 1 + 1e-9


@over_algorithms
def test_twenty_dimensions_stay_in_the_ball_and_the_budget(entry: Entry) -> None:
    rng = np.random.default_rng(20)
    problem = NoisyQuadratic(random_hessian(rng, np.geomspace(1000.0, 1.0, 20)), ball_point(rng, 20, 1.0))
    T = entry.smallest(20)
    record = Record()
    result = simulate(entry.build(problem.hessian, T), problem, rng=1, log=record)
    assert result.n_measurements <= T - 1
    assert max(np.linalg.norm(experiment.points, axis=1).max() for experiment in record.experiments) <= 1 + 1e-9


@given(seeds, st.integers(1, 5), st.integers(0, 500))
def test_the_hessian_estimate_takes_at_most_its_budget_in_the_ball(seed: int, d: int, more: int) -> None:
    problem = NoisyQuadratic(np.eye(d), np.zeros(d), noise=StudentT(2.5))
    record = Record()
    estimate = simulate(estimate_hessian(d, 3 * d**2 + more), problem, rng=seed, log=record)
    assert sum(experiment.n_measurements for experiment in record.experiments) <= 3 * d**2 + more
    assert max(np.linalg.norm(experiment.points, axis=1).max() for experiment in record.experiments) <= 1 + 1e-9
    assert np.array_equal(estimate, estimate.T)


def run_on(procedure: Procedure, measure: "Measured") -> tuple[Result, list[Experiment]]:
    session = Session(procedure)
    asked = []
    while not session.is_done:
        asked.append(session.ask())
        session.tell(measure(session.ask()))
    return session.result, asked


class Measured:
    """Measurements of a problem whose noise is a fixed sequence; values may be shifted, points turned back."""

    def __init__(self, problem: NoisyQuadratic, seed: int, *, shift: float = 0.0, turn: Matrix | None = None) -> None:
        self.problem, self.rng, self.shift = problem, np.random.default_rng(seed), shift
        self.turn = np.eye(problem.dimension) if turn is None else turn

    def __call__(self, experiment: Experiment) -> Measurements:
        back = Experiment(experiment.points @ self.turn, experiment.repeats)
        answer = noisy_answer(back, self.problem, self.rng)
        assert answer.values is not None
        return Measurements.from_values([row + self.shift for row in answer.values])


@over_algorithms
@given(seed=seeds, power=st.integers(-3, 12))
def test_a_constant_added_to_all_values_changes_nothing(entry: Entry, seed: int, power: int) -> None:
    _, problem = random_problem(seed, largest=3)
    T = entry.smallest(problem.dimension) + 500
    plain, asked = run_on(entry.build(problem.hessian, T), Measured(problem, seed))
    shifted, asked_too = run_on(entry.build(problem.hessian, T), Measured(problem, seed, shift=2.0**power))
    # Values up to 2000 + 4096 lose eps of themselves; divided by λ ≥ 0.01·..., times 4, over Â that is off by as much:
    # the answer moves by less than 1e-12·4/λ; below λ ≈ 0.01 the threshold drops a direction.
    assert np.abs(plain.x - shifted.x).max() < 1e-6
    for one, other in zip(asked, asked_too, strict=True):
        assert one.same_as(other, tolerance=1e-6)


@over_algorithms
@pytest.mark.parametrize("seed", range(6))
def test_renaming_the_coordinates_renames_the_answer(entry: Entry, seed: int) -> None:
    # Without noise: directions come in another order, so that noise would fall on others.
    rng = np.random.default_rng(seed)
    d = 4
    order = rng.permutation(d)
    A, x0 = random_hessian(rng, np.geomspace(3.0, 0.6, d)), ball_point(rng, d, 0.9)
    T = 20_000
    answers: list[Vector] = []
    for hessian, minimiser in [(A, x0), (A[np.ix_(order, order)], x0[order])]:
        problem = NoisyQuadratic(hessian, minimiser, noise="noiseless")
        answers.append(simulate(entry.build(problem.hessian, T), problem, rng=0).x)
    assert np.abs(answers[0][order] - answers[1]).max() < 1e-10  # conditioned at 5; some 1000 eps of values ≤ 10


@pytest.mark.parametrize("entry", ALGORITHMS[:3], ids=lambda entry: entry.name)
@given(seed=seeds)
def test_turning_the_problem_turns_the_answer_where_the_hessian_is_given(entry: Entry, seed: int) -> None:
    rng = np.random.default_rng(seed)
    d = 3
    Q = rotation(rng, d)
    A: Matrix = random_hessian(rng, [4.0, 2.0, 1.0])  # gaps, so that eigenvectors are the same up to their sign
    problem = NoisyQuadratic(A, ball_point(rng, d, 0.8), noise="noiseless")
    turned: Matrix = Q @ A @ Q.T
    plain, _ = run_on(entry.build(A, 2000), Measured(problem, seed))
    other, _ = run_on(entry.build((turned + turned.T) / 2, 2000), Measured(problem, seed, turn=Q))
    assert np.abs(Q @ plain.x - other.x).max() < 1e-10


@given(seeds)
def test_centred_truncation_does_not_mind_a_constant_slope_that_printed_truncation_clips(seed: int) -> None:
    # λ = 400 at T₀ = 300: √300 = 17 clips the signal of 400 as printed; centred it is left alone but for the noise:
    # 100 triples of variance 6 give a deviation of 0.245; 5 is twenty of them.
    problem = NoisyQuadratic([[400.0]], [0.3])
    printed = simulate(estimate_hessian(1, 300), problem, rng=seed)
    centred = simulate(estimate_hessian(1, 300, truncation=CENTRED), problem, rng=seed)
    assert printed[0, 0] == pytest.approx(300**0.5, abs=1e-12)
    assert centred[0, 0] == pytest.approx(400.0, abs=5.0)
