"""The communication totals.

``unicast``: every message. ``paper``: uplinks and ONE copy of what is broadcast.
"""

from typing import Any, NamedTuple

from fedkin.core.kinds import CONTROL, KINDS
from fedkin.report.records import Run

DIRECTIONS = ("up", "down")
RULES = ("paper", "unicast")


class LedgerRow(NamedTuple):
    """Messages of one phase, direction and copy, added up."""

    phase: str
    direction: str
    first: bool  # the first copy of a broadcast (uplinks always are)
    bytes: int
    scalars: dict[str, int]


def communication(run: Run) -> dict[str, Any]:
    """{paper | unicast | setup | finish: …}: the two totals over the rounds; setup and finish stand
    beside them, and what the engine "moved" of the replies.

    Scalars under ``paper`` leave out kind "control"; its bytes are not known apart and stay in.

    Args:
        run: An open run.

    Returns:
        Scalars are counts of numbers, sizes bytes.
    """
    lines = _lines(run)
    totals: dict[str, Any] = {rule: total(lines, rule, "round") for rule in RULES}
    for phase in ("setup", "finish"):
        totals[phase] = {rule: total(lines, rule, phase) for rule in RULES}
    return {**totals, "moved": moved(run)}


def moved(run: Run) -> dict[str, int] | None:
    """{messages, bytes} that reached the coordinator in all rounds: where hosts sum, their partial
    sums; None where the run has no record of it.

    Args:
        run: An open run.

    Returns:
        Messages are a count, "bytes" bytes.
    """
    if not run.rows("SELECT 1 FROM sqlite_master WHERE name = 'moved'"):
        return None
    ((messages, size),) = run.rows(
        "SELECT coalesce(sum(messages), 0), coalesce(sum(m.bytes), 0) "
        "FROM moved m JOIN rounds r ON r.round = m.round WHERE r.phase = 'round'"
    )
    return {"messages": messages, "bytes": size}


def total(lines: list[LedgerRow], rule: str, phase: str) -> dict[str, Any]:
    """{scalars, bytes: {up, down, total}, by_kind: {kind: {up, down, total}}} of one phase under
    one rule.

    Args:
        lines: Of one run.
        rule: "paper" or "unicast".
        phase: "setup", "round" or "finish".

    Returns:
        Scalars are counts of numbers, sizes bytes.
    """
    counted = [line for line in lines if line.phase == phase and (rule == "unicast" or line.first)]
    kinds = [kind for kind in KINDS if rule == "unicast" or kind != CONTROL]
    by_kind = {
        kind: _both([(line.direction, line.scalars[kind]) for line in counted]) for kind in kinds
    }
    return {
        "scalars": {
            key: sum(by_kind[kind][key] for kind in kinds) for key in (*DIRECTIONS, "total")
        },
        "bytes": _both([(line.direction, line.bytes) for line in counted]),
        "by_kind": by_kind,
    }


def bytes_by_round(run: Run) -> dict[int, tuple[int, int]]:
    """{round: (paper bytes, unicast bytes)} of the rounds (phase "round").

    Args:
        run: An open run.

    Returns:
        Rounds without a message are left out.
    """
    query = """SELECT round, sum(CASE WHEN direction = 'up' OR copy = 0 THEN bytes ELSE 0 END),
               sum(bytes)
               FROM messages WHERE phase = 'round' GROUP BY round ORDER BY round"""
    return {at: (paper or 0, unicast or 0) for at, paper, unicast in run.rows(query)}


def _lines(run: Run) -> list[LedgerRow]:
    sums = ", ".join(f"sum({kind})" for kind in KINDS)
    query = f"""SELECT phase, direction, direction = 'up' OR copy = 0 AS first, sum(bytes), {sums}
                FROM messages GROUP BY phase, direction, first"""
    return [
        LedgerRow(
            phase,
            direction,
            bool(first),
            size or 0,
            {k: n or 0 for k, n in zip(KINDS, scalars, strict=True)},
        )
        for phase, direction, first, size, *scalars in run.rows(query)
    ]


def _both(counted: list[tuple[str, int]]) -> dict[str, int]:
    up, down = (sum(n for where, n in counted if where == direction) for direction in DIRECTIONS)
    return {"up": up, "down": down, "total": up + down}
