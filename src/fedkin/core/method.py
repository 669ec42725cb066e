"""The contract: a method is a value, a few pure functions written for ONE client.

A client's functions see that client alone; the server's state may have something of each. Nothing
in a method knows where clients run, or that messages are counted. The server state S, the personal
state P, the messages D (received) and U (sent) are trees: dicts and tuples of tensors and numbers.
The top-level names of a message say what kind of thing is sent: they are the columns of the ledger
(``core/kinds.py``).
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, Protocol

from torch import Tensor, stack
from torch.nn.functional import logsigmoid

from fedkin.core.aggregation import Aggregation, EachClient, Reply, RuleContext, aggregated
from fedkin.core.model import Batch, Head, Model
from fedkin.core.ops import Batches, BatchSampling
from fedkin.core.rng import Key, Secret
from fedkin.core.tree import Params, Tree

__all__ = [
    "ClientContext",
    "ClientInfo",
    "DistillationTarget",
    "FederationInit",
    "Method",
    "Needs",
    "ServerContext",
    "class_scores",
    "likelihood",
    "plain_prediction",
    "public_set",
    "two_classes",
    "updated",
]


class ClientInfo(NamedTuple):
    """What a client knows of itself before training."""

    client: int
    architecture: str
    samples: int  # training samples n_i
    histogram: Tensor  # [classes] float32, counts of its training labels; zeros for regression
    public: int  # rows of the public set
    classes: int  # 0 for regression


class FederationInit(NamedTuple):
    """What the server knows before the first message."""

    parameters: Mapping[str, Params]  # initial parameters of each architecture
    clients: tuple[int, ...]
    public: int
    classes: int
    draw: Callable[[int], Params]  # k → initial parameters of the one architecture; 0: the first
    architectures: Mapping[int, str] = {}  # client → name of its architecture
    key: Key = Key(0)  # (seed,): randomness of the first server state
    heads: Mapping[str, Head] = MappingProxyType({})  # of each architecture, where it has one

    def only(self) -> Params:
        """The initial parameters where there is one architecture.

        Returns:
            name → tensor.
        """
        (params,) = self.parameters.values()
        return params


class DistillationTarget(NamedTuple):
    """What a round teaches a model that is no torch module
    (``fedkin.transforms.black_box_models``).
    """

    # class probabilities [public, classes] to come near to; None: private data alone
    target: Tensor | None
    pull: float  # how much that counts beside one mean over private samples
    public_batch: int  # public rows beside each private mini-batch
    own: Mapping[str, Any] = MappingProxyType({})  # what the personal state keeps beside the model
    temperature: float = 1.0  # predictions are sent as softmax(log s / T)


class ClientContext(Protocol):
    """One client's data and tools during one round's work.

    Nothing of it leaves the client but what U holds.
    """

    @property
    def info(self) -> ClientInfo:
        """What the client knows of itself."""

    @property
    def model(self) -> Model:
        """Its architecture."""

    @property
    def key(self) -> Key:
        """(seed, round, client): the source of all randomness."""

    @property
    def rounds_before(self) -> int:
        """How many rounds had trained when this work began: fewer than ``key.round`` − 1 where
        training ended early, because the finish keeps its number.
        """

    @property
    def public(self) -> Tensor | None:
        """The public set [public, …], without labels."""

    @property
    def public_y(self) -> Tensor | None:
        """Its labels [public], where [public] labeled = true."""

    @property
    def decay(self) -> float:
        """This round's learning-rate factor, from the schedule in [train]."""

    @property
    def secret(self) -> Secret | None:
        """The source of noise that protects this client; None where none was asked for."""

    def batches(
        self,
        draw: BatchSampling = "permuted",
        purpose: str = "batches",
        *,
        steps: int | None = None,
        epochs: int | None = None,
        beside: Tensor | None = None,
    ) -> Batches:
        """Mini-batches of private training data: Batch leaves, as many as [train] says, or so many
        steps or epochs.

        With ``beside`` [n_i, …], one row a training sample in the order of whole("train"): pairs
        (Batch, its rows).

        Args:
            draw: "permuted": passes through reshuffled samples; "uniform": each batch drawn afresh;
                "poisson": each sample is in a batch or not by a chance of its own, as DP-SGD's
                accountant counts; the client needs a ``secret``.
            purpose: Names the random stream; two scans with one purpose see the same batches.
            steps: How many batches; None: what [train] says.
            epochs: How many passes instead.
            beside: [n_i, …], a row a training sample, such as a teacher's predictions.

        Returns:
            Batches for ``scan``.
        """

    def rows(self, tensors: tuple[Tensor, ...], size: int, steps: int, purpose: str) -> Batches:
        """Mini-batches of ``size`` rows, drawn uniformly, of tensors that share a first axis (a
        public set).

        Args:
            tensors: Of one first axis, [n, …] each.
            size: Rows of a batch.
            steps: How many batches.
            purpose: Names the random stream.

        Returns:
            Batches of tuples of [size, …], in the order of ``tensors``.
        """

    def whole(self, split: str) -> list[Batch]:
        """All samples of "train", "val" or "test", in large batches; the weights of ALL rows
        together sum to 1.

        Args:
            split: "train", "val" or "test".

        Returns:
            Batches in the order of the samples; [] where the split is empty.
        """

    def score(self, w: Params, split: str) -> tuple[float, float]:
        """(mean loss, accuracy) of parameters on "train", "val" or "test"; nan where it
        is empty.

        Args:
            w: Parameters of this client's model.
            split: "train", "val" or "test".

        Returns:
            (mean loss in nats, accuracy in 0..1).
        """

    def rank(self, w: Params, split: str) -> tuple[float, float]:
        """What a choice among parameters goes by, the least first: the experiment's measure, then
        the mean loss.

        Args:
            w: Parameters of this client's model.
            split: "train", "val" or "test".

        Returns:
            (the measure, negative where higher is better, mean loss); the loss twice where these
            samples leave the measure undefined; (inf, inf) where the model predicts no numbers.
            Loss nan where the split is empty.
        """

    def rank_error(self, w: Params, split: str, rank: tuple[float, float]) -> float:
        """Standard error of the measure that ``rank`` goes by: how far it would lie on other
        samples of the same client.

        Args:
            w: Parameters of this client's model.
            split: "train", "val" or "test".
            rank: What ``rank`` gave for them.

        Returns:
            In the measure's unit; 0 where these samples leave it undefined.
        """


class ServerContext(Protocol):
    """The server's tools during one round's update: what it may use beside its state and the
    replies.
    """

    @property
    def key(self) -> Key:
        """(seed, round): the source of all randomness."""

    @property
    def secret(self) -> Secret | None:
        """The source of noise that protects clients; None where none was asked for."""

    @property
    def decay(self) -> float:
        """This round's learning-rate factor, from the schedule in [train]."""

    @property
    def models(self) -> Mapping[str, Model]:
        """Every architecture, by name; none unless ``Needs.server_models``."""

    @property
    def public(self) -> Tensor | None:
        """The public set [public, …], without labels."""

    @property
    def public_y(self) -> Tensor | None:
        """Its labels [public], where [public] labeled = true."""

    def rows(
        self, model: Model, tensors: tuple[Tensor, ...], size: int, steps: int, purpose: str
    ) -> Batches:
        """Mini-batches of ``size`` rows, drawn uniformly, of tensors that share a first axis, for
        ``model``.

        Args:
            model: Whose parameters the steps move.
            tensors: Of one first axis, [n, …] each.
            size: Rows of a batch.
            steps: How many batches.
            purpose: Names the random stream.

        Returns:
            Batches of tuples of [size, …], in the order of ``tensors``.
        """


def public_set(data: ClientContext | ServerContext) -> Tensor:
    """The public set [public, …] of a method that needs one.

    Args:
        data: Of a client or of the server.

    Returns:
        The samples, the same on every machine.

    Raises:
        ValueError: The run has none: the method's ``needs`` do not say "public".
    """
    if data.public is None:
        raise ValueError("this method uses a public set: say so in its needs")
    return data.public


class Needs(NamedTuple):
    """What a method needs of an experiment; checked before training."""

    one_architecture: bool = True
    public: Literal["none", "unlabeled", "labeled"] = "none"
    full_participation: bool = False
    classes: bool = False  # class probabilities, not regression
    validation: bool = False  # validation samples at every client
    head: bool = False  # every model has a head
    sampling: Literal["uniform", "size"] = "uniform"  # of participants; "size": by p_k
    # who sends before the first round
    introduction: Literal["none", "participants", "everyone"] = "none"
    server_models: bool = False  # the server runs models itself, and is given them
    plain_sgd: bool = False  # its update takes what a client did for steps of plain SGD
    # its server computes with the mean as such: no optimizer, and no rule in its place, may bend it
    plain_mean: bool = False
    # A comparator outside federation: one worker trains on the union of all training data
    pooled: bool = False


def _nothing(*_: Any) -> dict[str, Any]:
    return {}


def _accept(start: FederationInit, participants: int) -> None:
    pass


def _as_it_is(state: Tree, newcomer: int, info: ClientInfo) -> tuple[Tree, ...]:
    return (state,)


def _unmoved(state: Tree, newcomer: int, reply: Reply, server: ServerContext) -> Tree:
    return state


def likelihood(model: Model, outputs: Tensor) -> Tensor:
    """Outputs as predictions: log-probabilities [batch, classes], or means [batch, 1] for
    regression.

    Args:
        model: Its family says which.
        outputs: Linear predictors [batch, outputs].

    Returns:
        [batch, classes], or [batch, 1] for regression.
    """
    if not model.family.classes:
        return model.family.mean(outputs)
    if model.family.name == "bernoulli":
        return two_classes(outputs)
    return outputs.log_softmax(1)


def two_classes(outputs: Tensor) -> Tensor:
    """One logit [batch, 1] as log-probabilities of two classes [batch, 2].

    Args:
        outputs: [batch, 1], the logit of class 1.

    Returns:
        Classes 0 and 1, in this order.
    """
    return stack([logsigmoid(-outputs[:, 0]), logsigmoid(outputs[:, 0])], 1)


def class_scores(outputs: Tensor) -> Tensor:
    """Scores of the classes of a classifier: its logits; a single logit as the log-probabilities of
    both classes, whose softmax at any temperature T is σ(∓logit / T).

    Args:
        outputs: Linear predictors [batch, outputs].

    Returns:
        [batch, classes].
    """
    return two_classes(outputs) if outputs.shape[1] == 1 else outputs


def plain_prediction(model: Model, q: Params, x: Tensor) -> Tensor:
    """The default ``predict``: the model with parameters ``q``.

    Args:
        model: The client's architecture.
        q: Its parameters.
        x: Samples [batch, …].

    Returns:
        As ``likelihood`` has it.
    """
    return likelihood(model, model.outputs(q, x))


class Method(NamedTuple):
    """A personalized federated learning method. See METHODS in fedkin.methods for all of them."""

    name: str
    server: Callable[[FederationInit], Tree]
    """First server state S."""
    client: Callable[[Params, ClientInfo], Tree]
    """One client's first personal state P, given the initial parameters of its architecture."""
    broadcast: Callable[[Tree, int], Tree]
    """(S, client) → D, the message to one client.

    Equal tensors are sent once and counted as a broadcast.
    """
    client_update: Callable[[Tree, Tree, ClientContext], tuple[Tree, Tree]]
    """(D, P, data) → (P, U): the round's work of one client and its message up."""
    expected_update: Callable[[Tree, ClientInfo], Tree]
    """(D, info) → a tree with the structure, shapes and dtypes that U must have; anything else is
    rejected. In the place of a tensor ``UpTo`` takes fewer rows, too.
    """
    server_update: Callable[[Tree, Any, ServerContext], Tree]
    """(S, sent, server) → S: the server's update from what ``aggregation`` made of the replies that
    arrived: a Mean, {group: Mean}, or {client: Reply} in client order.
    """
    personal_models: Callable[[Tree, Tree, ClientContext], dict[str, Tree]]
    """(D, P, data) → views: {"personal": what the client would deploy, "global": … where there is
    one}.

    ``data`` is for methods whose personal model is made when it is asked for (a step from the
    global model, the choice among several): training data only.
    """
    predict: Callable[[Model, Tree, Tensor], Tensor] = plain_prediction
    """(model, Q, x) → log-probabilities [batch, classes] of a view Q (means [batch, 1] for
    regression).

    A pure function, and one object for all calls: where Q is a model's parameters it is traced, as
    steps are.
    """
    finalize: Callable[[Tree, Tree, ClientContext], Tree] | None = None
    """(D, P, data) → P: local work after the last round; also what a new client runs to join."""
    setup_message: Callable[[Tree, ClientContext], Tree] | None = None
    """(P, data) → U: a message before the first round (``needs.introduction`` says whose)."""
    expected_setup: Callable[[Tree, ClientInfo], Tree] | None = None
    """(S, info) → what ``expected_update`` is for a round, for the message before the first one.

    ``setup_message``, ``expected_setup``, ``setup_update`` and ``needs.introduction`` are given
    together, or none of them.
    """
    setup_update: Callable[[Tree, Mapping[int, Reply], ServerContext], Tree] | None = None
    """(S, {client: Reply} of the setup messages, server) → S."""
    aggregation: Aggregation = EachClient()
    """What the server's update needs of the replies: a weighted sum, one a group, or every one by
    itself.
    """
    distillation_target: Callable[[Tree, Tree, Tensor], DistillationTarget] | None = None
    """(D, P, its predictions on the public set) → what a round teaches a client whose model is no
    torch module.

    For methods that send nothing but predictions, and keep the model under P["parameters"]; None
    refuses such models.
    """
    sends_scores: bool = False
    """Its predictions are scores of the classes (logits), not probabilities: [privacy], whose noise
    on predictions counts on rows of the simplex, refuses it.
    """
    client_metrics: Callable[[Tree], dict[str, Any]] = _nothing
    """P → what the record keeps of a client: {name: number, or vector}. Not a message."""
    server_metrics: Callable[[Tree], dict[str, dict[int, Any]]] = _nothing
    """S → what the record keeps of the federation: {name: {client: number or vector}}."""
    check: Callable[[FederationInit, int], None] = _accept
    """(start, participants a round) raises FedkinError where the hyper-parameters do not fit the
    federation.
    """
    newcomer_placements: Callable[[Tree, int, ClientInfo], tuple[Tree, ...]] = _as_it_is
    """(S, newcomer, info) → candidate server states, one for each cluster the newcomer could join.

    The newcomer's number is the first free one. It trains against each candidate, which does not
    change meanwhile, and its validation loss selects one. A method whose ``broadcast`` is the same
    for all clients needs none of this.
    """
    update_newcomer: Callable[[Tree, int, Reply, ServerContext], Tree] = _unmoved
    """(S, newcomer, its reply, server) → S with the newcomer's own entries updated.

    Entries of other clients and everything shared stay as they are.
    """
    hyper: Mapping[str, Any] = {}
    """The hyper-parameters it was made with."""
    needs: Needs = Needs()
    beside_own: bool = False
    """Its clients train a model alone beside, which their validation may prefer: [method] safe."""


def updated(
    method: Method, state: Tree, replies: Mapping[int, Reply], server: ServerContext
) -> Tree:
    """The server state after a round.

    Args:
        method: Whose update it is.
        state: S before the round.
        replies: What arrived, in client order; at least one.
        server: The server's tools.

    Returns:
        S after ``server_update`` of what ``aggregation`` makes of the replies.
    """

    def context() -> RuleContext:
        return RuleContext(
            lambda one: method.broadcast(state, one), server.key.round, server.secret, state
        )

    return method.server_update(state, aggregated(method.aggregation, replies, context), server)
