"""[method] safe = true: no client deploys what its own validation samples do not say is better than
a model that it trained alone.
"""

from collections.abc import Callable, Mapping
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
from fedkin.core.ops import correct, local_only_step, scan, sgd_step
from fedkin.core.rng import Key
from fedkin.core.tree import Params, Tree, leaves
from fedkin.transforms.extra_state import with_client_state

SHARES = (1.0, 0.75, 0.5, 0.25)  # of the federated model's probabilities
# (level, shares that are tested in this order while they pass): giving the own model up, or nearly
# so, asks for proof; a say beside it asks only that more rows gain than lose
SEQUENCES = ((0.025, (1.0,)), (0.025, (0.75,)), (0.5, (0.5, 0.25)))
TIED = SEQUENCES[-1][1]  # of these log-loss decides where as many rows gain as lose
SHARE, CHANCE = "safe_share", "safe_chance"  # the notes' names
WHOLE = 12  # rows that differ, up to which all 2^n signs are tried
DRAWS = 4095  # signs that are drawn for more rows than that
BLOCK = 1024  # rows whose signs are drawn at once

Judge = Callable[[Model, Tensor, Tensor], Tensor]
"""(model, predictions [n, classes], y [n]) → what each row costs, [n]."""


def safe(method: Method, lr: float, judge: Judge) -> Method:
    """The method whose clients train a model alone beside, at no communication, and deploy the
    federated one only where validation says so.

    After the last round each client compares, on its validation samples, its own model with the
    federated one and with three mixtures of both (shares of probabilities). It takes the one of
    least mean cost (of those, of least log-loss) among those that are better than its own by
    one-sided paired tests (``no_better``, ``passed``); where none is, its own. Where a mixture with
    at least half of the own model costs as much as that model, log-loss is tested. What is no
    better than its own it takes with a chance of 55 % at most, and of 5 % if that is the federated
    model or the mixture with three quarters of it; of ``losses`` only where gains are spread alike
    to both sides. Until then it shows the federated one.

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
        alone = scan(local_only_step(sgd_step), own["alone"], data.batches(), lr * data.decay)
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

    return with_client_state(method, lambda initial: {"alone": initial})._replace(
        client_update=client_update,
        finalize=finalize,
        personal_models=personal_models,
        predict=predict,
        client_metrics=client_metrics,
        check=check,
        distillation_target=None,
        beside_own=True,
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
    return (~correct(predictions, y)).to(predictions.dtype)


def losses(model: Model, predictions: Tensor, y: Tensor) -> Tensor:
    """−log p of the class; the squared error of numbers."""
    if not model.family.classes:
        return (predictions[:, 0] - y).square()
    return -predictions.gather(1, y[:, None])[:, 0]


def no_better(gain: Tensor) -> float:
    """The chance of so large a mean gain where each row's gain is as likely as a loss of that size:
    a one-sided paired test by flipped signs (Fisher, 1935).

    Rows that cost the same say nothing. Where gains are of one size, as errors of classes are, it
    is the sign test.

    >>> no_better(torch.tensor([1.0, 1.0, 1.0, 0.0, -1.0]))  # 3 or 4 heads of 4 coins
    0.3125
    >>> no_better(torch.ones(2)), no_better(torch.ones(5)), no_better(torch.zeros(2))
    (0.25, 0.03125, 1.0)
    >>> no_better(torch.tensor([3.0, 1.0, -0.5]))  # of 8 sums 3.5 and 4.5 are as large
    0.25
    >>> no_better(torch.tensor([float("nan"), 1.0]))  # of a model that diverged
    1.0

    Of more than ``WHOLE`` rows that differ, ``DRAWS`` signs are drawn, the same ones always.

    It is a test of the mean only where gains are symmetric. Right and wrong are; of costs whose
    gains are many and small and whose losses are rare and large it passes too often.

    Args:
        gain: [n] what each row costs less.

    Returns:
        In (0, 1]; 2^−n at least where n rows differ, but for what drawing adds.
    """
    from scipy.special import bdtrc  # late: scipy is slow to load

    if not bool(gain.isfinite().all()):
        return 1.0
    told = gain[gain != 0].double().cpu()
    size, wins = told.abs(), int((told > 0).sum())
    if not wins:
        return 1.0
    if bool((size == size[0]).all()):
        return float(bdtrc(wins - 1, len(told), 0.5))
    least = float(told.sum()) - 1e-9 * float(size.sum())  # sums differ by rounding alone
    if len(told) <= WHOLE:
        return float((_all_sums(size) >= least).double().mean())
    return (1 + int((_drawn_sums(size) >= least).sum())) / (1 + DRAWS)


def passed(chances: Mapping[float, float]) -> list[float]:
    """The shares that are better than the client's own model.

    The first of a sequence that is no better passes with a chance of its level at most, and those
    after it only if it does (fixed sequences: Maurer, Hothorn & Lehmacher, 1995). Levels of all
    sequences add up (Bonferroni).

    >>> passed({1.0: 0.01, 0.75: 0.03, 0.5: 0.2, 0.25: 0.6})
    [1.0, 0.5]

    Args:
        chances: {share: its ``no_better``}.
    """
    found = []
    for level, shares in SEQUENCES:
        for share in shares:
            if chances[share] > level:
                break
            found.append(share)
    return found


def _all_sums(size: Tensor) -> Tensor:
    """Σ ± size, for all [2^n] signs."""
    sums = torch.zeros(1, dtype=size.dtype)
    for one in size:
        sums = torch.cat([sums + one, sums - one])
    return sums


def _drawn_sums(size: Tensor) -> Tensor:
    """Σ ± size, for [DRAWS] signs that are drawn."""
    generator = Key(0).torch("signs")
    sums = torch.zeros(DRAWS, dtype=size.dtype)
    for part in torch.split(size, BLOCK):
        heads = torch.randint(0, 2, (DRAWS, len(part)), generator=generator, dtype=torch.int8)
        sums += (2 * heads - 1).to(size.dtype) @ part
    return sums


def chosen(
    method: Method, shared: Tree, alone: Params, data: ClientContext, judge: Judge
) -> tuple[float, float]:
    """(share of the federated model, chance that it is no better than the client's own), by the
    client's validation rows.
    """
    parts = []
    with torch.no_grad():
        for batch in data.whole("val"):
            real = batch.weight > 0
            p = method.predict(data.model, shared, batch.x)[real]
            q = plain_prediction(data.model, alone, batch.x)[real]
            parts.append((p, q, batch.y[real]))
    p, q, y = (torch.cat(some) for some in zip(*parts, strict=True))
    return choice(data.model, p, q, y, judge)


def choice(
    model: Model,
    shared: Tensor,
    alone: Tensor,
    y: Tensor,
    judge: Judge,
    chance_of: Callable[[Tensor], float] = no_better,
) -> tuple[float, float]:
    """(share of the federated model, chance that it is no better than the client's own).

    Args:
        model: Whose predictions they are.
        shared: [n, classes] log-probabilities of the federated model, or [n, 1] means.
        alone: The same of the client's own model.
        y: [n] what is true.
        judge: What a row costs.
        chance_of: That chance, from what each row costs less [n].
    """
    diverged = [bool(predictions.isnan().any()) for predictions in (shared, alone)]
    if diverged == [False, True]:  # nor does any mixture with it say anything
        return 1.0, 0.0

    def costs(predictions: Tensor) -> Tensor:
        """[2, n], by the judge and in log-loss."""
        both = judge(model, predictions, y), losses(model, predictions, y)
        return torch.stack(both).double()

    own = costs(alone)
    others = {
        share: costs(shared if share == 1 else blend(model, shared, alone, torch.tensor(share)))
        for share in SHARES
    }
    chances = {share: _chance(own - cost, share, chance_of) for share, cost in others.items()}
    fit = passed(chances)
    if not fit:
        return 0.0, min(chances.values())
    best = min(fit, key=lambda share: (*others[share].mean(dim=1).tolist(), -share))
    return best, chances[best]


def _chance(gain: Tensor, share: float, chance_of: Callable[[Tensor], float]) -> float:
    """The chance that a share is no better, from what each row costs less: [2, n], by the judge and
    in log-loss. The latter decides on a mixture with half of the own model that is no more often
    right than that model, and no less.
    """
    by_judge, by_loss = gain
    tied = share in TIED and bool(by_judge.sum() == 0)
    return chance_of(by_loss if tied else by_judge)
