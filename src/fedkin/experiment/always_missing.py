"""What a run says of clients that were asked in several rounds and are in the sum of none."""

from collections.abc import Mapping

from fedkin.core.errors import many
from fedkin.runs.database import Database

NAMED = 3  # clients that a sentence names
MISSING = (
    "SELECT e.client, count(DISTINCT e.round), min(e.text) FROM events e "
    "JOIN rounds r ON r.round = e.round WHERE e.kind = 'missing' AND r.phase = 'round' "
    "AND e.text NOT LIKE 'not scored: %' GROUP BY e.client ORDER BY e.client"
)


def always_missing(
    database: Database, names: tuple[str, ...], taken: Mapping[int, int]
) -> list[str]:
    """A sentence where clients failed in all rounds that they took part in.

    Args:
        database: Whose rounds are committed.
        names: Of the clients.
        taken: Client → in how many rounds it took part.

    Returns:
        With a reason of the first of them.
    """
    failed = [
        (client, reason)
        for client, rounds, reason in database.rows(MISSING)
        if rounds >= taken.get(client, 0)
    ]
    if not failed:
        return []
    called = [names[client] if client < len(names) else str(client) for client, _ in failed]
    more = f" and {len(called) - NAMED} more" if len(called) > NAMED else ""
    return [
        f"{many(len(failed), 'client')} failed in every round: {', '.join(called[:NAMED])}{more}; "
        f"nothing of theirs is in the result. Of {called[0]}: {failed[0][1]}"
    ]
