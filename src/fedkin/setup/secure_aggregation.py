"""[privacy] secure_aggregation: what server and hosts are given for it, and what is said of it."""

from functools import partial

from fedkin.core.aggregation import WeightedSum
from fedkin.core.errors import FedkinError
from fedkin.core.measures import MEASURES
from fedkin.core.method import Method
from fedkin.core.rng import seeded
from fedkin.core.system.user_code import is_user_code
from fedkin.engine.masking import Masking
from fedkin.engine.round.federation import Federation, participants_among, participants_of
from fedkin.engine.round.panel import ALL, PANEL, PARTICIPANTS, panel_size
from fedkin.masks.keys import need_cryptography
from fedkin.masks.randomness import Randomness, not_private, of_the_system
from fedkin.masks.signatures import Identity
from fedkin.masks.terms import LEAST, Bounds, usual_threshold
from fedkin.runs.spec import Spec
from fedkin.setup.privacy import SEEDED_MASKS

IN_THE_CLEAR = "numbers of samples arrive client by client"


def with_threshold(federation: Federation, spec: Spec) -> Federation:
    """The federation with the threshold of its rounds, where secure aggregation is asked for.

    Args:
        federation: Without a threshold.
        spec: The experiment.

    Returns:
        The same where nothing is asked for.

    Raises:
        FedkinError: The package cryptography is not installed: each client would fail in round 1.
    """
    threshold = threshold_of(spec, participants_of(federation))
    if threshold is None:
        return federation
    need_cryptography()
    scoring = partial(scores_threshold, spec, len(federation.infos))
    return federation._replace(threshold=threshold, scoring=scoring)


def threshold_of(spec: Spec, participants: int) -> int | None:
    """t of a round: how many participants it needs at least.

    Args:
        spec: The experiment.
        participants: Of a round.

    Returns:
        A number of clients; None where no masks are asked for.
    """
    asked = spec.privacy.secure_aggregation
    if asked is None:
        return None
    return usual_threshold(participants) if asked.threshold is None else asked.threshold


def check_clients(spec: Spec, clients: int) -> None:
    """Hold a federation of nodes with files of their own to the number that its experiment says.

    Args:
        spec: The experiment, as the node or the server has it.
        clients: How many the deployment names: the threshold follows from it, and the server could
            name as few as it likes.

    Raises:
        FedkinError: There are masks, and it is another number.
    """
    if spec.privacy.secure_aggregation is not None and clients != spec.run.clients:
        declared = "none" if spec.run.clients is None else f"{spec.run.clients:,}"
        raise FedkinError(
            f"deployment.toml names {clients:,} clients, and run.clients of experiment.toml is "
            f"{declared}, by which masks hide an update among others: set run.clients on "
            "every machine"
        )


def scores_threshold(spec: Spec, clients: int, round: int) -> int:
    """t of an evaluation: the rounds' own where it asks as many clients as a round has.

    Args:
        spec: With masks.
        clients: Of the federation.
        round: After which clients are evaluated.

    Returns:
        A number of clients.

    Raises:
        FedkinError: It asks so few that a sum would tell a score.
    """
    asked, among = (
        _scored(spec, clients, round),
        participants_among(spec.run.participation, clients),
    )
    if asked < LEAST:
        raise FedkinError(
            f"[privacy] secure_aggregation adds the scores of {LEAST} clients or more, and an "
            f"evaluation asks {asked}: set run.evaluate to {PANEL}{LEAST}, or to {ALL}"
        )
    threshold = threshold_of(spec, asked) if asked == among else None
    return usual_threshold(asked) if threshold is None else threshold


def _scored(spec: Spec, clients: int, round: int) -> int:
    """How many clients an evaluation asks."""
    if spec.run.evaluate == PARTICIPANTS:
        return participants_among(spec.run.participation, clients)
    return (None if round >= spec.run.rounds else panel_size(spec.run.evaluate)) or clients


def _scoring(spec: Spec, clients: int, round: int) -> Bounds:
    return Bounds(scores_threshold(spec, clients, round), _scored(spec, clients, round))


def check_scores(spec: Spec, federation: Federation) -> None:
    """Refuse, before training, what masks cannot add.

    Args:
        spec: The experiment.
        federation: With its threshold.

    Raises:
        FedkinError: An evaluation asks too few clients, clients are to join afterwards, or the
            measure is one's own.
    """
    if federation.threshold is not None:
        if spec.run.holdout_clients:
            raise FedkinError(
                "run.holdout_clients: who joins a finished run works alone, so that no mask hides "
                "its scores: leave it out, or privacy.secure_aggregation"
            )
        if is_user_code(spec.run.measure):
            raise FedkinError(
                f"run.measure = {spec.run.measure!r}: masks add fedkin's own measures alone: "
                f"choose {', '.join(MEASURES)}, or leave out privacy.secure_aggregation"
            )
        for round in (1, spec.run.rounds):
            scores_threshold(spec, len(federation.infos), round)


def masking_of(
    spec: Spec,
    method: Method,
    threshold: int | None,
    clients: int,
    identity: Identity | None = None,
) -> Masking | None:
    """What hides the messages of a host's clients.

    Args:
        spec: The experiment.
        method: The method that clients run.
        threshold: Of a round; None: there are no masks.
        clients: Of the federation.
        identity: Of a node, which signs its keys; None: nobody signs (simulations).

    Returns:
        None where nothing is asked for.
    """
    how = method.aggregation
    if threshold is None or not isinstance(how, WeightedSum):
        return None

    def draw(round: int, client: int) -> Randomness:
        if spec.privacy.seeded:
            return not_private(seeded(spec.run.seed), round, client)
        return of_the_system

    bounds = Bounds(threshold, participants_among(spec.run.participation, clients))
    return Masking(bounds, how, draw, identity, partial(_scoring, spec, clients))


def masking_remarks(spec: Spec, federation: Federation) -> list[str]:
    """What the record says of the server's sight, and loudly where masks hide nothing.

    Args:
        spec: The experiment.
        federation: With its threshold.

    Returns:
        [] without masks, else one sentence.
    """
    if federation.threshold is None:
        return []
    if spec.privacy.seeded:
        return [SEEDED_MASKS]
    return [
        f"secure aggregation: the server sees sums of at least {federation.threshold} of "
        f"{participants_of(federation)} updates and scores, and no update or score of a client: "
        "a score that fewer clients have is left out; "
        f"notes stay at the clients, and {IN_THE_CLEAR}"
    ]
