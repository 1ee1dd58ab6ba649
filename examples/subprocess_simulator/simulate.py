"""A stochastic simulator as a program of its own: a store room with uncertain demand, for one year.

``python simulate.py --reorder-point 120 --order-quantity 90 --seed 1`` prints the mean cost of a day on its last line.
Any program in any language can stand in its place: Paraboloid starts it and reads the last number that it prints.
"""

import argparse
import random

DEMAND, SPREAD = 20.0, 8.0  # of a day: mean and standard deviation
LEAD_TIME = 5  # days from order to delivery
COST_OF_ORDER, COST_OF_HOLDING, COST_OF_SHORTAGE = 100.0, 0.5, 4.0


def mean_cost(reorder_point: float, order_quantity: float, seed: int, days: int = 365) -> float:
    """Return the mean cost of a day: holding what is there, missing what is not, and ordering."""
    chance = random.Random(seed)
    stock, deliveries, cost = reorder_point + order_quantity / 2, dict[int, float](), 0.0
    for day in range(days):
        stock += deliveries.pop(day, 0.0)
        stock -= max(0.0, chance.gauss(DEMAND, SPREAD))
        cost += COST_OF_HOLDING * max(0.0, stock) + COST_OF_SHORTAGE * max(0.0, -stock)
        if stock + sum(deliveries.values()) < reorder_point:
            deliveries[day + LEAD_TIME] = order_quantity
            cost += COST_OF_ORDER
    return cost / days


def main() -> None:
    """Simulate once, and print the cost."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--reorder-point", type=float, required=True)
    parser.add_argument("--order-quantity", type=float, required=True)
    parser.add_argument("--seed", type=int, required=True)
    given = parser.parse_args()
    print(f"simulating 365 days from seed {given.seed}")
    print(f"mean cost of a day: {mean_cost(given.reorder_point, given.order_quantity, given.seed)!r}")


if __name__ == "__main__":
    main()
