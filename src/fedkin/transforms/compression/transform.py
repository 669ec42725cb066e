"""Compression of what clients send: ``[[transforms]]`` top_k, random_k, quantize and bfloat16.

Parameters are sent as updates, what a client has less what it received, and the part that was left
out is added to its next update (error feedback). Other numbers are sent as they are, rounded;
running statistics are such, and whole where only a part of an update is sent.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor

from fedkin.core.aggregation import Contributions, Reply, WeightedSum
from fedkin.core.errors import FedkinError
from fedkin.core.hyperparameters import Part
from fedkin.core.kinds import CONTROL, PARAMETERS
from fedkin.core.method import ClientContext, ClientInfo, FederationInit, Method, ServerContext
from fedkin.core.rng import Key
from fedkin.core.sums.replies import DerivedReplies
from fedkin.core.tree import Tree, fill, is_buffer, named_leaves
from fedkin.transforms.compression import compressors
from fedkin.transforms.compression.compressors import Compressor
from fedkin.transforms.extra_state import with_client_state
from fedkin.transforms.factors import whole_updates
from fedkin.transforms.setting import Change, Setting, first_exchange, message_by_message

UPDATED = (PARAMETERS, CONTROL)  # kinds of which an update is sent


def top_k(*, share: Part, feedback: bool = True) -> Change:
    """The largest ``share`` of an update's entries, with their places."""
    return _changed("top_k", compressors.top_k(share), feedback)


def random_k(*, share: Part, feedback: bool = True) -> Change:
    """A ``share`` of an update's entries at places drawn each round; without ``feedback``
    multiplied by 1 / share, so that the mean is right.
    """
    return _changed("random_k", compressors.random_k(share, scaled=not feedback), feedback)


def quantize(*, bits: Literal[8, 4, 2] = 8, feedback: bool = True) -> Change:
    """Every number on 2^``bits`` levels, rounded at random."""
    return _changed("quantize", compressors.quantizer(bits), feedback)


def bfloat16(*, feedback: bool = True) -> Change:
    """Every number in two bytes."""
    return _changed("bfloat16", compressors.bfloat16(), feedback)


def _changed(name: str, how: Compressor, feedback: bool) -> Change:
    def change(method: Method, setting: Setting) -> Method:
        whole = whole_updates(method, name, setting)
        return _Compressed(name, how, feedback, whole, setting).method()

    return change


class _Parts(NamedTuple):
    """A kind's leaves by how they are sent: as updates from ``base``, as values, or as they are.

    of: the name of each leaf's part, in order.
    """

    of: tuple[str, ...]
    leaves: Mapping[str, list[Any]]
    base: list[Tensor]

    def sizes(self, part: str) -> tuple[int, ...]:
        return tuple(leaf.numel() for leaf in self.leaves[part])


class _Compressed:
    """A method whose clients compress what they send. Of a declared sum, what is summed."""

    def __init__(
        self, name: str, how: Compressor, feedback: bool, method: Method, setting: Setting
    ) -> None:
        self.name, self.how, self.feedback = name, how, feedback
        self.inner, self.setting = message_by_message(method), setting
        summed = method.aggregation
        self.summed = summed if isinstance(summed, WeightedSum) else None

    def method(self) -> Method:
        """The whole of it."""
        kept = (
            with_client_state(self.inner, lambda _: {"left_out": {}})
            if self.feedback
            else self.inner
        )
        made = kept._replace(
            client_update=self._client_update,
            expected_update=self._expected,
            check=self._check,
            update_newcomer=self._update_newcomer,
        )
        if self.summed is None:
            return made._replace(server_update=self._server_update)
        steps = (self._step, *self.summed.steps)  # what follows sees whole messages
        return made._replace(aggregation=self.summed._replace(steps=steps))

    def _client_update(self, received: Tree, own: Tree, data: ClientContext) -> tuple[Tree, Tree]:
        before = own["left_out"] if self.feedback else {}
        own, message = self.inner.client_update(
            received, own["own"] if self.feedback else own, data
        )
        sent, left = dict(message), dict(before)
        for kind in self._kinds(message):
            parts = self._parts(kind, message[kind], received)
            sent[kind], rest = self._packed(parts, before.get(kind), data.key)
            left |= {} if rest is None else {kind: rest}
        return ({"own": own, "left_out": left} if self.feedback else own), sent

    def _packed(self, parts: _Parts, before: Tensor | None, key: Key) -> tuple[Tree, Tensor | None]:
        """What is sent of a kind, and what was left out of its update [d]."""
        sent: dict[str, Tree] = {}
        rest = None
        if parts.leaves["update"]:
            sizes = parts.sizes("update")
            update = _flat(parts.leaves["update"]) - _flat(parts.base)
            if before is not None and len(before) == len(update):
                update = update + before.double()
            sent["update"] = self.how.pack(_finite(update), sizes, key)
            if self.feedback:
                rest = (update - self.how.unpack(sent["update"], sizes).double()).float()
        if parts.leaves["value"]:
            values = _finite(_flat(parts.leaves["value"]))
            sent["value"] = self.how.pack(values, parts.sizes("value"), key)
        if parts.leaves["plain"]:
            sent["plain"] = tuple(parts.leaves["plain"])
        return sent, rest

    def _expected(self, received: Tree, info: ClientInfo) -> Tree:
        expected = dict(self.inner.expected_update(received, info))
        for kind in self._kinds(expected):
            parts = self._parts(kind, expected[kind], received)
            like = {
                part: self.how.like(parts.sizes(part))
                for part in ("update", "value")
                if parts.leaves[part]
            }
            plain = {"plain": tuple(parts.leaves["plain"])} if parts.leaves["plain"] else {}
            expected[kind] = {**like, **plain}
        return expected

    def opened(self, reply: Reply, received: Tree, client: int) -> Reply:
        """A client's reply as it was before it was compressed, but for what that lost."""
        infos = self.setting.infos
        info = infos[client] if client in infos else infos[self.setting.first]  # of a newcomer
        expected = self.inner.expected_update(received, info._replace(client=client))
        message = dict(reply.message)
        for kind in self._kinds(message):
            parts = self._parts(kind, expected[kind], received)
            message[kind] = self._unpacked(message[kind], parts, expected[kind])
        return reply._replace(message=message)

    def _unpacked(self, sent: Tree, parts: _Parts, like: Tree) -> Tree:
        found: dict[str, Iterator[Any]] = {"plain": iter(sent.get("plain", ()))}
        for part in ("update", "value"):
            leaves, sizes = parts.leaves[part], parts.sizes(part)
            vector = self.how.unpack(sent[part], sizes).double() if leaves else torch.zeros(0)
            if part == "update" and leaves:
                vector = vector + _flat(parts.base)
            found[part] = _shaped(vector, sizes, leaves)
        return fill(like, (next(found[part]) for part in parts.of))

    def _parts(self, kind: str, tree: Tree, received: Tree) -> _Parts:
        known = dict(named_leaves(received.get(kind, {})))
        changes = self.summed is not None and kind in self.summed.differences
        leaves: dict[str, list[Any]] = {"update": [], "value": [], "plain": []}
        of: list[str] = []
        base: list[Any] = []
        for path, leaf in named_leaves(tree):
            before = known.get(path)
            floating = isinstance(leaf, Tensor) and leaf.is_floating_point()
            part = "plain" if self.how.sparse or not floating else "value"
            # a running variance that moved by too much, 1 / share times or for rounds at once,
            # would be below 0
            moves = floating and not is_buffer(path.rpartition("/")[2])
            if moves and changes:
                part, before = "update", torch.zeros_like(leaf)
            elif moves and kind in UPDATED and _alike(before, leaf):
                part = "update"
            leaves[part].append(leaf)
            of.append(part)
            if part == "update":
                base.append(before)
        return _Parts(tuple(of), leaves, base)

    def _kinds(self, message: Tree) -> list[str]:
        """What is compressed of a message: of a sum what is summed, else all."""
        return [
            kind
            for kind in message
            if (self.summed is None or kind in self.summed.kinds)
            and (kind in UPDATED or not self.how.sparse)
        ]

    def _step(self, given: Contributions) -> Contributions:
        def one(client: int) -> Reply:
            return self.opened(given.replies[client], given.received(client), client)

        return given._replace(replies=DerivedReplies(given.replies, one))

    def _server_update(self, state: Tree, sent: Mapping[int, Reply], server: ServerContext) -> Tree:
        def one(client: int) -> Reply:
            return self.opened(sent[client], self.inner.broadcast(state, client), client)

        return self.inner.server_update(state, DerivedReplies(sent, one), server)

    def _update_newcomer(
        self, state: Tree, newcomer: int, reply: Reply, server: ServerContext
    ) -> Tree:
        received = self.inner.broadcast(state, newcomer)
        return self.inner.update_newcomer(
            state, newcomer, self.opened(reply, received, newcomer), server
        )

    def _check(self, start: FederationInit, participants: int) -> None:
        self.inner.check(start, participants)
        if not self.how.sparse:
            return
        received, expected = first_exchange(self.inner, self.setting, start)
        parts = [self._parts(kind, expected[kind], received) for kind in self._kinds(expected)]
        if not any(one.leaves["update"] for one in parts):
            raise FedkinError(
                f"transform {self.name} sends a part of an update, and clients of "
                f"{self.inner.name} send no updates: try quantize"
            )


def _flat(leaves: list[Tensor]) -> Tensor:
    return torch.cat([leaf.reshape(-1).double() for leaf in leaves])


def _shaped(vector: Tensor, sizes: tuple[int, ...], like: list[Tensor]) -> Iterator[Tensor]:
    for part, leaf in zip(torch.split(vector, list(sizes)), like, strict=True):
        yield part.reshape(leaf.shape).to(leaf.dtype)


def _alike(before: Any, leaf: Tensor) -> bool:
    return isinstance(before, Tensor) and before.shape == leaf.shape


def _finite(vector: Tensor) -> Tensor:
    """The vector. Raises FedkinError where training diverged, as an uncompressed one would."""
    if not bool(torch.isfinite(vector).all()):
        raise FedkinError("what it would send contains NaN or infinity")
    return vector
