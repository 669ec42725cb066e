"""Who does what in which round: the decisions that a coordinator asks for."""

from collections.abc import Callable
from functools import cache, partial
from typing import NamedTuple

from fedkin.core.method import Method
from fedkin.engine.op import EVALUATIONS, SCORING, STAGES, WORK, Op
from fedkin.engine.round.federation import Federation, participants
from fedkin.engine.round.panel import PARTICIPANTS, panel

__all__ = [
    "Draw",
    "RoundSchedule",
    "Scheduling",
    "replies_for",
    "synchronous",
]

Draw = Callable[[int], list[int]]  # round, from 1 (0: before the first) → who takes part, ascending


class RoundSchedule(NamedTuple):
    """The decisions of a run's rounds, each a function of the round's number alone.

    So a resumed run decides as the interrupted one did. Client numbers are ascending.
    """

    introduced: Callable[[], list[int]]  # who sends a setup message before the first round
    participants: Draw
    evaluated: Callable[[int, bool], list[int]]  # round, whether it is the last → who is evaluated
    replies_needed: Callable[[int], int]  # round → with fewer usable replies it ends the run


Scheduling = Callable[[Method, Federation], RoundSchedule]


def synchronous(method: Method, federation: Federation, draw: Draw | None = None) -> RoundSchedule:
    """Rounds of a drawn share of the clients, all of whom answer the same server state.

    Args:
        method: Its ``needs`` say who is introduced, and whether clients are drawn by size.
        federation: Its clients and its settings of [run].
        draw: Who takes part in a round, in place of the draw from the run's seed.

    Returns:
        What [run] participation, evaluate, evaluate_every and min_replies ask for.
    """
    draw = draw or partial(participants, method, federation)
    everyone = sorted(federation.infos)

    def introduced() -> list[int]:
        if method.needs.introduction == "none":
            return []
        return everyone if method.needs.introduction == "everyone" else draw(0)

    @cache
    def fixed() -> list[int]:
        return panel(federation.evaluate, everyone, federation.seed)

    def evaluated(number: int, last: bool) -> list[int]:
        if not last and number % federation.evaluate_every:
            return []
        if federation.evaluate == PARTICIPANTS:
            return draw(number)
        return everyone if last else fixed()

    return RoundSchedule(introduced, draw, evaluated, lambda number: federation.min_replies)


def replies_for(op: Op, number: int, schedule: RoundSchedule, federation: Federation) -> int:
    """How many replies to one op a run needs, so that it can go on.

    Args:
        op: What clients are asked.
        number: Of the round.
        schedule: Says it of the work of a round.
        federation: Its thresholds, where masks hide updates and scores.

    Returns:
        A number of clients; 0 where the run goes on without any reply.
    """
    if op == WORK or (op in STAGES and federation.masked):
        return max(schedule.replies_needed(number), federation.threshold or 0)
    if op in (*EVALUATIONS, *SCORING) and federation.scoring is not None:
        return federation.scoring(number)
    return 0
