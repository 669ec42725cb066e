"""What a run did before it is resumed."""

from pathlib import Path

from fedkin.runs.database import read_only
from fedkin.runs.directory import check_own, unrecorded


def before(run: Path) -> tuple[int, int] | None:
    """Rounds done and bytes sent before a resume; None where the run is finished.

    Args:
        run: The run directory.

    Returns:
        (rounds done, bytes sent), or None.

    Raises:
        FedkinError: It is no run, or a damaged one.
    """
    if unrecorded(run):
        check_own(run)
        return 0, 0
    with read_only(run) as database:
        ((sent,),) = database.rows("SELECT coalesce(sum(bytes), 0) FROM messages")
        return None if database.facts().get("finished") else (database.last_round(), int(sent))
