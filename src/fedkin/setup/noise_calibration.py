"""Calibrates [privacy]: a noise multiplier and a number of rounds from what is asked."""

from functools import partial

from fedkin.runs.privacy import NoiseTarget
from fedkin.runs.spec import Spec
from fedkin.setup.accountant import affordable_rounds, epsilon, noise_for
from fedkin.setup.privacy import mechanism_of


def calibrate_noise(spec: Spec) -> Spec:
    """The specification with a noise multiplier, and as many rounds as the budget allows.

    Args:
        spec: The specification.

    Returns:
        A copy whose noise is σ in clips; the same where nothing is noised, or samples are
        protected.

    Raises:
        FedkinError: The budget allows no round, or the extra ``privacy`` is not installed.
    """
    privacy = spec.privacy
    if not privacy.on or privacy.of_samples:  # what samples cost depends on the federation
        return spec
    if isinstance(privacy.noise, NoiseTarget):
        target, delta = privacy.noise.epsilon, privacy.noise.delta
        share = 1.0 if privacy.at_client else spec.run.participation
        noise = noise_for(target, delta, share, spec.run.rounds) / privacy.surviving**0.5
        privacy = privacy.model_copy(update={"noise": noise, "delta": delta})
    spec = spec.model_copy(update={"privacy": privacy})
    if privacy.budget is None:
        return spec
    return spec.replace("run", rounds=_affordable(spec, spec.run.rounds))


def last_affordable(spec: Spec, again: int) -> int:
    """The last round that [privacy] budget pays for beside those that were released once more.

    Args:
        spec: A calibrated one.
        again: Rounds that the server may have released once more.

    Returns:
        The last planned round where there is no budget, or room for all; 0: not even the first.
    """
    rounds = spec.run.rounds
    if not again:  # it was calibrated
        return rounds
    return max(0, _affordable(spec, rounds + again) - again)


def _affordable(spec: Spec, rounds: int) -> int:
    """How many of the rounds [privacy] budget pays for."""
    budget = spec.privacy.budget
    if budget is None:
        return rounds
    return affordable_rounds(partial(epsilon, mechanism_of(spec)), budget, rounds)
