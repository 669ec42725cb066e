"""Gain over local training: the shares of a row's clients that federation helped and hurt."""

from collections.abc import Mapping, Sequence

from fedkin.bench.row import Row
from fedkin.bench.suite import ALONE
from fedkin.core.measures import gain_on


def with_gain_over_local(
    rows: Sequence[Row], local_digest: str | None, all_rows: Sequence[Row]
) -> list[Row]:
    """The rows with the shares of clients that are better and worse than alone, under the same
    seed.

    Args:
        rows: Of one method on a setting.
        local_digest: The digest of local's search; None: there is none.
        all_rows: All rows that there are.

    Returns:
        Copies; those of local stay as they are.
    """
    alone = {row.seed: row.clients for row in all_rows if row.case == local_digest and row.clients}
    return [
        with_helped_and_hurt(row, alone.get(row.seed)) if row.method != ALONE else row
        for row in rows
    ]


def with_helped_and_hurt(row: Row, alone: Mapping[str, float] | None) -> Row:
    """The row with ``helped`` and ``hurt``, where it has clients that ``alone`` has too.

    Args:
        row: Of one run.
        alone: {client's number, as text: its score of local}; None: there is none.

    Returns:
        A copy, whose shares are in 0..1; the same where nothing can be compared.
    """
    found = gains(row, alone or {})
    if not found:
        return row
    helped = sum(gain > 0 for gain in found) / len(found)
    return row.model_copy(update={"helped": helped, "hurt": hurt(found)})


def gains(row: Row, alone: Mapping[str, float]) -> list[float]:
    """How much better off each client is than alone; those that ``alone`` lacks are left out.

    Args:
        row: Of one run.
        alone: {client's number, as text: its score of local}.

    Returns:
        In the measure's unit, above 0 where the row is better, and 0 where only rounding differs.
    """
    return [
        gain_on(row.measure, value, alone[name])
        for name, value in row.clients.items()
        if name in alone
    ]


def hurt(gained: Sequence[float]) -> float:
    """The share of clients that are worse off than alone.

    Args:
        gained: As ``gains`` has them, of at least one client.

    Returns:
        In 0..1.
    """
    return sum(gain < 0 for gain in gained) / len(gained)
