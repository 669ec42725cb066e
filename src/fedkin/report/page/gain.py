"""What a run is worth to its clients: each client's gain on what needs no federation."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from fedkin.core.errors import FedkinError
from fedkin.core.measures import ASIDE, gain_on
from fedkin.report.comparison.paired import possible_ends
from fedkin.report.comparison.setting import Setting, setting
from fedkin.report.comparison.signed_rank import signed_rank
from fedkin.report.intervals import interval
from fedkin.report.records import Run, opened
from fedkin.report.scores import values
from fedkin.report.words.run_words import unequal_rounds
from fedkin.runs.database import read_only
from fedkin.runs.directory import RECORD
from fedkin.runs.record import FEDERATION

LOCAL = "local"
BESIDE = 40  # folders beside a run that are looked into
NAMES = {
    "local": "local training alone",
    "linear": "linear models of their own",
    "constant": "their most frequent class, or their mean",
}


class Gain(NamedTuple):
    """``against``: local, linear or constant. ``by_client``: > 0 is better, whatever the measure.

    ``mean``, ``low``, ``high``: over clients, 95 %, in the same sense. ``p``:
    Wilcoxon's signed-rank test. ``rounds``: a sentence where the baseline's run had others than
    this one.
    """

    against: str
    measure: str
    run: str  # the run directory of the baseline; "" for a baseline of the record
    theirs: Mapping[int, float]
    by_client: Mapping[int, float]
    mean: float
    low: float | None
    high: float | None
    p: float | None
    rounds: str = ""

    @property
    def helped(self) -> list[int]:
        """Numbers of the clients that are better off."""
        return [client for client, apart in self.by_client.items() if apart > 0]

    @property
    def hurt(self) -> list[int]:
        """Numbers of the clients that are worse off."""
        return [client for client, apart in self.by_client.items() if apart < 0]

    @property
    def sure(self) -> bool:
        """Whether the interval leaves out 0."""
        return self.low is not None and self.high is not None and (self.low > 0 or self.high < 0)

    @property
    def name(self) -> str:
        """What the baseline is called in a sentence."""
        return NAMES[self.against]


def gain_of(run: Run, summary: Mapping[str, Any]) -> Gain | None:
    """The gain on a finished run of ``local`` beside this one, else on a baseline of the record.

    Args:
        run: The open run.
        summary: Its ``summary``.

    Returns:
        None where nothing was evaluated, or there is nothing to hold it against.
    """
    measure = summary["measure"]
    if measure in ASIDE or not summary["headline"]:
        return None
    view, picks = next(iter(summary["headline"].items()))
    known = values(run, picks["final"]["round"], view, measure)
    own = {
        client: value
        for client, value in known.items()
        if value is not None and client != FEDERATION  # whose mean is no client's
    }
    if run.facts.get("method") != LOCAL and (alone := _local_beside(run, measure)):
        gain = _paired(LOCAL, measure, own, alone.scores, str(alone.folder))
        return gain and gain._replace(rounds=_rounds(run, alone))
    recorded: Mapping[str, Mapping[str, float]] = run.facts.get("baselines") or {}
    for name in ("linear", "constant"):
        if measure == run.facts.get("measure") and recorded.get(name):
            return _paired(name, measure, own, {int(k): v for k, v in recorded[name].items()})
    return None


def _paired(
    against: str,
    measure: str,
    own: Mapping[int, float],
    theirs: Mapping[int, float],
    run: str = "",
) -> Gain | None:
    both = [client for client in own if client in theirs]
    apart = np.array([gain_on(measure, own[k], theirs[k]) for k in both])
    if not both or not np.isfinite(apart).all():
        return None
    low, high = possible_ends(interval(apart), measure)
    by_client = dict(zip(both, apart.tolist(), strict=True))
    mean = float(apart.mean())
    return Gain(against, measure, run, theirs, by_client, mean, low, high, signed_rank(apart))


class _Alone(NamedTuple):
    """A finished run of ``local``; ``scores``: {client: its final score}."""

    folder: Path
    rounds: int
    scores: dict[int, float]


def _local_beside(run: Run, measure: str) -> _Alone | None:
    """The first with the same data, seed and number of rounds; else the first of another length."""
    mine, rounds, another = setting(run.facts, len(run.clients)), run.committed(), None
    for folder in _beside(run.folder):
        try:
            found = _alone(folder, run, mine, measure)
        except (FedkinError, OSError, TypeError, ValueError, KeyError, AttributeError):
            continue  # a neighbour that cannot be read is no baseline
        if found is not None and found.rounds == rounds:
            return found
        another = another or found
    return another


def _alone(folder: Path, run: Run, mine: Setting, measure: str) -> _Alone | None:
    """None where it is no such run, or nobody has a score in it."""
    with read_only(folder) as database:
        facts = database.facts()
    if facts.get("method") != LOCAL or facts.get("finished") is not True:
        return None
    theirs = setting(facts, int(facts.get("clients") or 0))
    if facts.get("seed") != run.facts.get("seed") or not theirs.same(mine):
        return None
    with opened(folder) as other:
        scores = _final(other, measure)
        return _Alone(folder, other.committed(), scores) if scores else None


def _rounds(run: Run, alone: _Alone) -> str:
    """A sentence where one of them trained longer; else ""."""
    rounds = run.committed()
    if alone.rounds == rounds:
        return ""
    return unequal_rounds({rounds: [run.folder.resolve().name], alone.rounds: [alone.folder.name]})


def _beside(folder: Path) -> list[Path]:
    whole = folder.resolve()
    try:
        others = sorted(path for path in whole.parent.iterdir() if path != whole)[: 25 * BESIDE]
    except OSError:
        return []
    return [path for path in others if (path / RECORD).is_file()][:BESIDE]


def _final(run: Run, measure: str) -> dict[int, float]:
    if not (last := run.last_scored()):
        return {}
    known = values(run, last, "personal", measure)
    return {client: value for client, value in known.items() if value is not None}
