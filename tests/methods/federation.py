"""A real Coordinator over a real Host, in float64 and without files; and the same batches as data
for the references.

What a client drew is not asked of the method: the harness rebuilds it from the same public
functions of the house (``LocalData`` over row numbers instead of samples, scikit-learn's seeding
from the same key) and hands it to the references as index tables.
"""

from collections import OrderedDict, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import torch
from sklearn.cluster import kmeans_plusplus
from torch import nn

from fedkin.core.family import CATEGORICAL, FAMILIES, Family
from fedkin.core.method import ClientInfo, FederationInit, Method
from fedkin.core.model import Batch, Model, from_module
from fedkin.core.optimizers import PLAIN, Optimizer
from fedkin.core.rng import Key
from fedkin.core.tree import map_tree
from fedkin.data.population import Population
from fedkin.engine.codec import decode
from fedkin.engine.contexts import LocalData, Schedule, ServerTools
from fedkin.engine.coordinator import Coordinator
from fedkin.engine.host import Host, Resources
from fedkin.engine.op import Task, TaskResult
from fedkin.engine.round.federation import Federation
from fedkin.engine.store import Memory
from fedkin.engine.transports.base import InProcess
from fedkin.models.head import with_head
from fedkin.runs.record import Record
from fedkin.runtime.replay import Runtime

SIZES = (
    5,
    9,
    4,
    11,
    7,
)  # a batch of 4 leaves partial ones, fills exactly, and holds a whole client
WIDTH, CLASSES, HIDDEN = 4, 3, 5
SEED = 7


# --- data and models


def population(
    sizes: Sequence[int] = SIZES,
    *,
    seed: int = 0,
    classes: int = CLASSES,
    family: str = "categorical",
    val: int = 7,
    test: int = 6,
    public: int = 0,
    groups: int = 0,
    dtype: torch.dtype = torch.float64,
) -> Population:
    """Clients of unequal sizes; each labels its samples by a truth of its own, or of its group
    (client mod groups).
    """
    rng = np.random.default_rng(seed)
    xs, ys, splits = [], [], {"train": [], "val": [], "test": []}
    at = 0
    truths = [4.0 * rng.normal(size=(WIDTH, classes)) for _ in range(groups)]
    for client, n in enumerate(sizes):
        truth = truths[client % groups] if groups else rng.normal(size=(WIDTH, classes))
        total = n + val + test
        x = rng.normal(size=(total, WIDTH))
        xs.append(x)
        ys.append(_labels(rng, x, truth, family))
        order = at + rng.permutation(total)  # a client's splits are not neighbours in the table
        for name, rows in zip(splits, np.split(order, [n, n + val]), strict=True):
            splits[name].append(np.sort(rows).astype(np.int64))
        at += total
    y = torch.from_numpy(np.concatenate(ys))
    return Population(
        name="small",
        x=torch.from_numpy(np.concatenate(xs)).to(dtype),
        y=y if y.dtype == torch.int64 else y.to(dtype),
        classes={"categorical": classes, "bernoulli": 2}.get(family, 0),
        task="classification" if family in ("categorical", "bernoulli") else "regression",
        **{name: tuple(rows) for name, rows in splits.items()},
        public=torch.from_numpy(rng.normal(size=(public, WIDTH))).to(dtype) if public else None,
        public_y=torch.from_numpy(rng.integers(classes, size=public)) if public else None,
    )


def _labels(rng: np.random.Generator, x: np.ndarray, truth: np.ndarray, family: str) -> np.ndarray:
    score = x @ truth
    if family == "categorical":
        return np.argmax(score + 0.5 * rng.normal(size=score.shape), axis=1).astype(np.int64)
    if family == "bernoulli":
        return (score[:, 0] + 0.5 * rng.normal(size=len(x)) > 0).astype(np.int64)
    if family == "poisson":
        return rng.poisson(np.exp(np.clip(0.4 * score[:, 0], -2, 2))).astype(np.float64)
    return score[:, 0] + 0.3 * rng.normal(size=len(x))


def architecture(
    kind: str = "mlr",
    seed: int = 1,
    *,
    classes: int = CLASSES,
    family: Family = CATEGORICAL,
    dtype=torch.float64,
) -> Model:
    """A linear softmax or a one-hidden-layer net whose parameter names are those of
    tests/reference/model.py.
    """
    width = classes if family.name == "categorical" else 1
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        if kind == "glm":
            module: nn.Module = nn.Linear(WIDTH, 1, bias=False)
        elif kind == "mlr":
            module = nn.Linear(WIDTH, width)
        else:
            layers = {
                "hidden": nn.Linear(WIDTH, HIDDEN),
                "relu": nn.ReLU(),
                "out": nn.Linear(HIDDEN, width),
            }
            module = nn.Sequential(OrderedDict(layers))
    model = from_module(kind, module.to(dtype), family)
    return with_head(model, module, torch.ones(2, WIDTH, dtype=dtype))


def clients_of(people: Population) -> dict[int, dict[str, np.ndarray]]:
    """The clients as the references want them."""
    found = {}
    for client in range(people.clients):
        parts = {end: people.part(client, end or "train") for end in ("", "val", "test")}
        found[client] = {
            f"{name}_{end}".strip("_"): part.numpy()
            for end, xy in parts.items()
            for name, part in zip("xy", xy)
        }
    return found


def arrays(tree: Any) -> Any:
    """Tensors as NumPy arrays."""
    return map_tree(
        lambda leaf: leaf.detach().numpy().copy() if isinstance(leaf, torch.Tensor) else leaf, tree
    )


class Staged(NamedTuple):
    """A federation that was run: evidence for certificates."""

    method: str
    clients: int
    rounds: int
    participation: float


STAGED: set[Staged] = set()  # since the present test began


# --- the federation


class Moment(NamedTuple):
    """What stood where after one round, as NumPy trees."""

    record: Record
    state: Any
    down: dict[int, Any]
    up: dict[int, Any]
    own: dict[int, Any]
    downs_to_evaluate: dict[int, Any]


def told_in(moment: Moment, values: Mapping[int, Any]) -> dict[int, Any]:
    """Of what the server knows of clients the part that a round's record tells: its
    participants'.
    """
    return {k: values[k] for k in moment.record.participants}


class Tape:
    """A transport that writes down every message and, if told so, hands out the orders in another
    sequence.
    """

    def __init__(self, inner: InProcess, shuffle: int | None = None) -> None:
        self.inner = inner
        self.orders: dict[str, dict[int, Any]] = {}
        self.answers: dict[str, dict[int, Any]] = {}
        self._rng = None if shuffle is None else np.random.default_rng(shuffle)

    def ask(self, op: str, round: int, orders: Iterable[Task]) -> Iterator[TaskResult]:
        orders = self._mixed(list(orders))
        self.orders[op] = {o.client: {} if o.message is None else decode(o.message) for o in orders}
        answers = self._mixed(list(self.inner.ask(op, round, orders)))
        self.answers[op] = {
            a.client: None if a.message is None else decode(a.message) for a in answers
        }
        yield from answers

    def _mixed(self, items: list[Any]) -> list[Any]:
        return (
            items
            if self._rng is None
            else [items[int(i)] for i in self._rng.permutation(len(items))]
        )

    def digests(self, clients: Iterable[int]) -> dict[int, str]:
        return self.inner.digests(clients)


class Federated:
    """One experiment: ``setup`` and ``run`` rounds, then look at the moments."""

    def __init__(
        self,
        method: Method,
        people: Population,
        models: Mapping[str, Model] | None = None,
        *,
        architectures: Sequence[str] | None = None,
        seed: int = SEED,
        batch_size: int = 4,
        steps: int | None = None,
        epochs: int | None = None,
        participation: float = 1.0,
        milestones: tuple[int, ...] = (),
        decay: float = 0.1,
        compile: str = "never",
        shuffle: int | None = None,
        draws: Sequence[Model] = (),
        only: int | None = None,
        optimizer: Optimizer = PLAIN,
    ) -> None:
        models = models or {"mlr": architecture(classes=people.classes)}
        names = list(architectures or [next(iter(models))] * people.clients)
        histogram = torch.from_numpy(people.histogram("train")).to(torch.float32)
        public = 0 if people.public is None else len(people.public)
        self.method, self.people, self.models, self.seed = method, people, models, seed
        self.infos = {
            k: ClientInfo(k, names[k], len(people.train[k]), histogram[k], public, people.classes)
            for k in range(people.clients)
        }
        self.draws = list(draws)
        start = FederationInit(
            {name: model.initial for name, model in models.items()},
            tuple(self.infos),
            public,
            people.classes,
            lambda k: self._draw(k).initial,
            dict(enumerate(names)),
            Key(seed),
            {name: model.head for name, model in models.items() if model.head is not None},
        )
        self.schedule = Schedule(batch_size, steps, epochs, milestones, decay, optimizer=optimizer)
        self.runtime = Runtime(compile)  # type: ignore[arg-type]
        hosted = self.infos if only is None else {only: self.infos[only]}
        resources = Resources(self.runtime, Memory())
        self.host = Host(method, models, hosted, people, self.schedule, resources, seed)
        self.tape = Tape(InProcess(self.host), shuffle)
        at_server = models if method.needs.server_models else {}
        tools = ServerTools(
            Key(seed), at_server, people.public, people.public_y, self.runtime, self.schedule
        )
        federation = Federation(start, self.infos, seed, participation, tools)
        method.check(start, max(1, int(np.ceil(participation * people.clients))))
        self.coordinator = Coordinator(method, federation, self.tape)
        self.introduction: Record | None = None
        self.introductions: dict[int, Any] = {}
        self.moments: list[Moment] = []

    def _draw(self, number: int) -> Model:
        if self.draws:
            return self.draws[number]
        first = next(iter(self.models.values()))
        like = next(iter(first.initial.values())).dtype
        how = {"classes": self.people.classes, "family": first.family, "dtype": like}
        return first if number == 0 else architecture(first.name, 100 + number, **how)

    def setup(self) -> "Federated":
        self.introduction = self.coordinator.setup()
        self.introductions = arrays(self.tape.answers.get("introduce", {}))
        return self

    def run(self, rounds: int, evaluate: bool = True) -> "Federated":
        if self.introduction is None:
            self.setup()
        whole = self.coordinator.schedule
        if not evaluate:
            self.coordinator.schedule = whole._replace(evaluated=lambda number, last: [])
        for number in range(len(self.moments) + 1, len(self.moments) + rounds + 1):
            record = self.coordinator.round(number)
            assert record.missing == {}, record.missing
            self.moments.append(self._moment(record, "local"))
        self.coordinator.schedule = whole
        share = self.coordinator.federation.participation
        STAGED.add(Staged(self.method.name, len(self.infos), len(self.moments), share))
        return self

    def finish(self) -> Moment:
        return self._moment(self.coordinator.finish(len(self.moments) + 1), "finish")

    def _moment(self, record: Record, op: str) -> Moment:
        tape = self.tape
        return Moment(
            record,
            arrays(self.coordinator.state),
            arrays(tape.orders.get(op, {})),
            arrays(tape.answers.get(op, {})),
            arrays({k: self.host.personal_state(k) for k in self.host.infos}),
            tape.orders.get("evaluate_all" if op == "finish" else "evaluate", {}),
        )

    # --- what the references need as data
    # -----------------------------------------------------------------------------

    @property
    def data(self) -> dict[int, dict[str, np.ndarray]]:
        return clients_of(self.people)

    def participants(self, rounds: int) -> list[list[int]]:
        return [self.coordinator.schedule.participants(t) for t in range(1, rounds + 1)]

    def rates(self, lr: float, rounds: int) -> list[float]:
        """lr, times decay after each milestone: round 1 is the first entry."""
        return [
            lr * self.schedule.milestone_factor ** sum(t > m for m in self.schedule.milestones)
            for t in range(1, rounds + 1)
        ]

    def plan(self, rounds: int, **how: Any) -> list[dict[int, list[tuple[np.ndarray, np.ndarray]]]]:
        """plan[t][k]: (positions, weights) of every mini-batch of client k in round t + 1."""
        return [{k: self.batches(t, k, **how) for k in self.infos} for t in range(1, rounds + 1)]

    def batches(self, round: int, client: int, **how: Any) -> list[tuple[np.ndarray, np.ndarray]]:
        batches = self._numbered(round, client).batches(**how)
        return self._table(client, batches.gather(0, batches.steps))

    def student_plan(
        self, round: int, client: int, epochs: int
    ) -> list[tuple[np.ndarray, np.ndarray]]:
        """The same for ``Data.epochs``; the rows beside a batch are those of the batch's own
        samples.
        """
        n = self.infos[client].samples
        beside = torch.arange(n, dtype=torch.float64)[:, None]
        batches = self._numbered(round, client).batches(
            "permuted", "students", epochs=epochs, beside=beside
        )
        batch, rows = batches.gather(0, batches.steps)
        table = self._table(client, batch)
        for (index, _), row in zip(table, rows.numpy()[..., 0], strict=True):
            np.testing.assert_array_equal(index, row)
        return table

    def public_rows(self, round: int, client: int, size: int, steps: int) -> list[np.ndarray]:
        """Which rows of the public set each local step saw."""
        assert self.people.public is not None
        numbers = torch.arange(len(self.people.public))
        batches = self._numbered(round, client).rows((numbers,), size, steps, "public")
        assert batches.steps == steps
        return list(batches.gather(0, steps)[0].numpy())

    def _numbered(self, round: int, client: int) -> LocalData:
        people = self.people
        numbers = torch.arange(len(people.x))
        return replace(
            self.host.data(round, client), population=replace(people, x=numbers, y=numbers)
        )

    def _table(self, client: int, batch: Batch) -> list[Any]:
        index = np.searchsorted(self.people.train[client], batch.x.numpy())
        return list(zip(index, batch.weight.double().numpy(), strict=True))

    def seeds(self, round: int, points: np.ndarray, clusters: int, start: int = 0) -> list[int]:
        """Which rows of ``points`` the k-means of a round starts from: k-means++ from the key of
        (seed, round).
        """
        state = np.random.RandomState(Key(self.seed, round).integer(f"kmeans:{start}") % 2**32)
        flat = np.ascontiguousarray(points.reshape(len(points), -1))
        return [int(i) for i in kmeans_plusplus(flat, clusters, random_state=state)[1]]


def family_of(name: str) -> Family:
    return FAMILIES[name]


# --- agreement

TOLERANCE = 1e-9
WORST: dict[str, float] = defaultdict(
    float
)  # per method, over the whole session: printed by conftest.py


def agree(method: str, ours: Any, theirs: Any, tolerance: float = TOLERANCE) -> None:
    """Two trees are equal, relative to the larger of 1 and the reference's largest entry; the worst
    is kept.
    """
    if isinstance(theirs, Mapping):
        assert set(ours) == set(theirs)
        for name in theirs:
            agree(method, ours[name], theirs[name], tolerance)
        return
    if isinstance(theirs, list | tuple):
        assert len(ours) == len(theirs)
        for a, b in zip(ours, theirs, strict=True):
            agree(method, a, b, tolerance)
        return
    a, b = np.asarray(ours, dtype=np.float64), np.asarray(theirs, dtype=np.float64)
    assert a.shape == b.shape
    if a.size:
        gap = float(np.max(np.abs(a - b)) / max(1.0, float(np.max(np.abs(b)))))
        assert gap <= tolerance, f"{method}: {gap:.2e} apart"
        WORST[method] = max(WORST[method], gap)


def agree_scores(
    method: str,
    moment: Moment,
    client: int,
    split: str,
    loss: float,
    accuracy: float,
    view="personal",
):
    """The record's (loss, accuracy) of one client's view are those of the reference's model."""
    ours = moment.record.scores[client][view][split]
    agree(method, ours[0], loss)
    if not np.isnan(accuracy):
        assert ours[1] == accuracy
