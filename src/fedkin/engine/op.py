"""What a host can be asked, by name, and what it answers.

The names are never changed: they are in what passes over a network, and a client's dropout is
seeded with them.
"""

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

from fedkin.engine.evaluation import Evaluation

# after a client's work, and after its evaluation, under masks: which numbers it has are counted
# before any of them is asked for
Stage = Literal["shares", "masked", "agree", "reveal"]
CountStage = Literal["count_shares", "count_masked", "count_agree", "count_reveal"]
ScoreStage = Literal["score_shares", "score_masked", "score_agree", "score_reveal"]
Opening = Literal["score_keys"]
ScoringStage = Literal[CountStage, Opening, ScoreStage]
# … of a node over a network as well
RemoteOp = Literal["introduce", "local", Stage, "finish", "evaluate", "evaluate_all", ScoringStage]
# … of a host on the same machine alone: what a client's models are
Op = Literal[RemoteOp, "views"]

# The third of each is asked where clients have identities alone: what they sign there
STAGES: tuple[Stage, Stage, Stage, Stage] = ("shares", "masked", "agree", "reveal")
COUNT_STAGES: tuple[CountStage, CountStage, CountStage, CountStage] = (
    "count_shares",
    "count_masked",
    "count_agree",
    "count_reveal",
)
OPENING: Opening = "score_keys"  # begins the sum of the numbers that enough clients have
SCORE_STAGES: tuple[ScoreStage, ScoreStage, ScoreStage, ScoreStage] = (
    "score_shares",
    "score_masked",
    "score_agree",
    "score_reveal",
)
SCORING: tuple[ScoringStage, ...] = (*COUNT_STAGES, OPENING, *SCORE_STAGES)
WORK: RemoteOp = "local"
LAST: RemoteOp = "evaluate_all"  # what a client is asked when its model is done
EVALUATIONS: tuple[RemoteOp, ...] = ("evaluate", LAST)
CHANGING: tuple[RemoteOp, ...] = (WORK, "finish")  # what leaves another personal state
# Making a model may train it: what is shown, kept and exported is what was evaluated at the end
DRAWN: dict[Op, Op] = {"views": LAST}


class Task(NamedTuple):
    """One thing that a client is asked to do in a round, with the message that came for it.

    ``trained``: the last round that trained, where training ended before the round's number says
    so: the work has the learning rate of the round after it.
    """

    client: int
    message: bytes | None
    trained: int | None = None


class TaskResult(NamedTuple):
    """What a client did: its message up (or why there is none), and what the record keeps of it."""

    client: int
    message: bytes | None = None
    weight: float = 0.0
    error: str | None = None
    record: Evaluation = Evaluation()
    seconds: float = 0.0
    kept: bool = False  # it left a personal state
    # its message stays for a sum: "scalars" by kind, "bytes", and "largest", its largest by kind
    held: Mapping[str, Any] | None = None
    version: int | None = None  # of the server's state that it answers: rounds that state has seen
    reached: bool = True  # its task was sent to it, whatever came back
