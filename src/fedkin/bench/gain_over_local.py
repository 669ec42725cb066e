"""Gain over local training: the shares of a row's clients that federation helped and hurt."""

from collections.abc import Mapping, Sequence

from fedkin.bench.row import Row
from fedkin.bench.suite import ALONE
from fedkin.core.measures import measure_named

SAME = 1e-9  # accuracies that differ by less are equal


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
        alone: client's name → its score of local; None: there is none.

    Returns:
        A copy, whose shares are in 0..1; the same where nothing can be compared.
    """
    both = [] if alone is None else [name for name in row.clients if name in alone]
    if alone is None or not both:
        return row
    sign = measure_named(row.measure).sign
    gains = [sign * (row.clients[name] - alone[name]) for name in both]
    helped = sum(gain > SAME for gain in gains) / len(gains)
    hurt = sum(gain < -SAME for gain in gains) / len(gains)
    return row.model_copy(update={"helped": helped, "hurt": hurt})
