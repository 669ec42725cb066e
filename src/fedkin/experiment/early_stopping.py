"""[run] patience: training ends where validation has not become better for so many evaluations.

What decides is written in run.db, so that a resumed run ends where it would have ended. The models
are those of the last round: earlier ones are not kept.
"""

import math
from collections.abc import Mapping

from fedkin.core.measures import measure_named
from fedkin.runs import bounds
from fedkin.runs.database import Database
from fedkin.runs.record import Record

VIEW, SPLIT = "personal", "val"
ROUNDS = "SELECT round FROM rounds WHERE phase = 'round' ORDER BY round"
SCORES = "SELECT client, loss, accuracy FROM metrics WHERE round = ? AND view = ? AND split = ?"
MEASURES = "SELECT client, name, value FROM measures WHERE round = ? AND view = ? AND split = ?"
IN_SCORES = {"loss": 0, "log_loss": 0, "accuracy": 1}  # their places in a client's scores
Scores = Mapping[int, tuple[float | None, float | None]]  # client → (loss, accuracy)
Named = Mapping[int, Mapping[str, float | None]]  # client → other measures by name


class EarlyStopping:
    """The best validation score so far, and for how many evaluations it has stood.

    Args:
        patience: Evaluations without a better score after which training ends; None: never.
        measure: Of the experiment: no other replaces it, also where no client has it; "auto": what
            the first evaluation's record holds.
        sizes: Validation samples of each client, its weight in the mean.
    """

    def __init__(self, patience: int | None, measure: str, sizes: Mapping[int, int]) -> None:
        self.patience, self.measure, self.sizes = patience, measure, sizes
        self.best, self.round, self.last, self.waited = math.nan, 0, 0, 0

    @property
    def over(self) -> bool:
        """Whether training ends."""
        return self.patience is not None and self.waited >= self.patience

    def last_round(self, planned: int) -> int:
        """The last round that trains, as far as it is known yet.

        Args:
            planned: How many rounds were planned.

        Returns:
            The round that ended training; where none did, the last planned one.
        """
        return self.last if self.over else planned

    def add(self, record: Record) -> None:
        """A round happened; one that was not evaluated says nothing.

        Args:
            record: What happened in the round.
        """
        if self.patience is None or record.phase != "round":
            return
        scores = {}
        for client, views in record.scores.items():
            if SPLIT in views.get(VIEW, {}):
                loss, accuracy = views[VIEW][SPLIT]
                scores[client] = bounds.loss(loss), bounds.accuracy(accuracy)
        named = {
            client: {name: bounds.loss(value) for name, value in views[VIEW][SPLIT].items()}
            for client, views in record.measures.items()
            if VIEW in views and SPLIT in views[VIEW]
        }
        if scores:
            self._judge(record.round, scores, named)

    def replay(self, database: Database) -> None:
        """Take up the committed rounds of a run that is resumed.

        Args:
            database: The run's record.
        """
        if self.patience is None:
            return
        has_measures = database.rows("SELECT 1 FROM sqlite_master WHERE name = 'measures'")
        for (round,) in database.rows(ROUNDS):  # one at a time: all of them fill the memory
            rows = database.rows(SCORES, round, VIEW, SPLIT)
            named: dict[int, dict[str, float | None]] = {}
            for client, name, value in (
                database.rows(MEASURES, round, VIEW, SPLIT) if has_measures else ()
            ):
                named.setdefault(client, {})[name] = value
            if rows:
                scores = {client: (loss, accuracy) for client, loss, accuracy in rows}
                self._judge(round, scores, named)

    def remarks(self, rounds: int) -> list[str]:
        """Why training ended before its last round, in one sentence.

        Args:
            rounds: How many were planned.

        Returns:
            [] where training went on to its last round.
        """
        if not self.over or self.last == rounds:
            return []
        was = f"was best in round {self.round} ({self.best:.4g})"
        if not self.round:
            was = "had no value in any round"
        return [
            f"training ended after round {self.last} of {rounds}: validation {self.measure} {was}, "
            f"and run.patience = {self.patience}"
        ]

    def _judge(self, round: int, scores: Scores, named: Named) -> None:
        self.measure = self.measure if self.last else self._choice(scores, named)
        self.last = round
        known = [
            (value, self.sizes.get(client, 0))
            for client, value in self._values(scores, named).items()
            if value is not None
        ]
        weight = sum(size for _, size in known)
        if not weight or self._diverged(scores):
            self.waited += 1
            return
        mean = math.fsum(value * size for value, size in known) / weight
        better = mean > self.best if measure_named(self.measure).higher else mean < self.best
        if better or math.isnan(self.best):
            self.best, self.round, self.waited = mean, round, 0
        else:
            self.waited += 1

    def _choice(self, scores: Scores, named: Named) -> str:
        """The experiment's measure; of "auto" the one that the first evaluation has."""
        if self.measure != "auto":
            return self.measure
        for one in named.values():
            for name in one:
                return name
        right = any(accuracy is not None for _, accuracy in scores.values())
        return "accuracy" if right else "loss"

    def _diverged(self, scores: Scores) -> bool:
        """Whether the loss of a client that has validation samples is no number: its model is worse
        than any, so that no mean over the others is better. Of a federation's sum the loss is none
        where that of one client is none.
        """
        return any(
            loss is None and self.sizes.get(client, 0) > 0 for client, (loss, _) in scores.items()
        )

    def _values(self, scores: Scores, named: Named) -> dict[int, float | None]:
        if self.measure in IN_SCORES:
            return {client: pair[IN_SCORES[self.measure]] for client, pair in scores.items()}
        return {client: one.get(self.measure) for client, one in named.items()}
