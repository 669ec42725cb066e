"""Attacks of chosen clients, for the simulator: what a robust rule is measured against.

An attacker of the first three kinds changes what it sends, of the next two what it learns from. An
attacker by "alie" knows what the others of its kind would have sent; those who "collude" have
agreed on it.
"""

import math
from collections.abc import Callable, Mapping
from statistics import NormalDist
from typing import Annotated, Any, Literal

import torch
from pydantic import Field
from torch import Tensor

from fedkin.core.aggregation import Contributions, Step, WeightedSum
from fedkin.core.errors import FedkinError
from fedkin.core.hyperparameters import Positive, Whole
from fedkin.core.kinds import PARAMETERS
from fedkin.core.method import ClientContext, FederationInit, Method
from fedkin.core.rng import Key
from fedkin.core.tree import Tree, fill, is_buffer, named_leaves
from fedkin.transforms.factors import whole_updates
from fedkin.transforms.hostile import poisoned_data as poisoned
from fedkin.transforms.hostile.colluding import colluding
from fedkin.transforms.setting import Change, Setting, declared_sum, first_exchange
from fedkin.transforms.updates import flattened, unflattened

Kind = Literal["sign_flip", "scaled", "constant", "label_flip", "backdoor", "alie", "collude"]
STRENGTHS = {"sign_flip": 1.0, "scaled": 10.0, "constant": 0.1}
ATTACKER = "attacker"


def attack(
    *,
    kind: Kind,
    share: Annotated[float, Field(gt=0, lt=0.5)] = 0.2,
    strength: Positive | None = None,
    target: Whole = 0,
) -> Change:
    """A share of the clients attacks in every round.

    Args:
        kind: "sign_flip": −strength times its update; "scaled": strength times; "constant":
            strength in every parameter; "label_flip": it learns class K − 1 − y in place of y;
            "backdoor": half of each mini-batch shows a trigger and has the label ``target``, and
            the update is multiplied by strength (model replacement); "alie": the attackers' mean
            less strength times their standard deviation; "collude": all send the same predictions,
            mixed with their own by strength.
        share: Of all clients, at least one.
        strength: None takes 1 (sign_flip, collude), 10 (scaled), 0.1 (constant), 1 / share
            (backdoor), and the z of the paper (alie).
        target: The class of a backdoor.

    Source: Bagdasaryan, Veit, Hua, Estrin & Shmatikov (2020), equation 3 (model replacement);
    Baruch, Baruch & Goldberg (2019), Algorithm 3 (alie).
    """

    def change(method: Method, setting: Setting) -> Method:
        if method.needs.pooled:
            raise FedkinError(
                f"transform attack makes clients hostile, and {method.name} trains on everybody's "
                "samples in one place: try fedavg"
            )
        who = attackers(setting, share)
        if kind == "alie":
            summed = declared_sum(method, "attack kind=alie", setting)
            steps = (*summed.steps, alie(who, strength))
            method = method._replace(aggregation=summed._replace(steps=steps))
        elif kind == "label_flip":
            if strength is not None:
                raise FedkinError("transform attack: label_flip has no strength: leave it out")
            method = poisoned.with_data(
                poisoned.classes_needed(method, kind), who, poisoned.flipped
            )
        elif kind == "collude":
            method = colluding(method, setting, who, strength)
        elif kind == "backdoor":
            method = poisoned.with_data(
                poisoned.classes_needed(method, kind, target), who, poisoned.backdoor(target)
            )
            method = _with_updates(method, setting, who, _times(strength or 1 / share))
        else:
            tampering = _of_kind(kind, strength or STRENGTHS[kind])
            method = _with_updates(method, setting, who, tampering)
        return _marked(method, setting, who)

    return change


def attackers(setting: Setting, share: float) -> frozenset[int]:
    """The clients that attack, the same in every round: a function of the seed."""
    count = max(1, round(share * setting.clients))
    rng = Key(setting.seed).numpy("attackers")
    return frozenset(int(one) for one in rng.choice(setting.clients, count, replace=False))


def _with_updates(
    method: Method, setting: Setting, who: frozenset[int], change: Callable[[Tensor], Tensor]
) -> Method:
    """The method whose attackers send another update than their own."""
    method = whole_updates(method, "attack", setting)
    how = method.aggregation
    differences = how.differences if isinstance(how, WeightedSum) else ()

    def client_update(received: Tree, own: Tree, data: ClientContext) -> tuple[Tree, Tree]:
        own, message = method.client_update(received, own, data)
        if data.info.client in who:
            message = tampered(message, received, differences, change)
        return own, message

    def check(start: FederationInit, participants: int) -> None:
        method.check(start, participants)
        received, sent = first_exchange(method, setting, start)
        before = dict(named_leaves(received))
        if not any(_weights(path, leaf) for path, leaf in before.items()):
            raise FedkinError(
                f"transform attack: clients of {method.name} are sent no parameters, so they send "
                "no updates: try kind = 'label_flip'"
            )
        if not any(_is_update(path, leaf, before) for path, leaf in named_leaves(sent)):
            raise FedkinError(
                f"transform attack: clients of {method.name} send a model that they choose or mix "
                "themselves, an update of none that they were sent: try kind = 'label_flip'"
            )

    return method._replace(client_update=client_update, check=check)


def tampered(
    message: Tree,
    received: Tree,
    differences: tuple[str, ...],
    change: Callable[[Tensor], Tensor],
) -> Tree:
    """A message whose updates are changed; what is no update of a parameter stays.

    Args:
        message: What the client would have sent.
        received: What it was sent.
        differences: Kinds that are sent as changes already.
        change: Of each tensor of an update, in double precision.
    """
    before = dict(named_leaves(received))
    found = []
    for path, leaf in named_leaves(message):
        if not _is_update(path, leaf, before):
            found.append(leaf)
            continue
        base = before[path]
        at = torch.zeros_like(base) if path.partition("/")[0] in differences else base
        update = leaf.to(torch.float64) - at.to(torch.float64)
        found.append((at.to(torch.float64) + change(update)).to(leaf.dtype))
    return fill(message, iter(found))


def _is_update(path: str, leaf: Any, before: Mapping[str, Any]) -> bool:
    """Whether weights stand where a client was sent some of their shape."""
    base = before.get(path)
    return _weights(path, leaf) and isinstance(base, Tensor) and base.shape == leaf.shape


def _weights(path: str, leaf: Any) -> bool:
    name = path.rpartition("/")[2]
    return (
        path.partition("/")[0] == PARAMETERS
        and isinstance(leaf, Tensor)
        and leaf.is_floating_point()
        and not is_buffer(name)
    )


def _of_kind(kind: str, strength: float) -> Callable[[Tensor], Tensor]:
    if kind == "constant":
        return lambda update: torch.full_like(update, strength)
    return _times(-strength if kind == "sign_flip" else strength)


def _times(factor: float) -> Callable[[Tensor], Tensor]:
    return lambda update: factor * update


def alie(who: frozenset[int], strength: float | None) -> Step:
    """A step before the sum: what arrives from attackers is "a little" off their own mean.

    Source: Baruch, Baruch & Goldberg (2019), Algorithm 3: z is the largest number of standard
    deviations at which the attackers still have a majority with the honest clients beyond.
    """

    def step(given: Contributions) -> Contributions:
        hostile = [client for client in given.replies if client in who]
        if not hostile:
            return given
        own = torch.stack([flattened(given.replies[client].message) for client in hostile])
        z = largest_z(len(given.replies), len(hostile)) if strength is None else strength
        sent = own.mean(0) - z * own.std(0, correction=0)
        replies = {
            client: reply._replace(message=unflattened(sent, reply.message))
            if client in who
            else reply
            for client, reply in given.replies.items()
        }
        return given._replace(replies=replies)

    return step


def largest_z(clients: int, hostile: int) -> float:
    """z of ALIE: Φ((n − f − s) / (n − f)) with s = ⌊n / 2 + 1⌋ − f, at least 0."""
    supporters = math.floor(clients / 2 + 1) - hostile
    honest = clients - hostile
    quantile = (honest - supporters) / honest
    return max(0.0, NormalDist().inv_cdf(quantile)) if 0 < quantile < 1 else 0.0


def _marked(method: Method, setting: Setting, who: frozenset[int]) -> Method:
    """The method whose record says who attacks."""
    attackers = {client: float(client in who) for client in range(setting.clients)}
    return method._replace(
        server_metrics=lambda state: {**method.server_metrics(state), ATTACKER: attackers}
    )
