"""What a study concludes: the answer from all evidence, its bound withdrawn where the order of measuring matters."""

import math
from dataclasses import replace

import numpy as np

from paraboloid.algorithms import conclude
from paraboloid.algorithms.accuracy import Progress, progress_towards
from paraboloid.core import Result
from paraboloid.numerics import Model, modelled, order_effect
from paraboloid.study.state import State

__all__ = ["concluded", "progress"]

DRIFTS = (
    "values measured one after another are more alike, or change more with time, than chance explains: something "
    "drifts, or the response is not a paraboloid over this range, and no bound holds. Repeat some early settings now "
    "and compare."
)


def concluded(state: State, model: Model | None = None) -> Result:
    """Return the answer from everything that was told; ``model`` is that of its evidence, where it is known already."""
    result = conclude(state.evidence(), state.known.domain, confidence=state.known.confidence, model=model)
    if result.certificate is None or not order_effect(*state.in_order()).is_sure:
        return result
    caveats = (*result.certificate.caveats, DRIFTS)
    unbounded = replace(result.certificate, regret_bound=np.inf, regret_bound_if_quadratic=np.inf, caveats=caveats)
    return replace(result, certificate=unbounded)


def progress(state: State) -> Progress:
    """Return how far a study is from the accuracy that it is after: nowhere where its conclusion has no bound."""
    settings, evidence = state.known, state.evidence()
    if settings.eps is None or evidence.n_measurements == 0:
        return Progress()
    model = modelled(evidence, settings.domain.shape, True)
    certificate = concluded(state, model).certificate
    if certificate is None or math.isinf(certificate.regret_bound):
        return Progress()
    return progress_towards(settings.eps, evidence, model, settings.confidence)
