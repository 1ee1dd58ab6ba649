"""What a report says first: what stands against the answer, and what to do next, in plain words."""

import math

from scipy import stats

from paraboloid.core import Certificate
from paraboloid.report.diagnosis import LackOfFit
from paraboloid.report.subject import Subject
from paraboloid.report.surface import Surface
from paraboloid.report.wording import counted, number

__all__ = ["concerns", "next_steps", "plain_status"]

CHECKS = 5
"""Measurements that a check of the recommended setting is made of."""


def plain_status(subject: Subject) -> str:
    """Return how it stands in a sentence without the letters of programmers."""
    return _sentence(subject.sentence.replace("; x is", "; this setting is"))


def concerns(subject: Subject, misfit: LackOfFit | None) -> list[str]:
    """Return what stands against the answer, each as a sentence that says what to do."""
    found = []
    if subject.result is not None and subject.result.certificate is not None:
        found += [_sentence(caveat) for caveat in subject.result.certificate.caveats]
    if misfit is not None and misfit.chance is not None and misfit.is_sure:
        found.append(
            "The response is not quite a paraboloid over the measured range (a misfit like this comes by chance less "
            f"than once in {_times(misfit.chance)} studies): the intervals and bounds below may be too narrow. Narrow "
            "the ranges around the recommended setting and measure again there."
        )
    seen = set(found)
    found += [text for text in map(_sentence, subject.warnings) if text not in seen]
    return found


def next_steps(subject: Subject, surface: Surface | None, found: list[str], *, is_trusted: bool) -> list[str]:
    """Return what to do next, the most urgent first."""
    if surface is None or subject.result is None:
        return _without_values(subject)
    c = subject.result.certificate
    steps = ["See to the points above first: they say what to do."] if found else []
    if c is None:
        return [*steps, "This algorithm gives no bound on the loss: check the setting by measuring it several times."]
    if math.isfinite(c.regret_bound):
        steps.append(_check(c, surface))
        steps += [_worth(c, subject)] if is_trusted else []
    elif surface.is_closed_in:
        steps.append(_check(c, surface))
        steps.append("No bound is given where the noise grows with the height. For one, search the range shown below.")
    else:
        more = max(surface.fit.theta.size, subject.evidence.n_measurements // 2)
        steps.append(
            f"No bound can be given yet, so treat the setting as a first guess. A sensible next step is about "
            f"{counted(more, 'further measurement')}."
        )
    if not subject.is_over and subject.left:
        steps.append(f"The study goes on: {counted(subject.left, 'measurement')} of its budget not planned yet.")
    return steps


def _without_values(subject: Subject) -> list[str]:
    attempts = subject.evidence.n_attempts
    if attempts:
        return [
            f"All {attempts:,} attempts failed, so there is nothing to fit. See below where and why they failed, mend "
            f"the cause or move the ranges away from there, and measure again."
        ]
    return ["Measure: ask for the first settings, make the measurements, and tell their values."]


def _check(c: Certificate, surface: Surface) -> str:
    """Return how to check the recommended setting on the real system."""
    factor = float(stats.t.ppf((1 + c.confidence) / 2, max(surface.fit.freedom, 1.0)))
    half = factor * math.sqrt(c.fun_se**2 + c.sigma**2 / CHECKS)
    low, high = (number(surface.sign * c.fun + side * half, half) for side in (-1, 1))
    return (
        f"Set the knobs as above and measure {CHECKS} times: the mean should lie between {low} and {high} "
        f"({c.confidence:.0%}). If it does not, something has changed since, or the response is no paraboloid."
    )


def _worth(c: Certificate, subject: Subject) -> str:
    """Return whether more measurements are worth while."""
    if subject.eps is not None and c.regret_bound > subject.eps:
        more = c.measurements_for(subject.eps * c.regret / c.regret_bound) if c.regret > 0 else 0
        wanted = f"The wanted accuracy of {number(subject.eps)} is not reached yet"
        return f"{wanted}: {counted(more, 'further measurement')} or so will be needed."
    more = c.measurements_for(c.regret / 2) if c.regret > 0 else 0
    return (
        f"Is an expected loss of {number(c.regret, digits=2)} small enough for you? Then stop. Halving it would take "
        f"about {counted(more, 'further measurement')}."
    )


def _sentence(text: str) -> str:
    """Return a text that begins with a capital and ends with a full stop."""
    text = text.strip()
    return text if not text else text[0].upper() + text[1:] + ("" if text[-1] in ".!?" else ".")


def _times(chance: float) -> str:
    return "a million" if chance < 1e-6 else f"{10 ** math.floor(-math.log10(chance)):,}"
