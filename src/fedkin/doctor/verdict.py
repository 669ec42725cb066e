"""Whether to federate: one answer for a data set, whatever method was asked about.

The ways to share are compared with each client alone on rows that neither has seen, client by
client, by the experiment's measure. Test rows are not read, and no row is held out for a public
set: every way has the same rows.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import t

from fedkin.core.family import CATEGORICAL, GAUSSIAN
from fedkin.core.measures import measure_named
from fedkin.data.population import Population
from fedkin.doctor.cross_validation import BEST, CrossValidation, cross_validate
from fedkin.doctor.features import Floats, Ints, Rows, rows_of, too_many_classes
from fedkin.doctor.fits import FEDERATED
from fedkin.engine.measures import Predicted, measure
from fedkin.experiment.plain_baselines import STEEP

# of a gain that is worth having; of a measure without an upper end a share of its value
LEAST = 0.005
ORDERS = ("auc", "average_precision")  # measures of nothing but the order of scores
SURE = 0.05  # chance of such a gain if there were none, below which federating is advised
DRAWS = 40  # bootstrap samples of a client's rows, or of what its rows belong to


class Gain(NamedTuple):
    """How much better a way is than each client alone; positive is better, whatever the measure.

    ``mean`` over clients with ``error``; ``by_client``: {client: (gain, its standard error)};
    ``value`` of the way and ``alone``: the measure itself, means over the same clients.
    """

    mean: float
    error: float
    by_client: dict[int, tuple[float, float]]
    value: float
    alone: float

    @property
    def freedom(self) -> int:
        """Degrees of freedom of Student's t: clients less one, at least 1."""
        return max(len(self.by_client) - 1, 1)

    def interval(self) -> tuple[float, float]:
        """The 95 % interval of the mean over clients, by Student's t.

        Returns:
            (low, high), in the measure's unit.
        """
        half = float(t.ppf(0.975, self.freedom)) * self.error
        return self.mean - half, self.mean + half

    def chance_of_so_little(self, true: float) -> float:
        """The chance of so small a gain, or a smaller one, if the true one were ``true``: a
        one-sided p-value.

        Args:
            true: In the measure's unit.

        Returns:
            A probability, by Student's t over clients.
        """
        if self.error == 0:
            return float(self.mean > true)
        return float(t.cdf((self.mean - true) / self.error, self.freedom))


class Examined(NamedTuple):
    """``best``: the gain of the way that other rows chose; ``ways``: of each way. ``chosen``: how
    often each was best. ``constant``: the measure of the most frequent class, or mean, of a
    client's other rows.
    """

    measure: str
    best: Gain
    ways: dict[str, Gain]
    chosen: dict[str, float]
    worth: float
    constant: float | None


def examined(population: Population, measure_name: str, seed: int = 0) -> Examined | None:
    """The ways to share, against each client alone; None for one client, rows without anything to
    learn from, fewer of them than folds need, or too many classes.

    Args:
        population: The clients' data; test rows are not read.
        measure_name: The experiment's measure.
        seed: Draws the folds.

    Returns:
        The gains of all ways, and of the one that other rows chose.
    """
    from threadpoolctl import threadpool_limits

    if population.clients < 2 or too_many_classes(population):
        return None
    with threadpool_limits(1):  # the products are small: two threads wait for each other
        return _examined(population, measure_name, seed)


def _examined(population: Population, measure_name: str, seed: int) -> Examined | None:
    rows = rows_of(population, seed)
    if rows.views["linear"].shape[1] < 2:
        return None
    cross_validated = cross_validate(rows, seed)
    if cross_validated is None:
        return None
    gains = _gains(rows, cross_validated, measure_name)
    if BEST not in gains:
        return None
    best = gains[BEST]
    bounded = math.isfinite(measure_named(measure_name).most) and measure_name != "brier"
    worth = LEAST if bounded else 2 * LEAST * abs(best.alone)
    ways = {way: gains[way] for way in FEDERATED if way in gains}
    return Examined(
        measure_name,
        best,
        ways,
        cross_validated.chosen,
        worth,
        _constant(rows, cross_validated.constant, measure_name),
    )


def verdict(examination: Examined) -> dict[str, Any]:
    """Whether to federate, as plain values.

    Args:
        examination: What ``examined`` gave.

    Returns:
        {"federate": true or false, "says": a sentence, "wrong": the chance of such a gain if there
        were none, or, where the advice is to stay alone, of so small a gain if there were one worth
        having (a one-sided p-value, not the chance that the advice is wrong), "gain", "low",
        "high": of the mean over clients, in the measure's unit, …}.
    """
    best = examination.best
    low, high = best.interval()
    none = 1 - best.chance_of_so_little(0.0)
    worth = best.chance_of_so_little(examination.worth)
    federate = none < SURE and best.mean > examination.worth
    if federate:
        says = "federate: it is likely to help"
    elif worth < SURE:
        says = "stay alone: federating gains nothing worth having"
    else:
        says = "stay alone for now: a gain from federating cannot be distinguished from chance"
    return {
        "federate": federate,
        "says": says,
        "wrong": none if federate else worth,
        "gain": best.mean,
        "low": low,
        "high": high,
        "measure": examination.measure,
        "alone": best.alone,
        "federated": best.value,
        "constant": examination.constant,
        "clients": len(best.by_client),
        "worth": examination.worth,
    }


def losers(gain: Gain) -> list[int]:
    """Clients that are worse off by more than twice the standard error of their own rows.

    Args:
        gain: Of one way against each client alone.

    Returns:
        Numbers of clients.
    """
    return [k for k, (mean, error) in gain.by_client.items() if mean < 0 and mean < -2 * error]


def _gains(rows: Rows, cross_validated: CrossValidation, name: str) -> dict[str, Gain]:
    """Of each way against alone: means over seeds, on the same rows and the same bootstrap samples
    of them.
    """
    sign = measure_named(name).sign
    predictions = {
        way: _predictions(rows, scores) for way, scores in cross_validated.predicted.items()
    }
    each: dict[str, dict[int, tuple[float, float, float, float]]] = {
        way: {} for way in predictions if way != "alone"
    }
    for place, client in enumerate(rows.clients):
        own = np.flatnonzero(rows.owner == place)
        drawn = _drawn(len(own), None if rows.group is None else rows.group[own], place)
        parts = {way: [one.rows(own) for one in made] for way, made in predictions.items()}
        values = {way: _values(made, name) for way, made in parts.items()}
        moved = {
            way: _values([made[0].rows(rows_) for rows_ in drawn], name)
            for way, made in parts.items()
        }
        for way in each:
            apart = sign * (values[way] - values["alone"])
            if np.isfinite(apart).any():
                spread = sign * (moved[way] - moved["alone"])
                error = float(np.nanstd(spread, ddof=1)) if np.isfinite(spread).sum() > 1 else 0.0
                means = [float(np.nanmean(values[one])) for one in (way, "alone")]
                each[way][client] = float(np.nanmean(apart)), error, means[0], means[1]
    return {way: _summed(by_client) for way, by_client in each.items() if by_client}


def _drawn(n: int, group: Ints | None, seed: int) -> list[Ints]:
    """Bootstrap samples of n rows; rows that belong together are drawn together, since they say
    less than as many on their own. Of one group alone nobody can say how groups differ.
    """
    random = np.random.default_rng(seed)
    if group is None or len(together := np.unique(group)) < 2:
        return list(random.integers(n, size=(DRAWS, n)))
    members = [np.flatnonzero(group == one) for one in together]
    return [
        np.concatenate([members[k] for k in chosen])
        for chosen in random.integers(len(members), size=(DRAWS, len(members)))
    ]


def _summed(by_client: dict[int, tuple[float, float, float, float]]) -> Gain:
    """The mean over clients; its error is the larger of what clients and what rows leave open."""
    table = np.array(list(by_client.values()))
    between = float(table[:, 0].std(ddof=1) / math.sqrt(len(table))) if len(table) > 1 else math.inf
    within = float(np.sqrt((table[:, 1] ** 2).sum()) / len(table))
    gain, _, value, alone = (float(number) for number in table.mean(0))
    return Gain(
        gain, max(between, within), {k: (v[0], v[1]) for k, v in by_client.items()}, value, alone
    )


def _constant(rows: Rows, constant: Floats, name: str) -> float | None:
    """Each client's rows by the mean of its others: the most frequent class, or the mean of the
    numbers. Of a measure of an order they have the client's one mean, which orders nothing.
    """
    values: list[float] = []
    for place in range(len(rows.clients)):
        own = np.flatnonzero(rows.owner == place)
        scores = constant[:, own]
        if name in ORDERS:
            scores = np.broadcast_to(rows.target[own].mean(0), scores.shape)
        values.append(_mean(_values([_as_predicted(rows, s, rows.y[own]) for s in scores], name)))
    known = [value for value in values if math.isfinite(value)]
    return float(np.mean(known)) if known else None


def _mean(values: Floats) -> float:
    """Of those that are numbers; nan of none."""
    known = values[np.isfinite(values)]
    return float(known.mean()) if len(known) else math.nan


def _predictions(rows: Rows, scores: Floats) -> list[Predicted]:
    """As class probabilities or means, one for each seed. ``scores`` [seeds, n, outputs]."""
    return [_as_predicted(rows, one, rows.y) for one in scores]


def _as_predicted(rows: Rows, scores: Floats, y: Any) -> Predicted:
    if rows.y.dtype != np.int64:
        return Predicted(rows.offset + rows.scale * scores, y)
    steep = np.exp(STEEP * (scores - scores.max(1, keepdims=True)))
    return Predicted(steep / steep.sum(1, keepdims=True), y)


def _values(made: list[Predicted], name: str) -> Floats:
    """The measure of each; nan where it is not defined."""
    family = CATEGORICAL if made[0].y.dtype == np.int64 else GAUSSIAN
    values = (measure(family, name, one) for one in made)
    return np.array([math.nan if value is None else value for value in values])
