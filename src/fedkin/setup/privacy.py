"""[privacy]: what its noise goes through, what is said of it, what it has cost."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fedkin.core.errors import FedkinError
from fedkin.core.rng import Secret, seeded
from fedkin.engine.model_sources import ModelSources
from fedkin.runs.privacy import ClipTarget
from fedkin.runs.secret_file import secret_of
from fedkin.runs.spec import Spec
from fedkin.setup.accountant import COARSE, Mechanism, bound, epsilon, next_power
from fedkin.setup.sample_privacy import SampleCosts

OUTSIDE = ("notes", "numbers of samples")  # what clients tell beside their updates and scores
SCORES = "scores"
HELD_OUT_SCORES = "validation and test scores"  # those of training samples stay at home
# exact, and with the model wherever it goes
FITTED = "the scale of columns, pixels and labels where it was fitted to all training rows"
AGAINST = {
    "server": "whoever sees the models",
    "client": "the server too",
    "distributed": "the server too, which sees sums under masks",
}
SEES_MESSAGES = "whoever sees what clients send, the server too"
HAS_A_MODEL = "whoever is given a client's model"  # where nothing is sent
ZERO_OUT = "a client's update or none in its place (zero-out)"
LAST_ROUND = "the choice of the last round by validation scores"
AT_HOME = "models that stay at home"
SEEDED_NOISE = "NOT PRIVATE: privacy.seeded draws the noise from run.seed, which anybody may know"
SEEDED_MASKS = "NOT PRIVATE: privacy.seeded makes the keys of masks from run.seed"
PLAIN_AT_HOME = "personal models (trained without noise)"
PERSONAL = "personal models (made of their client's own rows)"


def mechanism_of(spec: Spec) -> Mechanism:
    """What each client's update goes through in a round.

    Noise at the client protects from the server, which knows who takes part: sampling adds nothing.
    Of distributed noise that counts which is surely in the sum. The relation is zero-out: a
    client's update beside none in its place. It hides what the client sent, not that it took part.

    Args:
        spec: With [privacy], whose noise is a multiplier.

    Returns:
        σ in clips, the chance of taking part, and δ.
    """
    privacy = spec.privacy
    assert isinstance(privacy.noise, float)
    assert privacy.delta is not None
    share = 1.0 if privacy.at_client else spec.run.participation
    return Mechanism(privacy.noise * privacy.surviving**0.5, share, privacy.delta)


def replacing(mechanism: Mechanism) -> Mechanism:
    """The same for a client whose data are replaced by other data: of what is noised two clipped
    updates may be twice as far apart as an update is from none.

    Args:
        mechanism: Of a client's update beside none.

    Returns:
        With half of the noise.
    """
    return mechanism._replace(noise=mechanism.noise / 2)


def check_delta_of_clients(spec: Spec, clients: int) -> None:
    """Refuse a δ with which one client could be published as it is.

    Args:
        spec: With [privacy], a multiplier or a target; where nothing or samples are protected
            nothing is refused.
        clients: Of the federation.

    Raises:
        FedkinError: δ is 1 / clients or more.
    """
    delta = spec.privacy.asked_delta
    if not spec.privacy.on or spec.privacy.of_samples or delta is None:
        return
    if delta >= 1 / clients:
        raise FedkinError(
            f"privacy.delta is {delta:g}, and must be below 1 / {clients} clients: one client "
            "could be published as it is; take 1e-5 or less"
        )


def check_privacy(spec: Spec, clients: int, sampling: str) -> None:
    """Refuse a guarantee that would say nothing, or not hold.

    Args:
        spec: With [privacy].
        clients: Of the federation.
        sampling: How participants are drawn: "uniform" or "size".

    Raises:
        FedkinError: δ is 1 / clients or more; or the server adds the noise, and clients are drawn
            by size, or how many there are decides whether the run goes on.
    """
    check_delta_of_clients(spec, clients)
    if spec.privacy.where != "server":
        return
    if sampling == "size":
        raise FedkinError(
            "[privacy]: participants are drawn by their number of samples, and the accountant "
            "knows equal chances: set run.sampling to 'uniform'"
        )
    if spec.run.participation < 1 and spec.run.min_replies > 1:
        raise FedkinError(
            f"run.min_replies is {spec.run.min_replies}: [privacy] draws in secret who takes part, "
            "and a run that ends where too few do tells how many they were, without noise: leave "
            "it out, or set run.participation to 1"
        )


def is_personal_outside(spec: Spec, made: ModelSources) -> bool:
    """Whether a client's personal model is outside of the guarantee, so that ε says nothing of who
    is given it.

    Args:
        spec: With [privacy].
        made: What the method makes it of.

    Returns:
        False where it is made of what is clipped and noised alone.
    """
    if spec.privacy.of_samples:  # where what the client keeps was noised as well
        return spec.privacy.plain_at_home or made.samples
    return made.own or made.samples


def facts_of(
    spec: Spec,
    costs: SampleCosts | None = None,
    again: int = 0,
    trained: int | None = None,
    personal_outside: bool = False,
) -> dict[str, Any] | None:
    """What the record, the report and a model's card say; None where nothing was asked for.

    Args:
        spec: With a multiplier.
        costs: Of samples, where they are protected.
        again: Rounds that the server may have released once more.
        trained: Rounds that there were, where training ended early; None: all of [run] rounds.
        personal_outside: Whether personal models are outside of it (``is_personal_outside``).

    Returns:
        Plain values: "epsilon", "delta", "noise" (σ in clips), "clip" (a norm; with "clip_quantile"
        that of the first round), "rounds", "protects", "from", "outside", "personal_outside", …;
        None where nothing was asked for.
    """
    privacy = spec.privacy
    if not privacy.on:
        return None
    last = spec.run.rounds if trained is None else trained
    facts = {
        "where": "client" if privacy.of_samples else privacy.where,
        **_clip_of(privacy.clip),
        "noise": privacy.noise,
        "delta": privacy.delta,
        "rounds": last,
        "seeded": privacy.seeded,
        "outside": outside_of(spec, personal_outside),
        "personal_outside": personal_outside,
    }
    if costs is not None:
        assert isinstance(privacy.noise, float)
        assert privacy.delta is not None
        return {
            **facts,
            "protects": "a training sample of a client",
            "from": SEES_MESSAGES if costs.sent else HAS_A_MODEL,
            "epsilon": costs.epsilon(privacy.noise, privacy.delta, last),
        }
    mechanism, rounds = mechanism_of(spec), last + again
    known = privacy.at_client  # who takes part
    return {
        **facts,
        "protects": ZERO_OUT if known else "a client, with all its data",
        "from": AGAINST[privacy.where],
        "epsilon": epsilon(mechanism, rounds),
        **({"epsilon_replaced": epsilon(replacing(mechanism), rounds)} if known else {}),
        **({"again": again} if again else {}),
    }


def _clip_of(clip: float | ClipTarget | None) -> dict[str, Any]:
    if isinstance(clip, ClipTarget):
        return {"clip": clip.start, "clip_quantile": clip.quantile}
    return {"clip": clip}


def outside_of(spec: Spec, personal_outside: bool = False) -> str:
    """What the noise does not cover, for a sentence.

    Args:
        spec: With [privacy].
        personal_outside: Whether personal models are among it (``is_personal_outside``).

    Returns:
        Words with commas between.
    """
    uncovered = [HELD_OUT_SCORES if spec.privacy.at_client else SCORES, *OUTSIDE]
    if spec.privacy.of_samples:
        uncovered.append("validation samples")
    if spec.privacy.of_samples and personal_outside:
        uncovered.append(PLAIN_AT_HOME if spec.privacy.plain_at_home else AT_HOME)
    elif personal_outside:
        uncovered.append(PERSONAL)
    if spec.run.patience is not None:
        uncovered.append(LAST_ROUND)
    return f"{', '.join(uncovered)} and {FITTED}"


def seeded_remarks(spec: Spec) -> list[str]:
    """What is said loudly of an experiment whose noise or masks protect nobody.

    Args:
        spec: The experiment.

    Returns:
        [] where neither comes from its seed.
    """
    if not spec.privacy.seeded:
        return []
    masks = spec.privacy.secure_aggregation is not None
    return [*([SEEDED_NOISE] if spec.privacy.on else []), *([SEEDED_MASKS] if masks else [])]


def remarks_of(facts: Mapping[str, Any] | None) -> list[str]:
    """One sentence of what holds, and a loud one where nothing does.

    Args:
        facts: What ``facts_of`` gives.

    Returns:
        [] where nothing was asked for.
    """
    if facts is None:
        return []
    if facts["seeded"]:
        return [SEEDED_NOISE]
    replaced = ""
    if "epsilon_replaced" in facts:
        replaced = f" ({facts['epsilon_replaced']:.3g} for other data in the place of a client's)"
    again = facts.get("again", 0)
    cut_off = f" and {again} that a server which was cut off did once more" if again else ""
    return [
        f"privacy: epsilon = {facts['epsilon']:.3g}{replaced} at delta = {facts['delta']:g} after "
        f"{facts['rounds']} rounds{cut_off}, for {facts['protects']}, against {facts['from']}; "
        f"not covered: {facts['outside']}"
    ]


def spent(
    spec: Spec,
    counts: Mapping[int, int],
    round: int,
    costs: SampleCosts | None,
    trained: int | None,
) -> dict[int, float]:
    """{client: ε so far}; under -1 what holds for every client.

    Args:
        spec: The experiment.
        counts: In how many rounds each client took part.
        round: Rounds so far.
        costs: Of samples, where they are protected.
        trained: The last round, where training ended early; None: that of [run] rounds.

    Returns:
        {client: ε}; from above.
    """
    last = spec.run.rounds if trained is None else trained
    if costs is not None:
        return _spent_by_samples(spec, counts, round, last, costs)
    mechanism = mechanism_of(spec)
    if spec.privacy.where == "server":
        return {-1: bound(mechanism, round, last)}
    return {client: bound(mechanism, count, last) for client, count in counts.items()}


def _spent_by_samples(
    spec: Spec, counts: Mapping[int, int], round: int, last: int, costs: SampleCosts
) -> dict[int, float]:
    """The largest ε of a client, under -1; after the last round beside it that of each."""
    noise, delta = spec.privacy.noise, spec.privacy.delta
    assert isinstance(noise, float)
    assert delta is not None
    if round < last:
        at = next_power(round, last)
        return {-1: costs.epsilon(noise, delta, at, COARSE) if at else 0.0}
    most = costs.epsilon(noise, delta, last)
    each = costs.each(noise, delta, counts)
    return {-1: most, **{client: min(most, value) for client, value in each.items()}}


def draws_noise(spec: Spec, deployed: bool) -> bool:
    """Whether the noise of a run is drawn from a secret in its own folder.

    Args:
        spec: The experiment.
        deployed: Whether its clients are nodes.

    Returns:
        False too where nodes add the noise, from secrets of their own.
    """
    return spec.privacy.on and not (deployed and spec.privacy.at_client)


def secret_for(spec: Spec, run: Path, again: int = 0) -> Secret:
    """The secret in a run's folder, or for tests one of the seed.

    Args:
        spec: The experiment.
        run: The folder.
        again: How often the server was cut off: each time what follows has randomness of its own.

    Returns:
        What all noise of the run is drawn from.

    Raises:
        FedkinError: The secret is gone, damaged, or readable by others.
    """
    secret = seeded(spec.run.seed) if spec.privacy.seeded else secret_of(run)
    return secret.of(f"start {again}") if again else secret
