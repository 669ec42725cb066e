"""[privacy]: what its noise goes through, what is said of it, what it has cost."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fedkin.core.errors import FedkinError
from fedkin.core.rng import Secret, seeded
from fedkin.runs.secret_file import secret_of
from fedkin.runs.spec import Spec
from fedkin.setup.accountant import Mechanism, bound, epsilon

OUTSIDE = "scores, notes and numbers of samples"  # what clients tell beside their updates


def mechanism_of(spec: Spec) -> Mechanism:
    """What each client's update goes through in a round.

    Noise at the client protects from the server, which knows who takes part: sampling adds nothing.
    """
    asked = spec.privacy
    assert isinstance(asked.noise, float)
    assert asked.delta is not None
    share = 1.0 if asked.where == "client" else spec.run.participation
    return Mechanism(asked.noise, share, asked.delta)


def check_privacy(spec: Spec, clients: int, sampling: str) -> None:
    """Raise FedkinError for a guarantee that would say nothing, or not hold."""
    delta = spec.privacy.delta
    assert delta is not None
    if delta >= 1 / clients:
        raise FedkinError(
            f"privacy.delta is {delta:g}, and must be below 1 / {clients} clients: one client "
            "could be published as it is; take 1e-5 or less"
        )
    if sampling == "size" and spec.privacy.where == "server":
        raise FedkinError(
            "[privacy]: participants are drawn by their number of samples, and the accountant "
            "knows equal chances: set run.sampling to 'uniform'"
        )


def facts_of(spec: Spec) -> dict[str, Any] | None:
    """What the record, the report and a model's card say; None where nothing was asked for."""
    asked = spec.privacy
    if not asked.on:
        return None
    return {
        "protects": "a client, with all its data",
        "from": "whoever sees the models" if asked.where == "server" else "the server too",
        "where": asked.where,
        "clip": asked.clip,
        "noise": asked.noise,
        "delta": asked.delta,
        "epsilon": epsilon(mechanism_of(spec), spec.run.rounds),
        "rounds": spec.run.rounds,
        "seeded": asked.seeded,
        "outside": OUTSIDE,
    }


def remarks_of(spec: Spec) -> list[str]:
    """One sentence of what holds, and a loud one where nothing does."""
    told = facts_of(spec)
    if told is None:
        return []
    if told["seeded"]:
        return ["NOT PRIVATE: privacy.seeded draws the noise from run.seed, which anybody may know"]
    return [
        f"privacy: epsilon = {told['epsilon']:.3g} at delta = {told['delta']:g} after "
        f"{told['rounds']} rounds, for a client against {told['from']}; {OUTSIDE} are outside of it"
    ]


def spent(spec: Spec, counts: Mapping[int, int], round: int) -> dict[int, float]:
    """{client: ε so far}; under -1 what holds for every client.

    Args:
        counts: In how many rounds each client took part.
        round: Rounds so far.
    """
    mechanism, last = mechanism_of(spec), spec.run.rounds
    if spec.privacy.where == "server":
        return {-1: bound(mechanism, round, last)}
    return {client: bound(mechanism, count, last) for client, count in counts.items()}


def secret_for(spec: Spec, run: Path) -> Secret:
    """The secret in a run's folder, or for tests one of the seed."""
    return seeded(spec.run.seed) if spec.privacy.seeded else secret_of(run)
