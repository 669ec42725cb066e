"""A federation over recorded mini-batches: the method's own functions, called with what other
people's code drew.
"""

from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from fedkin.core.aggregation import Reply
from fedkin.core.family import FAMILIES
from fedkin.core.method import ClientInfo, FederationInit, Method, plain_prediction, updated
from fedkin.core.model import Batch, Model, from_module
from fedkin.core.ops import Batches
from fedkin.core.optimizers import PLAIN, Optimizer
from fedkin.core.rng import Key
from fedkin.core.tree import Params, Tree, row
from fedkin.engine.evaluation import score
from fedkin.engine.measures import standard_error_of_share
from fedkin.runtime.replay import Runtime
from tests.golden.trace import Trace

Tables = Mapping[str, np.ndarray]  # purpose → [round, client, step, place]
RUNTIME = Runtime("never")


def linear(outputs: int = 3, *, bias: bool = True, family: str = "categorical") -> Model:
    """Softmax regression (or one output) over 4 features."""
    return from_module(
        "linear", nn.Linear(4, outputs, bias=bias).to(torch.float64), FAMILIES[family]
    )


def perceptron() -> Model:
    """4 → 5 → 3 with relu."""
    layers = OrderedDict(hidden=nn.Linear(4, 5), relu=nn.ReLU(), out=nn.Linear(5, 3))
    return from_module(
        "perceptron", nn.Sequential(layers).to(torch.float64), FAMILIES["categorical"]
    )


@dataclass(frozen=True)
class RecordedClient:
    """What a method is given of one client in one round: recorded samples and recorded
    mini-batches.
    """

    info: ClientInfo
    model: Model
    key: Key
    samples: Mapping[str, tuple[Tensor, Tensor]]  # split → (x, y)
    tables: Mapping[str, np.ndarray]  # purpose → [step, place]
    decay: float = 1.0
    public: Tensor | None = None
    public_y: Tensor | None = None
    optimizer: Optimizer = PLAIN

    def batches(
        self,
        draw: str = "permuted",
        purpose: str = "batches",
        *,
        steps: int | None = None,
        epochs: int | None = None,
        beside: Tensor | None = None,
    ) -> Batches:
        """The recorded ones of this purpose, each row of a batch of b rows weighing 1/b
        in float64.
        """
        assert epochs is None
        table = self.tables[purpose]
        table = torch.from_numpy(table[(table >= 0).any(1)])
        assert steps is None or steps == len(table), (
            f"{purpose}: {steps} steps of {len(table)} recorded"
        )
        x, y = self.samples["train"]

        def gather(first: int, last: int) -> Tree:
            index = table[first:last]
            real = (index >= 0).to(torch.float64)
            at = index.clamp_min(0)
            batch = Batch(x[at], y[at], real / real.sum(1, keepdim=True))
            return batch if beside is None else (batch, beside[at])

        return Batches(RUNTIME, self.model, len(table), gather, optimizer=self.optimizer)

    def rows(self, tensors: tuple[Tensor, ...], size: int, steps: int, purpose: str) -> Batches:
        return recorded_rows(self.model, tensors, self.tables[purpose], size, steps)

    def whole(self, split: str) -> list[Batch]:
        x, y = self.samples[split]
        return [Batch(x, y, torch.full((len(x),), 1 / len(x), dtype=torch.float64))]

    def score(self, w: Params, split: str) -> tuple[float, float]:
        x, y = self.samples[split]
        return score(
            RUNTIME,
            self.model,
            w,
            plain_prediction,
            torch.arange(len(x)),
            lambda at: (x[at], y[at]),
        )

    def rank(self, w: Params, split: str) -> tuple[float, float]:
        loss, accuracy = self.score(w, split)
        return -accuracy, loss

    def rank_error(self, w: Params, split: str, rank: tuple[float, float]) -> float:
        return standard_error_of_share(-rank[0], len(self.samples[split][0]))


@dataclass(frozen=True)
class RecordedServer:
    """The server's tools of one round."""

    key: Key
    models: Mapping[str, Model]
    public: Tensor | None = None
    table: np.ndarray | None = None
    decay: float = 1.0
    public_y: Tensor | None = None

    def rows(
        self, model: Model, tensors: tuple[Tensor, ...], size: int, steps: int, purpose: str
    ) -> Batches:
        assert self.table is not None
        return recorded_rows(model, tensors, self.table, size, steps)


def recorded_rows(
    model: Model, tensors: tuple[Tensor, ...], table: np.ndarray, size: int, steps: int
) -> Batches:
    """The first ``steps`` recorded draws [step, place] of ``size`` rows."""
    assert table.shape[1] == size
    assert len(table) >= steps
    index = torch.from_numpy(table)
    return Batches(
        RUNTIME, model, steps, lambda a, b: tuple(tensor[index[a:b]] for tensor in tensors)
    )


class Moment(NamedTuple):
    """One round: what was sent, what stood where after it."""

    down: dict[int, Tree]
    up: dict[int, Tree]
    own: dict[int, Tree]
    state: Tree


class Replay:
    """A method, the recorded clients, and where both stand."""

    def __init__(
        self,
        method: Method,
        trace: Trace,
        model: Model,
        *,
        several: int = 0,
        tables: Tables | None = None,
        decays: Sequence[float] = (),
        optimizer: Optimizer = PLAIN,
    ) -> None:
        """``several``: the trace starts from so many models. ``optimizer``: of clients' steps."""
        self.method, self.decays, self.optimizer = method, decays, optimizer
        self.tables: Tables = tables or {
            "batches": trace.array("batches", -1, len(trace.sizes), -1, -1)
        }
        drawn = trace.tree("initial", model.initial, *([several] if several else []))
        starts = [row(drawn, k) for k in range(several)] if several else [drawn]
        self.model = model._replace(initial=starts[0])
        self.samples = samples_of(trace, model)
        classes = {"categorical": 3, "bernoulli": 2}.get(model.family.name, 0)
        self.infos = {
            k: ClientInfo(k, model.name, len(x), torch.zeros(classes), 0, classes)
            for k, (x, _) in enumerate(part["train"] for part in self.samples)
        }
        start = FederationInit(
            {model.name: self.model.initial},
            tuple(self.infos),
            0,
            classes,
            lambda k: starts[k],
            dict.fromkeys(self.infos, model.name),
        )
        self.state = method.server(start)
        self.own = {k: method.client(self.model.initial, info) for k, info in self.infos.items()}
        self._introduced()

    def _introduced(self) -> None:
        if self.method.setup_message is None or self.method.setup_update is None:
            return
        sent = {k: self.method.setup_message(own, self.data(0, k)) for k, own in self.own.items()}
        self.state = self.method.setup_update(
            self.state, self.replies(sent), RecordedServer(Key(0, 0), {})
        )

    def replies(self, sent: Mapping[int, Tree]) -> dict[int, Reply]:
        return {k: Reply(up, float(self.infos[k].samples)) for k, up in sent.items()}

    def data(self, round: int, client: int) -> RecordedClient:
        """``round`` counts from 0, as the arrays do."""
        tables = {purpose: table[round, client] for purpose, table in self.tables.items()}
        decay = self.decays[round] if self.decays else 1.0
        key = Key(0, round + 1, client)
        return RecordedClient(
            self.infos[client],
            self.model,
            key,
            self.samples[client],
            tables,
            decay,
            optimizer=self.optimizer,
        )

    def round(self, number: int, who: Iterable[int] | None = None) -> Moment:
        """Work of all clients (or of those named) and the server's update."""
        method, down, up = self.method, {}, {}
        for k in self.infos if who is None else who:
            down[k] = method.broadcast(self.state, k)
            self.own[k], up[k] = method.client_update(down[k], self.own[k], self.data(number, k))
        tools = RecordedServer(Key(0, number + 1), {})
        self.state = updated(method, self.state, self.replies(up), tools)
        return Moment(down, up, dict(self.own), self.state)


def samples_of(trace: Trace, model: Model) -> list[dict[str, tuple[Tensor, Tensor]]]:
    """Every client's recorded samples, by split."""
    found: list[dict[str, Any]] = [{} for _ in trace.sizes]
    for split, end in (("train", ""), ("val", "val_")):
        if f"{end}x" not in trace.arrays and split == "val":
            continue
        x, y = (
            torch.from_numpy(trace.array(f"{end}x", -1, 4)),
            torch.from_numpy(trace.array(f"{end}y", -1)),
        )
        owner = torch.from_numpy(trace.array(f"{end}client", len(x)))
        for client, part in enumerate(found):
            part[split] = x[owner == client], y[owner == client]
    return found
