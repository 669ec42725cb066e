"""Privacy costs (ε, δ) of runs on the same data, and their total by basic composition: the sum of
their ε at the sum of their δ. It holds whatever the runs are. A joint account of their noise would
give a smaller ε, but needs each run's settings, which a list of runs does not have.
"""

from collections.abc import Sequence
from typing import NamedTuple

from fedkin.core.errors import FedkinError, many, some
from fedkin.runs.spec import Spec
from fedkin.setup.noise_calibration import last_affordable
from fedkin.setup.privacy import facts_of

SHOWN = 10  # runs that a sentence names


class PrivacyCost(NamedTuple):
    """What a run with noise costs each client. ``epsilon``: of all its rounds; None where it is not
    known. ``noise``: in clips, in words where it is no number. ``rounds``: 0 where its record
    cannot be read, so that nothing is known of it. ``experiment``: its fingerprint, which a node
    keeps. ``again``: rounds that its server released once more, which ε counts.
    """

    run: str
    epsilon: float | None
    delta: float | None
    noise: str
    rounds: int
    experiment: str = ""
    again: int = 0


def cost_of_run(run: str, spec: Spec, again: int = 0) -> PrivacyCost:
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
    epsilon = _epsilon(spec, again)[0]
    return PrivacyCost(
        run, epsilon, privacy.delta, str(privacy.noise), spec.run.rounds, again=again
    )


def why_no_epsilon(spec: Spec) -> str:
    """Why ε is not known here of a run that has one by its specification.

    Args:
        spec: With noise.

    Returns:
        What this machine lacks, with the remedy; "" where it lacks nothing.
    """
    return _epsilon(spec)[1]


def _epsilon(spec: Spec, again: int = 0) -> tuple[float | None, str]:
    """Of all rounds; None where it is not known, and what is lacking for it, if anything is."""
    privacy = spec.privacy
    if not isinstance(privacy.noise, float) or privacy.of_samples or privacy.seeded:
        return None, ""
    try:
        facts = facts_of(spec, again=again, trained=last_affordable(spec, again))
    except FedkinError as error:  # no accountant here
        return None, str(error)
    return (None if facts is None else float(facts["epsilon"])), ""


def total_cost(runs: Sequence[PrivacyCost]) -> tuple[float, float]:
    """What runs cost together.

    Args:
        runs: Those without a known ε are left out.

    Returns:
        ε and δ.
    """
    known = [one for one in runs if one.epsilon is not None]
    return sum(one.epsilon or 0.0 for one in known), sum(one.delta or 0.0 for one in known)


def costs_in_words(runs: Sequence[PrivacyCost]) -> str:
    """Runs with noise, and their total, in words.

    Args:
        runs: At least one.

    Returns:
        How many, the ε of each, and their sum; of those without a known ε their settings.
    """
    words = [many(len(runs), "run with noise", "runs with noise")]
    known = [one for one in runs if one.epsilon is not None]
    if known:
        each = some([f"{one.epsilon:.3g} (run {one.run})" for one in known], SHOWN)
        total, delta = total_cost(runs)
        words.append(
            f"epsilon = {each}, together {total:.3g} at delta = {delta:.3g} by basic composition"
        )
    unknown = [one for one in runs if one.epsilon is None]
    if unknown:
        words.append(f"of unknown epsilon {some(map(_settings, unknown), SHOWN)}")
    return f"{words[0]}: {'; '.join(words[1:])}"


def unreadable(run: str) -> PrivacyCost:
    """A run whose record cannot be read.

    Args:
        run: Its name.

    Returns:
        Without anything that would be known of it, whether it had noise among that.
    """
    return PrivacyCost(run, None, None, "", 0)


def _settings(one: PrivacyCost) -> str:
    if not one.rounds:
        return f"run {one.run}, whose record cannot be read"
    return f"noise {one.noise}, {one.rounds} rounds (run {one.run})"
