"""A deployment whose server adds noise, and was cut off in a round: nobody knows what it had told.

Nodes are sent a round's new model before the round is committed. Done anew, perhaps with other
clients in the sum, the round is one release more: it has noise of its own and is accounted for.
With the same noise, the difference of the two models would be what one client added to them.
"""

from typing import Any, NamedTuple

from fedkin.runs.database import Database, put_facts
from fedkin.runs.spec import Spec

AGAIN, UNDER_WAY = "released_again", "under_way"  # facts of a run


class Restarts(NamedTuple):
    """released_again: rounds that may have been released once more. stopped: what a run's record
    says of a server that ended between two rounds.
    """

    released_again: int
    stopped: dict[str, Any]


def restarts(database: Database, spec: Spec, deployed: bool) -> Restarts:
    """How often this run's server was cut off, entered before it tells anybody anything.

    Args:
        database: The run's record.
        spec: The experiment.
        deployed: Whether clients are nodes. In a simulation nothing leaves before a commit.

    Returns:
        Nothing where the server adds no noise.
    """
    if not (spec.privacy.on and deployed) or spec.privacy.at_client:
        return Restarts(0, {})
    facts = database.facts()
    again = facts.get(AGAIN, 0) + bool(facts.get(UNDER_WAY, False))
    with database.commit() as transaction:
        put_facts(transaction, {AGAIN: again, UNDER_WAY: True})
    return Restarts(again, {UNDER_WAY: False})
