"""What a study concludes: the answer from all evidence, its bound withdrawn where the order of measuring matters."""

import math
from dataclasses import replace

import numpy as np

from paraboloid.algorithms import conclude
from paraboloid.core import Result
from paraboloid.numerics import order_effect
from paraboloid.study.state import State

__all__ = ["concluded", "regret_bound"]

DRIFTS = (
    "values measured one after another are more alike, or change more with time, than chance explains: something "
    "drifts, or the response is not a paraboloid over this range, and no bound holds. Repeat some early settings now "
    "and compare."
)


def concluded(state: State) -> Result:
    """Return the answer from everything that was told."""
    result = conclude(state.evidence(), state.known.domain, confidence=state.known.confidence)
    if result.certificate is None or not order_effect(*state.in_order()).is_sure:
        return result
    caveats = (*result.certificate.caveats, DRIFTS)
    return replace(result, certificate=replace(result.certificate, regret_bound=np.inf, caveats=caveats))


def regret_bound(state: State) -> float:
    """Return the bound on the regret, infinite where there is none."""
    if state.evidence().n_measurements == 0:
        return math.inf
    certificate = concluded(state).certificate
    return math.inf if certificate is None else certificate.regret_bound
