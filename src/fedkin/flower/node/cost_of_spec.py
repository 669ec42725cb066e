"""What a run with noise costs a node's data, by its specification alone."""

from fedkin.core.errors import FedkinError
from fedkin.report.privacy_costs import PrivacyCost, counted_epsilon
from fedkin.runs.spec import Spec
from fedkin.setup.noise_calibration import last_affordable
from fedkin.setup.privacy import facts_of


def cost_of_spec(run: str, spec: Spec, again: int = 0) -> PrivacyCost:
    """What a run costs each client, as far as its specification says it.

    Args:
        run: Its name.
        spec: With noise. Of samples the cost depends on the sizes of all clients, and noise that is
            drawn from the seed gives none.
        again: Rounds that were released once more.

    Returns:
        Without ε where it is not known, or where the extra ``privacy`` is not installed.
    """
    privacy = spec.privacy
    (epsilon, replaced), _ = _epsilon(spec, again)
    noise, rounds = str(privacy.noise), spec.run.rounds
    return PrivacyCost(run, epsilon, privacy.delta, noise, rounds, again=again, replaced=replaced)


def why_no_epsilon(spec: Spec) -> str:
    """Why ε is not known here of a run that has one by its specification.

    Args:
        spec: With noise.

    Returns:
        What this machine lacks, with the remedy; "" where it lacks nothing.
    """
    return _epsilon(spec)[1]


def _epsilon(spec: Spec, again: int = 0) -> tuple[tuple[float | None, bool], str]:
    """Of all rounds, and whether it is that of other data; None where it is not known, and what is
    lacking for it, if anything is.
    """
    privacy = spec.privacy
    if not isinstance(privacy.noise, float) or privacy.of_samples or privacy.seeded:
        return (None, False), ""
    try:
        facts = facts_of(spec, again=again, trained=last_affordable(spec, again))
    except FedkinError as error:  # no accountant here
        return (None, False), str(error)
    return counted_epsilon(facts or {}), ""
