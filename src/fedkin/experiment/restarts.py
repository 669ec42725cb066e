"""A deployment whose server adds noise, and was cut off in a round: nobody knows what it had told.

Nodes are sent a round's new model before the round is committed. Done anew, perhaps with other
clients in the sum, the round is one release more: it has noise of its own and is accounted for.
With the same noise, the difference of the two models would be what one client added to them.
[privacy] budget pays for it: training ends as many rounds earlier.
"""

from typing import Any, NamedTuple

from fedkin.core.errors import FedkinError, many
from fedkin.experiment.run_facts import privacy_of
from fedkin.runs.database import Database, put_facts
from fedkin.setup.build import Assembled
from fedkin.setup.noise_calibration import last_affordable

AGAIN, UNDER_WAY = "released_again", "under_way"  # facts of a run


class Restarts(NamedTuple):
    """released_again: rounds that may have been released once more. stopped: what a run's record
    says of a server that ended between two rounds. last: the last round that trains, which [run]
    patience may come before.
    """

    released_again: int
    stopped: dict[str, Any]
    last: int

    def remarks(self, rounds: int, trained: int) -> list[str]:
        """Why training ended before its last round, in one sentence.

        Args:
            rounds: How many were planned.
            trained: The last one that trained.

        Returns:
            [] where it is not for what was released once more.
        """
        if trained < self.last or self.last == rounds:
            return []
        return [
            f"training ended after round {self.last} of {rounds}: privacy.budget had to pay for "
            f"{many(self.released_again, 'round')} that a server which was cut off did once more"
        ]


def restarts(database: Database, parts: Assembled, deployed: bool) -> Restarts:
    """How often this run's server was cut off, entered before it tells anybody anything; so is what
    the run costs then, for it may never come to its end.

    Args:
        database: The run's record.
        parts: The run's objects.
        deployed: Whether clients are nodes. In a simulation nothing leaves before a commit.

    Returns:
        Nothing where the server adds no noise.

    Raises:
        FedkinError: [privacy] budget has no room for the first round once more.
    """
    spec = parts.spec
    if not (spec.privacy.on and deployed) or spec.privacy.at_client:
        return Restarts(0, {}, spec.run.rounds)
    facts = database.facts()
    again, trained = facts.get(AGAIN, 0), database.last_trained()
    # after the last round nothing is released: the finish tells its model alone
    again += bool(facts.get(UNDER_WAY, False)) and trained < last_affordable(spec, again)
    # a round that is committed stays, also where an older fedkin went beyond the budget
    last = max(last_affordable(spec, again), trained)
    if last == 0:
        raise FedkinError(
            f"privacy.budget is {spec.privacy.budget:g}, which the first round has used up: its "
            "server was cut off in it, and nodes may have its model; begin another run"
        )
    cost = {"privacy": privacy_of(parts, again, last)} if again else {}
    with database.commit() as transaction:
        put_facts(transaction, {AGAIN: again, UNDER_WAY: True, **cost})
    return Restarts(again, {UNDER_WAY: False}, last)
