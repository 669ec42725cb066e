"""What validation data say of the trials of a study, and their order."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from fedkin.core.measures import comparable, measure_named
from fedkin.report.intervals import Pair, ranks

MEASURE = "measure"  # of the trials' scores, a fact of the study
CLIENTS = "clients"  # a trial's scores by client
UNSCORED = "unscored"  # what is to be said of a trial's value
ROUNDS = "rounds"  # how many a trial was trained
LEFT = "left"  # run folders of a trial that began anew
SAMPLES = "samples"  # of validation by client, a fact of the study


class Score(NamedTuple):
    """What validation data say of a trial, by the experiment's measure; ``clients``: the same by
    client; ``samples``: how many of validation each has, which weigh them in ``value``;
    ``unscored``: a sentence where its finished model has no scores, so that they are an earlier
    one's; ``rounds``: how many it was trained, None in a study of before that was kept.
    """

    measure: str
    value: float
    clients: Mapping[int, float] = {}
    samples: Mapping[int, int] = {}
    unscored: str = ""
    rounds: int | None = None

    @property
    def objective(self) -> float:
        """The value, with the sign that makes more of it better: what the study maximizes. The
        function is its own inverse.
        """
        return measure_named(self.measure).sign * self.value


def lost(study: Any) -> dict[int, str]:
    """Trials without a value, by number, and why: a rate at which training diverges, say.

    Args:
        study: Optuna's, as ``sweep`` gives it.

    Returns:
        {number of the trial, from 0: the reason in a sentence}.
    """
    return {
        int(name.split()[1]): why
        for name, why in study.user_attrs.items()
        if name.startswith("lost ")
    }


def facts_of(score: Score, number: int) -> dict[str, Any]:
    """What a study keeps of a trial's score beside its value, for ``scored`` to read.

    Args:
        score: Of the trial.
        number: Of the trial, from 0.

    Returns:
        {name of a fact of the study: plain value}.
    """
    clients = {str(k): value for k, value in score.clients.items()}
    facts = {
        MEASURE: score.measure,
        SAMPLES: {str(k): size for k, size in score.samples.items()},
        f"{CLIENTS} {number}": clients,
        f"{ROUNDS} {number}": score.rounds,
    }
    return facts | ({f"{UNSCORED} {number}": score.unscored} if score.unscored else {})


def scored(study: Any, trial: Any) -> Score | None:
    """A trial's score; None of one that has none, or not yet.

    Args:
        study: Optuna's, as ``sweep`` gives it.
        trial: One of its trials.

    Returns:
        The score by the experiment's measure, in that measure's own unit.
    """
    if trial.value is None:
        return None
    measure = study.user_attrs.get(MEASURE, "accuracy")
    clients, samples = (
        {int(k): v for k, v in study.user_attrs.get(name, {}).items()}
        for name in (f"{CLIENTS} {trial.number}", SAMPLES)
    )
    why_unscored = study.user_attrs.get(f"{UNSCORED} {trial.number}", "")
    rounds = study.user_attrs.get(f"{ROUNDS} {trial.number}")
    value = Score(measure, trial.value).objective
    return Score(measure, value, clients, samples, why_unscored, rounds)


def places(scores: Sequence[Score]) -> list[tuple[int, bool]]:
    """(rank, whether it is shared) of each trial, by what the study chooses by: those whose paired
    differences may be chance share one.

    Args:
        scores: Of trials of one study, the best first.

    Returns:
        A pair a trial, in the order given: ranks count from 1, and True says that another trial has
        the same one.
    """
    if not scores:
        return []
    return ranks(
        [_of_one_seed(score.clients) for score in scores],
        measure_named(scores[0].measure).higher,
        [comparable(score.value) for score in scores],
        _of_one_seed(scores[0].samples) or None,
    )


def _of_one_seed(by_client: Mapping[int, float]) -> dict[Pair, float]:
    """All trials of a study have the same seed, and so the same clients."""
    return {Pair(0, client): value for client, value in by_client.items()}
