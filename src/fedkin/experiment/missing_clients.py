"""What a run says of clients that were asked and are not in the sum: of some in any round, or of
most in most rounds.
"""

import json
from collections.abc import Mapping

from fedkin.core.errors import many
from fedkin.runs.database import Database
from fedkin.runs.record import NOT_SCORED

NAMED = 3  # clients that a sentence names
MISSING = (
    "SELECT e.client, count(DISTINCT e.round), min(e.text) FROM events e "
    "JOIN rounds r ON r.round = e.round WHERE e.kind = 'missing' AND r.phase = 'round' "
    f"AND e.text NOT LIKE '{NOT_SCORED}%' GROUP BY e.client ORDER BY e.client"
)
ROUNDS = (
    "SELECT r.participants, count(DISTINCT e.client) FROM rounds r "
    "LEFT JOIN events e ON e.round = r.round AND e.kind = 'missing' "
    f"AND e.text NOT LIKE '{NOT_SCORED}%' WHERE r.phase = 'round' GROUP BY r.round"
)


def always_missing(
    database: Database, names: tuple[str, ...], rounds_of: Mapping[int, int]
) -> list[str]:
    """A sentence where clients failed in all rounds that they took part in.

    Args:
        database: Whose rounds are committed.
        names: Of the clients.
        rounds_of: Client → in how many rounds it took part.

    Returns:
        With a reason of the first of them.
    """
    failed = [
        (client, reason)
        for client, rounds, reason in database.rows(MISSING)
        if rounds >= rounds_of.get(client, 0)
    ]
    if not failed:
        return []
    called = [names[client] if client < len(names) else str(client) for client, _ in failed]
    more = f" and {len(called) - NAMED} more" if len(called) > NAMED else ""
    return [
        f"{many(len(failed), 'client')} failed in every round: {', '.join(called[:NAMED])}{more}; "
        f"nothing of theirs is in the result. Of {called[0]}: {failed[0][1]}"
    ]


def mostly_missing(database: Database) -> list[str]:
    """A sentence where in most rounds most of the clients that were asked failed: such a run ends
    as any other.

    Args:
        database: Whose rounds are committed.

    Returns:
        With the key by which a run ends in place of going on so.
    """
    rounds = list(database.rows(ROUNDS))
    lacking = sum(2 * missing > len(json.loads(asked)) for asked, missing in rounds)
    if 2 * lacking <= len(rounds):
        return []
    return [
        f"in {lacking} of {many(len(rounds), 'round')} most of the clients that were asked were "
        "missing: the result is of the others; run.min_replies ends a run that has fewer replies"
    ]
