"""Differential privacy of each sample: what a client sends is made of noised gradients alone."""

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import torch
from torch import Tensor

from fedkin.core.errors import FedkinError, named_line
from fedkin.core.kinds import CONTROL
from fedkin.core.method import ClientContext, Method
from fedkin.core.protected.noise import SampleNoise
from fedkin.core.protected.sealed import Uncovered
from fedkin.core.tree import Tree, leaves, map_tree
from fedkin.transforms.protected.data import first_state, protected

ROUNDS = 3  # of a client, after which its work is taken to be what it will be

Steps = dict[tuple[int, ...], int]
"""Of one client in one round: how many steps, by how often each took the gradient of each of its
mini-batches. {(1,): 20} are 20 steps of plain SGD.
"""


class SampleGuarantee(NamedTuple):
    """clip: C, the largest norm of a sample's gradient. noise: σ, in clips. batch: the expected
    size of a mini-batch. open_at_home: work of which nothing is sent (``local_only``) goes without.
    """

    clip: float
    noise: float
    batch: int
    open_at_home: bool = False


def keep_samples_private(
    method: Method, asked: SampleGuarantee, promised: Callable[[ClientContext], Steps]
) -> Method:
    """The method whose ``client_update`` is DP-SGD. What stays at home after it (``finalize``,
    personal models) is as it was.

    Args:
        method: Any that passes ``steps_of``.
        asked: Clip, noise and expected batch.
        promised: What was accounted for a client's round; more is refused.
    """

    def client_update(received: Tree, own: Tree, data: ClientContext) -> tuple[Tree, Tree]:
        noise = _noise(asked, data)
        done = method.client_update(received, own, protected(data, noise))
        if any(steps > promised(data).get(kind, 0) for kind, steps in noise.spent.items()):
            raise FedkinError(
                f"[privacy]: a client of {method.name} took more noised steps than were accounted "
                "for; its message is not sent"
            )
        return done

    def setup_message(own: Tree, data: ClientContext) -> Tree:
        assert method.setup_message is not None
        return method.setup_message(own, protected(data, _noise(asked, data)))

    return method._replace(
        client=lambda initial, info: first_state(method, initial, info),
        client_update=client_update,
        setup_message=None if method.setup_message is None else setup_message,
    )


def steps_of(
    method: Method, received: Tree, own: Tree, data: ClientContext, open_at_home: bool = False
) -> Steps:
    """The most noised steps of a client's round, found without training.

    Args:
        method: Without noise.
        received: A message to the client.
        own: Its personal state.
        data: Its data and tools.
        open_at_home: Work of which nothing is sent goes without noise.

    Raises:
        FedkinError: Something of its samples would reach a message that no noise covers.
    """
    _check(method, data)
    plan = replace(_noise(SampleGuarantee(1.0, 0.0, 1, open_at_home), data), dry=True)
    orders = _orders(method, received)
    try:
        if method.setup_message is not None and _introduced(method, own, data, plan):
            raise Uncovered("its clients train before the first round, which is not accounted for")
        found = _dry_rounds(method, received, own, data, plan)
        others = [_dry_with(method, it, own, data, plan) for it in orders]
    except Exception as error:  # whatever a method tries with samples that are sealed
        why = str(error) if isinstance(error, FedkinError) else named_line(error)
        raise FedkinError(
            f"privacy.unit = 'sample' does not fit {method.name}: {why}; try fedavg, or ditto"
        ) from None
    if any(other != found for other in others):
        raise _unknown(method)
    if open_at_home and not plan.opened:
        raise FedkinError(
            f"privacy.personal = 'plain': {method.name} declares no step of which nothing is sent, "
            "so that none goes without noise: leave it out, or take ditto or apfl"
        )
    return found


def _dry_rounds(
    method: Method, received: Tree, own: Tree, data: ClientContext, plan: SampleNoise
) -> Steps:
    """The most steps of each kind in some rounds."""
    found: Steps = {}
    for _ in range(ROUNDS):
        noise = plan.fresh()
        own, sent = method.client_update(received, own, protected(data, noise))
        plan.opened |= noise.opened
        if plan.open_at_home and _marked(sent):
            raise Uncovered("its clients send what they make at home, without noise")
        found = {
            kind: max(found.get(kind, 0), noise.spent.get(kind, 0))
            for kind in {**found, **noise.spent}
        }
    return found


def _dry_with(
    method: Method, orders: Tree, own: Tree, data: ClientContext, plan: SampleNoise
) -> Steps:
    """``_dry_rounds`` of a message with other orders; of one that cannot be followed: no steps."""
    try:
        return _dry_rounds(method, orders, own, data, plan)
    except Uncovered:
        raise
    except Exception:  # such as no step at all
        return {}


def _orders(method: Method, received: Tree) -> list[Tree]:
    """The message with other orders: where they change the steps, costs are unknown.

    A number of steps, a flag, a block: each number in "control" is 0 once and 1 once.

    Raises:
        FedkinError: Orders are no numbers, but lists.
    """
    if CONTROL not in received:
        return []
    if any(isinstance(leaf, Tensor) and leaf.dim() for leaf in leaves(received[CONTROL])):
        raise _unknown(method)
    others = (map_tree(lambda leaf, to=to: leaf * 0 + to, received[CONTROL]) for to in (0, 1))
    return [{**received, CONTROL: other} for other in others]


def _unknown(method: Method) -> FedkinError:
    return FedkinError(
        f"privacy.unit = 'sample': the server of {method.name} tells clients anew in each "
        "round how to work, so that nobody can say what it will cost: try fedavg, or ditto"
    )


def _check(method: Method, data: ClientContext) -> None:
    if method.needs.pooled:
        raise FedkinError(
            f"privacy.unit = 'sample': {method.name} trains on everybody's samples in one place, "
            "and sends nothing: try fedavg, or ditto"
        )
    if not data.model.pads:
        raise FedkinError(
            f"privacy.unit = 'sample': model {data.model.name} mixes the samples of a mini-batch "
            "(batch norm), or holds buffers of floats as if it did, and each sample needs a "
            "gradient of its own: take a model without batch norm, such as dnn or one with group "
            "norm; where its buffers are constants, set model.buffers = 'drop'"
        )


def _marked(sent: Tree) -> bool:
    """Whether work without noise reached a message: numbers that are none."""
    return any(bool(torch.as_tensor(leaf).isnan().any()) for leaf in leaves(sent))


def _introduced(method: Method, own: Tree, data: ClientContext, plan: SampleNoise) -> bool:
    """Whether clients train for their message before the first round."""
    assert method.setup_message is not None
    noise = plan.fresh()
    method.setup_message(own, protected(data, noise))
    return bool(noise.spent) or noise.opened


def _noise(asked: SampleGuarantee, data: ClientContext) -> SampleNoise:
    if data.secret is None:
        raise FedkinError("[privacy] needs a secret to draw noise from, and the client has none")
    unit = 1 / min(asked.batch, data.info.samples)
    return SampleNoise(
        asked.clip,
        asked.noise,
        unit,
        data.secret,
        data.key.round,
        open_at_home=asked.open_at_home,
    )
