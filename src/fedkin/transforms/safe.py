"""[method] safe = true: no client deploys what its own validation samples do not say is better than
a model that it trained alone.
"""

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from fedkin.core.errors import FedkinError
from fedkin.core.method import (
    ClientContext,
    FederationInit,
    Method,
    plain_prediction,
)
from fedkin.core.model import Model
from fedkin.core.ops import home_step, right, scan, sgd_step
from fedkin.core.tree import Params, Tree, leaves
from fedkin.transforms.beside import beside

# share of the federated model's probabilities → level of its test: giving the own model up, or
# nearly so, asks for more than letting another one have a say beside it
LEVELS = {1.0: 0.05, 0.75: 0.05, 0.5: 0.2, 0.25: 0.2}
SHARE, CHANCE = "safe_share", "safe_chance"  # the notes' names

Judge = Callable[[Model, Tensor, Tensor], Tensor]
"""(model, predictions [n, classes], y [n]) → what each row costs, [n]."""


def safe(method: Method, lr: float, judge: Judge) -> Method:
    """The method whose clients train a model alone beside, at no communication, and deploy the
    federated one only where validation says so.

    After the last round each client compares, on its validation samples, its own model with the
    federated one and with three mixtures of both (shares of probabilities). It takes the one of
    least mean cost among those that are better than its own by a one-sided paired t-test, at the
    5 % level for the federated model and the mixture with three quarters of it, at the 20 % level
    for the others; where none is, its own. Until then it shows the federated one.

    Args:
        method: Any one that trains by gradients.
        lr: Learning rate of the model alone, which takes the batches of ``local``, so that it is
            that method's, bit for bit.
        judge: What a row costs: ``errors``, or ``losses``.

    Returns:
        The method with {"own": its personal state, "alone": w, "share", "chance"} as personal
        state.

    Raises:
        FedkinError: There is nothing federated to be safe from.
    """
    refusal = FedkinError(f"{method.name} has no federated model: leave method.safe out")
    if method.needs.pooled:
        raise refusal

    def check(start: FederationInit, participants: int) -> None:
        method.check(start, participants)
        if not leaves(method.broadcast(method.server(start), start.clients[0])):
            raise refusal

    def client_update(received: Tree, own: Tree, data: ClientContext) -> tuple[Tree, Tree]:
        alone = scan(home_step(sgd_step), own["alone"], data.batches(), lr * data.decay)
        mine, sent = method.client_update(received, own["own"], data)
        return {"own": mine, "alone": alone}, sent

    def finalize(received: Tree, own: Tree, data: ClientContext) -> Tree:
        mine = own["own"]
        if method.finalize is not None:
            mine = method.finalize(received, mine, data)
        shared = method.personal_models(received, mine, data)["personal"]
        share, chance = chosen(method, shared, own["alone"], data, judge)
        return {"own": mine, "alone": own["alone"], "share": share, "chance": chance}

    def personal_models(received: Tree, own: Tree, data: ClientContext) -> dict[str, Tree]:
        shown = method.personal_models(received, own["own"], data)
        views: dict[str, Tree] = {name: {"shared": view} for name, view in shown.items()}
        share = own.get("share", 1.0)
        if share == 0.0:
            views["personal"] = {"alone": own["alone"]}
        elif share < 1.0:
            both = {**views["personal"], "alone": own["alone"]}
            views["personal"] = {**both, "share": torch.tensor(share)}
        return views

    def predict(model: Model, view: Tree, x: Tensor) -> Tensor:
        return mixed(method, model, view, x)

    def client_metrics(own: Tree) -> dict[str, Any]:
        choice = {SHARE: own["share"], CHANCE: own["chance"]} if "share" in own else {}
        return {**method.client_metrics(own["own"]), **choice}

    return beside(method, lambda initial: {"alone": initial})._replace(
        client_update=client_update,
        finalize=finalize,
        personal_models=personal_models,
        predict=predict,
        client_metrics=client_metrics,
        check=check,
        distillation_target=None,
    )


def mixed(method: Method, model: Model, view: Tree, x: Tensor) -> Tensor:
    """Log-probabilities [batch, classes] of a view, or means [batch, 1]: the federated model's, the
    client's own, or those of both by the share.
    """
    if "shared" not in view:
        return plain_prediction(model, view["alone"], x)
    shared = method.predict(model, view["shared"], x)
    if "share" not in view:
        return shared
    return blend(model, shared, plain_prediction(model, view["alone"], x), view["share"])


def blend(model: Model, shared: Tensor, alone: Tensor, share: Tensor) -> Tensor:
    """share · p + (1 − share) · q, of probabilities (given as logarithms) or of means."""
    if not model.family.classes:
        return share * shared + (1 - share) * alone
    return torch.logaddexp(shared + share.log(), alone + (-share).log1p())


def errors(model: Model, predictions: Tensor, y: Tensor) -> Tensor:
    """1 where the class is wrong; the squared error of numbers."""
    if not model.family.classes:
        return (predictions[:, 0] - y).square()
    return (~right(predictions, y)).to(predictions.dtype)


def losses(model: Model, predictions: Tensor, y: Tensor) -> Tensor:
    """−log p of the class; the squared error of numbers."""
    if not model.family.classes:
        return (predictions[:, 0] - y).square()
    return -predictions.gather(1, y[:, None])[:, 0]


def no_better(gain: Tensor) -> float:
    """The chance of so large a mean gain where there is none: a one-sided paired t-test.

    >>> round(no_better(torch.tensor([1.0, 0.0, 1.0, 1.0])), 4)  # t = 3, three degrees of freedom
    0.0288
    >>> no_better(torch.tensor([float("nan"), 1.0]))  # of a model that diverged
    1.0

    Where every row gains the same there is no spread to go by: the chance is that of so many gains
    and no loss, 2^−n, by the sign test.

    >>> no_better(torch.tensor([1.0])), no_better(torch.tensor([0.0, 0.0]))
    (1.0, 1.0)
    >>> no_better(torch.ones(2)), no_better(torch.ones(5))
    (0.25, 0.03125)

    Args:
        gain: [n] what each row costs less.
    """
    from scipy.special import stdtr  # late: scipy is slow to load

    if len(gain) < 2 or not bool(gain.isfinite().all()):
        return 1.0
    mean, spread = float(gain.mean()), float(gain.std())
    if spread == 0:
        return 2.0 ** -len(gain) if mean > 0 else 1.0
    return float(stdtr(len(gain) - 1, -mean / (spread / math.sqrt(len(gain)))))


def chosen(
    method: Method,
    shared: Tree,
    alone: Params,
    data: ClientContext,
    judge: Judge,
    chance_of: Callable[[Tensor], float] = no_better,
) -> tuple[float, float]:
    """(share of the federated model, chance that it is no better than the client's own).

    ``chance_of``: that chance from what each validation row costs less.
    """
    model = data.model
    rows: list[list[Tensor]] = []
    nothing = [False, False]  # whether the federated model and the client's own diverged
    with torch.no_grad():
        for batch in data.whole("val"):
            real = batch.weight > 0
            both = method.predict(model, shared, batch.x), plain_prediction(model, alone, batch.x)
            nothing = [seen or bool(p.isnan().any()) for seen, p in zip(nothing, both, strict=True)]
            mixtures = [
                both[0] if share == 1 else blend(model, *both, torch.tensor(share))
                for share in LEVELS
            ]
            cost = [judge(model, out, batch.y)[real].double() for out in (both[1], *mixtures)]
            rows.append(cost)
    if nothing == [False, True]:  # nor does any mixture with it say anything
        return 1.0, 0.0
    own, *others = [torch.cat(parts) for parts in zip(*rows, strict=True)]
    tried = list(zip(LEVELS, others, [chance_of(own - cost) for cost in others], strict=True))
    fit = [one for one in tried if one[2] <= LEVELS[one[0]]]
    if not fit:
        return 0.0, min(chance for _, _, chance in tried)
    share, _, chance = min(fit, key=lambda one: float(one[1].mean()))
    return share, chance
