"""[privacy] secure_aggregation: what server and hosts are given for it, and what is said of it."""

from fedkin.core.aggregation import WeightedSum
from fedkin.core.method import Method
from fedkin.core.rng import seeded
from fedkin.engine.masking import Masking
from fedkin.engine.round.federation import Federation, participants_of
from fedkin.masks.randomness import Randomness, not_private, of_the_system
from fedkin.masks.signatures import Identity
from fedkin.masks.terms import usual_threshold
from fedkin.runs.spec import Spec

IN_THE_CLEAR = "scores, notes and numbers of samples arrive client by client"


def with_threshold(federation: Federation, spec: Spec) -> Federation:
    """The federation with the threshold of its rounds, where secure aggregation is asked for."""
    return federation._replace(threshold=threshold_of(spec, participants_of(federation)))


def threshold_of(spec: Spec, participants: int) -> int | None:
    """t of so many participants of a round; None where nothing is asked for."""
    asked = spec.privacy.secure_aggregation
    if asked is None:
        return None
    return usual_threshold(participants) if asked.threshold is None else asked.threshold


def masking_of(
    spec: Spec, method: Method, threshold: int | None, identity: Identity | None = None
) -> Masking | None:
    """What hides the messages of a host's clients; None where nothing is asked for. identity: of a
    node, which signs its keys.
    """
    how = method.aggregation
    if threshold is None or not isinstance(how, WeightedSum):
        return None

    def draw(round: int, client: int) -> Randomness:
        if spec.privacy.seeded:
            return not_private(seeded(spec.run.seed), round, client)
        return of_the_system

    return Masking(threshold, how, draw, identity)


def masks_said(spec: Spec, federation: Federation) -> list[str]:
    """What the record says of the server's sight, and loudly where masks hide nothing."""
    if federation.threshold is None:
        return []
    if spec.privacy.seeded:
        return ["NOT PRIVATE: privacy.seeded makes the keys of masks from run.seed"]
    return [
        f"secure aggregation: the server sees sums of at least {federation.threshold} of "
        f"{participants_of(federation)} updates, and no update; {IN_THE_CLEAR}"
    ]
