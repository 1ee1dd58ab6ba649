"""How many measurements the next round of the adaptive search takes; the same for a run and for a study.

==================  ======================  ===========================================================
symbol              code                    meaning
==================  ======================  ===========================================================
T                   ``budget``              measurements that may be taken, failed ones included
n₀                  ``pilot_size``          measurements of the pilot: 2d + 1, or 2p where T ≥ 40p
n_k                 ``round_size``          measurements up to the end of round k, see `_round_end`
==================  ======================  ===========================================================
"""

import math

from paraboloid.numerics import Model, n_terms

__all__ = [
    "default_rounds",
    "equal_round",
    "even_round",
    "pilot_size",
    "planned_ahead",
    "round_size",
    "round_size_for_accuracy",
    "round_size_for_model",
]

ROUNDS = 8
GROWTH = 3.0  # of the total from round to round, after a pilot of 2p; loses nothing measurable
HORIZON = 1.5  # times p measurements are planned for, as far as the budget goes
SCARCE = 2  # times p measurements: with fewer, rounds after the pilot are of one size
MANY = 40  # times p measurements: a pilot of 2p without any thought is then a small part of the budget


def pilot_size(d: int, budget: int) -> int:
    """Return how many measurements the first round takes: few where every one counts, 2p where there are many.

    >>> pilot_size(2, 100), pilot_size(2, 1000)
    (5, 12)
    """
    p = n_terms(d)
    return min(budget, 2 * p if budget >= MANY * p else 2 * d + 1)


def default_rounds(d: int, budget: int) -> int:
    """Return the number of rounds if none is asked for.

    >>> default_rounds(2, 100), default_rounds(2, 1000)
    (8, 6)
    """
    if budget < MANY * n_terms(d):
        return ROUNDS
    return min(ROUNDS, 1 + math.ceil(math.log(budget / (2 * n_terms(d))) / math.log(GROWTH)))


def round_size(taken: int, *, d: int, budget: int, rounds: int) -> int:
    """Return how many measurements the next round takes; it ends at the first n_k beyond what was taken.

    >>> [round_size(taken, d=2, budget=100, rounds=8) for taken in (0, 5, 50)]
    [5, 7, 11]
    """
    first = pilot_size(d, budget)
    if rounds == 1 or first == budget:
        return budget - taken
    ends = (_round_end(k / (rounds - 1), first, budget, d) for k in range(rounds))
    return next((end for end in ends if end > taken), budget) - taken


def _round_end(part: float, first: int, budget: int, d: int) -> int:
    """Return n_k for this part of the rounds after the pilot: their totals, or the roots or logarithms, are even.

    Rounds below p measurements bring little, for nothing is known of some curvatures: equal rounds leave more of them
    for later. At 1.5p for twenty knobs on the ball that lowers the expected regret by a quarter. Beyond 2p quadratics
    have no preference; of other shapes more can be made if they are recognised while many rounds are left.
    """
    p = n_terms(d)
    if budget >= MANY * p:
        end: float = first * (budget / first) ** part
    elif budget > SCARCE * p:
        end = (math.sqrt(first) + part * (math.sqrt(budget) - math.sqrt(first))) ** 2
    else:
        end = first + part * (budget - first)
    return math.ceil(end - 1e-9)


def round_size_for_model(
    model: Model | None, taken: int, *, d: int, budget: int, planned: int, rounds_left: int
) -> int:
    """Return the size of the next round: as planned for a quadratic, and else so that all that are left are alike.

    >>> round_size_for_model(None, 5, d=2, budget=100, planned=8, rounds_left=7)
    7
    """
    if taken == 0 or model is None or model.is_plain:
        return round_size(taken, d=d, budget=budget, rounds=planned)
    next_size = equal_round if model.smooth is None else even_round
    return next_size(taken, budget=budget, rounds=rounds_left)


def planned_ahead(taken: int, n: int, *, d: int, left: int | None) -> int | None:
    """Return how many measurements are planned together with the next n; None from p measurements on.

    Up to p they depend on each other, and so they do on those that follow soon.

    >>> planned_ahead(5, 2, d=3, left=100), planned_ahead(5, 2, d=3, left=3), planned_ahead(10, 2, d=3, left=100)
    (8, 3, None)
    """
    p = n_terms(d)
    if taken >= p:
        return None
    ahead = max(0, math.ceil(HORIZON * p) - taken - n)
    return ahead if left is None else min(ahead, left)


def even_round(taken: int, *, budget: int, rounds: int) -> int:
    """Return the size of the next of so many rounds that lead from what was taken to the budget by equal factors.

    >>> even_round(100, budget=800, rounds=3)
    100
    """
    return min(budget - taken, max(1, math.ceil(taken * (math.exp(math.log(budget / taken) / rounds) - 1))))


def equal_round(taken: int, *, budget: int, rounds: int) -> int:
    """Return the size of the next of so many rounds of equal size that lead from what was taken to the budget.

    Where the noise is a part of the height, a round of n measurements lowers the height by a factor in proportion to n,
    whatever was measured before; the product of these factors is greatest if all rounds have the same size.

    >>> equal_round(100, budget=800, rounds=3)
    234
    """
    return math.ceil((budget - taken) / rounds)


def round_size_for_accuracy(taken: int, *, d: int, eps: float, bound: float) -> int:
    """Return the next round's size on the way to ε: what the forecast says is missing, at most as much as was taken.

    >>> round_size_for_accuracy(100, d=2, eps=0.1, bound=0.15)
    35
    """
    first = 2 * d + 1
    if taken < first:
        return first - taken
    if not math.isfinite(bound):
        return max(2, taken // 2)
    missing = taken * (bound / eps - 1)  # the bound falls like 1/n
    return max(2, math.ceil(taken / 10), min(taken, math.ceil(0.7 * missing)))
