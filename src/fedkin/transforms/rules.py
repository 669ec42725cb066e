"""Robust aggregation as transforms: the rules of ``robust`` in the place of the mean."""

import math
from typing import Annotated

from pydantic import Field
from torch import Tensor

from fedkin.core.aggregation import Rule
from fedkin.core.counts import without_rounding_error
from fedkin.core.errors import FedkinError
from fedkin.core.hyperparameters import Count, Positive
from fedkin.core.kinds import PREDICTIONS
from fedkin.core.method import Method
from fedkin.transforms import robust
from fedkin.transforms.reported_scores import telling
from fedkin.transforms.setting import Change, Setting, participants_at_least, replaceable_mean


def with_rule(method: Method, setting: Setting, name: str, rule: Rule) -> Method:
    """The method whose declared sum is taken by a rule."""
    summed = replaceable_mean(method, name, setting)
    return telling(method._replace(aggregation=summed._replace(rule=rule)))


def norm_bound(*, bound: Positive) -> Change:
    """Updates are shortened to a Euclidean norm of at most ``bound``, and count alike."""

    def change(method: Method, setting: Setting) -> Method:
        summed = replaceable_mean(method, "norm_bound", setting)
        if summed.kinds == (PREDICTIONS,):
            raise FedkinError(
                f"transform norm_bound bounds updates, and {method.name} sends predictions, which "
                "are no update of what a client was sent: try median, trimmed_mean or krum"
            )
        # a weight that a client names itself would undo the bound
        steps = (*summed.steps, robust.norm_bound(bound))
        bounded = summed._replace(steps=steps, weight="uniform")
        return telling(method._replace(aggregation=bounded))

    return change


def median() -> Change:
    """The median of each coordinate."""
    return lambda method, setting: with_rule(
        method, setting, "median", robust.by_vectors(robust.median)
    )


def trimmed_mean(*, share: Annotated[float, Field(ge=1e-6, lt=0.5)] = 0.2) -> Change:
    """The mean of each coordinate without a share of the clients at either end."""

    def change(method: Method, setting: Setting) -> Method:
        def rule(vectors: Tensor) -> tuple[Tensor, Tensor]:
            cut = math.floor(without_rounding_error(share * len(vectors)))
            if cut < 1:
                raise FedkinError(
                    f"transform trimmed_mean: {len(vectors)} replies arrived, too few to cut a "
                    f"share of {share:g}: raise share or run.min_replies"
                )
            return robust.trimmed_mean(vectors, cut)

        least = math.ceil(without_rounding_error(1 / share))
        return participants_at_least(
            with_rule(method, setting, "trimmed_mean", robust.by_vectors(rule)),
            "trimmed_mean",
            least,
            "with fewer nothing is cut, so raise share or run.participation",
        )

    return change


def geometric_median(*, iterations: Count = 100) -> Change:
    """The point with the least sum of distances to the messages (Weiszfeld)."""

    def change(method: Method, setting: Setting) -> Method:
        rule = robust.by_vectors(lambda vectors: robust.geometric_median(vectors, iterations))
        return with_rule(method, setting, "geometric_median", rule)

    return change


def krum(*, attackers: Count, chosen: Count = 1) -> Change:
    """The messages nearest to their neighbours: one (Krum), or the mean of several (multi-Krum).

    attackers: f, at most so many are hostile. chosen: m.
    """

    def change(method: Method, setting: Setting) -> Method:
        most = max(setting.participants - attackers - 2, 0)
        if setting.participants >= 2 * attackers + 3 and chosen > most:
            raise FedkinError(
                f"transform krum: chosen is {chosen}, and with {setting.participants} participants "
                f"and {attackers} attackers at most {most} can be: lower chosen or attackers"
            )

        def rule(vectors: Tensor) -> tuple[Tensor, Tensor]:
            least = len(vectors) - attackers - 2
            if len(vectors) < 2 * attackers + 3:
                raise FedkinError(
                    f"transform krum: {len(vectors)} replies arrived, too few to judge with "
                    f"{attackers} attackers"
                )
            return robust.krum(vectors, attackers, min(chosen, least))

        made = with_rule(method, setting, "krum", robust.by_vectors(rule))
        return participants_at_least(
            made, "krum", 2 * attackers + 3, "lower attackers (2f + 3 are needed) or raise clients"
        )

    return change
