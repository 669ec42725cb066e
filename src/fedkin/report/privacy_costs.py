"""Privacy costs (ε, δ) of runs on the same data, and their total by basic composition: the sum of
their ε at the sum of their δ. It holds whatever the runs are. A joint account of their noise would
give a smaller ε, but needs each run's settings, which a list of runs does not have.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from fedkin.core.errors import FedkinError, many, some
from fedkin.runs.database import read_only

SHOWN = 10  # runs that a sentence names


class PrivacyCost(NamedTuple):
    """What a run with noise costs each client. ``epsilon``: of all its rounds; None where it is not
    known. ``noise``: in clips, in words where it is no number. ``rounds``: 0 where its record
    cannot be read, so that nothing is known of it. ``experiment``: its fingerprint, which a node
    keeps. ``again``: rounds that its server released once more, which ε counts. ``replaced``:
    whether ε is that of other data in the place of a client's, as where clients add the noise: it
    is known there who takes part.
    """

    run: str
    epsilon: float | None
    delta: float | None
    noise: str
    rounds: int
    experiment: str = ""
    again: int = 0
    replaced: bool = False


def counted_epsilon(facts: Mapping[str, Any]) -> tuple[Any, bool]:
    """What is added up of a run: the larger ε, where its facts have two.

    Args:
        facts: The run's fact "privacy".

    Returns:
        ε, and whether it is that of other data in the place of a client's.
    """
    replaced = facts.get("epsilon_replaced")
    return (facts.get("epsilon"), False) if replaced is None else (replaced, True)


def cost_of_record(run: str, folder: Path, wait: float | None = None) -> PrivacyCost | None:
    """What a run has cost, by its record.

    Args:
        run: Its name.
        folder: Of the run, which has a record.
        wait: Seconds for who holds it; None: as long as any reader waits.

    Returns:
        With the ε of all rounds that it was to have, or had; None of a run without noise. One whose
        record is damaged or locked may have had some.
    """
    try:
        with read_only(folder, wait) as database:
            facts = database.facts().get("privacy")
    except (FedkinError, OSError):  # no old run keeps a new one from its start
        return unreadable(run)
    return _of(run, facts) if facts else None


def _of(run: str, facts: Any) -> PrivacyCost:
    """Noise of the seed, which anybody may know, gives no ε."""
    if not isinstance(facts, Mapping):
        return unreadable(run)
    epsilon, replaced = counted_epsilon(facts)
    delta, rounds = facts.get("delta"), facts.get("rounds")
    if not (_perhaps_number(epsilon) and _perhaps_number(delta) and isinstance(rounds, int)):
        return unreadable(run)
    known, noise = None if facts.get("seeded") else epsilon, str(facts.get("noise"))
    return PrivacyCost(run, known, delta, noise, rounds, replaced=replaced)


def _perhaps_number(value: object) -> bool:
    return value is None or isinstance(value, int | float)


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
        How many, the ε of each, and the sum of those that are known; of the others their settings.
    """
    words = [many(len(runs), "run with noise", "runs with noise")]
    known = [one for one in runs if one.epsilon is not None]
    if known:
        each = some([f"{one.epsilon:.3g} (run {one.run})" for one in known], SHOWN)
        total, delta = total_cost(runs)
        said = f"epsilon = {each}, together {total:.3g} at delta = {delta:.3g} by basic composition"
        if any(one.replaced for one in known):
            said += ", each for other data in the place of a client's where clients add the noise"
        words.append(said)
    unknown = [one for one in runs if one.epsilon is None]
    if unknown:
        said = f"of unknown epsilon {some(map(_settings, unknown), SHOWN)}"
        words.append(f"{said}, so that nobody knows the sum of all" if known else said)
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


def costs_as_json(runs: Sequence[PrivacyCost]) -> dict[str, Any] | None:
    """What ``costs_in_words`` says, as plain values.

    Args:
        runs: With noise.

    Returns:
        None where there are none. Totals are None where the cost of one run is unknown.
    """
    if not runs:
        return None
    unknown = any(one.epsilon is None for one in runs)
    epsilon, delta = (None, None) if unknown else total_cost(runs)
    each = [{"run": one.run, "epsilon": one.epsilon, "delta": one.delta} for one in runs]
    return {"runs": each, "epsilon": epsilon, "delta": delta}
