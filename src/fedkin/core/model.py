"""A model as methods see it: pure functions of parameters; the torch module is only
their recipe.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple, Protocol

import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm, _NormBase

from fedkin.core.errors import FedkinError
from fedkin.core.family import CATEGORICAL, Family
from fedkin.core.module_state import state_dict_of
from fedkin.core.tree import BUFFER, Params, is_buffer

__all__ = [
    "RAW",
    "Array",
    "Batch",
    "Head",
    "Inputs",
    "Learner",
    "LearnerBatch",
    "Model",
    "State",
    "collecting_buffers",
    "from_module",
    "head_of",
]

Array = npt.NDArray[Any]
State = Mapping[str, Array]  # what a model that is no torch module has learned


class Batch(NamedTuple):
    """One mini-batch.

    Rows with weight 0 are padding; the other weights are 1 / (samples in the batch), so that they
    sum to 1. Where each sample is drawn by a chance of its own ("poisson"), they are 1 / (samples
    expected in a batch), whatever was drawn: they sum to 1 on average, and to 0 in an empty batch.
    """

    x: Tensor  # [batch, …] uint8 pixels (scaled to [0, 1] by the model), float features, or tokens
    y: Tensor  # [batch] int64 classes, or float targets
    weight: Tensor  # [batch]


class LearnerBatch(NamedTuple):
    """One mini-batch: private samples x [b, …] with labels y [b]; beside them public ones [p, …]
    with a target.

    target: class probabilities [p, classes] that predictions on ``public`` are to come near to,
    None where there is none yet. pull: how much that counts beside one mean over the private
    samples.
    """

    x: Array
    y: Array
    public: Array | None
    target: Array | None
    pull: float


class Learner(Protocol):
    """What a user's class must have.

    It is made once; all that changes is in the state, which it must not keep.
    """

    def start(self) -> State:
        """The first state: named arrays of numbers.

        Returns:
            name → array, of any shapes.
        """

    def fit(self, state: State, batches: Iterator[LearnerBatch]) -> State:
        """The state after a round's mini-batches, as many as [train] says.

        Args:
            state: As ``fit`` or ``start`` left it.
            batches: One a mini-batch.

        Returns:
            The new state, again named arrays of numbers.
        """

    def predict(self, state: State, x: Array) -> Array:
        """Class probabilities [n, classes] of samples x [n, …].

        Args:
            state: As ``fit`` left it.
            x: Samples, as the data set has them.

        Returns:
            Rows that sum to 1.
        """


class Head(NamedTuple):
    """The last part of a model: ``outputs(w, x)`` is ``scores(w, features(w, x))``, and so in
    training. ``fedkin.models.head`` finds it.
    """

    names: tuple[str, ...]  # of its parameters
    size: int  # numbers in a row of features
    linear: bool  # whether it is one linear layer
    features: Callable[[Params, Tensor], Tensor]
    """(w, x) → what enters the head [batch, size], evaluation mode."""
    train_features: Callable[[Params, Tensor], Tensor]
    """The same in training mode: batch statistics, dropout."""
    scores: Callable[[Params, Tensor], Tensor]
    """(w, features) → linear predictors (logits) [batch, C]; w may hold the head alone."""


class Inputs(NamedTuple):
    """How samples enter a model: (x − mean) / std, one number for all or one a channel; () leaves
    them as they are.
    """

    mean: tuple[float, ...] = ()
    std: tuple[float, ...] = ()
    tokens: bool = False  # samples are rows of symbols, which are integers

    def __call__(self, x: Tensor, like: Tensor) -> Tensor:
        """uint8 images become numbers in [0, 1] first; floats take the model's dtype; tokens become
        int64.
        """
        if x.dtype != torch.uint8 and not x.is_floating_point():
            return x.to(torch.int64)
        x = x.to(like.dtype) / 255 if x.dtype == torch.uint8 else x.to(like.dtype)
        if self.mean:
            x = x - _by_channel(self.mean, x)
        return x / _by_channel(self.std, x) if self.std else x


RAW = Inputs()


def _by_channel(values: tuple[float, ...], x: Tensor) -> Tensor | float:
    if len(values) == 1:
        return values[0]
    return torch.tensor(values, dtype=x.dtype).to(x.device).view(-1, *[1] * (x.dim() - 2))


def _left_here(w: Params) -> Params:
    return w


class Model(NamedTuple):
    """One architecture.

    ``w`` is a flat dict, name → tensor; running statistics are named ``buffer:…``.
    """

    name: str
    initial: Params
    family: Family
    outputs: Callable[[Params, Tensor], Tensor]
    """(w, x) → linear predictors (logits) [batch, C], evaluation mode."""
    train_outputs: Callable[[Params, Tensor], Tensor]
    """The same in training mode: batch statistics, dropout."""
    pads: bool
    """Whether padded rows change nothing (False with batch norm, which would mix them into its
    statistics).
    """
    learner: "tuple[Learner, Inputs] | None" = None
    """What fits it, where it is no torch module (``fedkin.transforms.black_box_models``): it has no
    gradients then.
    """
    head: "Head | None" = None
    why_no_head: str = "it was made without looking for one"
    """Where there is none: why, as the end of a sentence."""
    frozen: Params = {}  # noqa: RUF012 (read only)
    """Parameters that nobody trains: constants of every step, and no part of ``initial``."""
    whole: "Model | None" = None
    """The same model without frozen parameters, which takes all of them; None: it is this one."""
    there: Callable[[Params], Params] = _left_here
    """w → w where ``outputs`` computes, on a GPU say; loops over rows take it there once."""
    state_dict: Callable[[Params], Params] | None = None
    """w, with the frozen ones → what ``load_state_dict`` of its torch module takes; None: it has
    none.
    """
    inputs: Inputs = RAW
    """How samples enter its torch module, which ``outputs`` sees to."""
    layers: Callable[[], str] | None = None
    """Its torch module in words; None: it has none."""

    def freezing(self, frozen: Params) -> "Model":
        """This model with some of its parameters as constants: methods see the others only.

        Args:
            frozen: Names and values. Its tensors are used as they are, never copied.

        Returns:
            A model of the other parameters.
        """

        def over(of: Callable[[Params, Tensor], Tensor]) -> Callable[[Params, Tensor], Tensor]:
            return lambda w, x: of({**frozen, **w}, x)

        kept = {name: value for name, value in self.initial.items() if name not in frozen}
        head, why_no_head = self.head, self.why_no_head
        if head is not None:
            head = Head(
                tuple(name for name in head.names if name not in frozen),
                head.size,
                head.linear,
                over(head.features),
                over(head.train_features),
                over(head.scores),
            )
            if not head.names:
                head, why_no_head = None, "model.frozen holds it"
        return self._replace(
            initial=kept,
            outputs=over(self.outputs),
            train_outputs=over(self.train_outputs),
            head=head,
            why_no_head=why_no_head,
            frozen=frozen,
            whole=self._replace(initial=kept),
        )

    def holding(self, frozen: Params) -> "Model":
        """The same model with other values of its frozen parameters, which a trace sees as inputs.

        Args:
            frozen: The names of ``self.frozen``.

        Returns:
            A model of the same trained parameters; ``self`` where nothing is frozen.
        """
        return self if self.whole is None else self.whole.freezing(frozen)

    def changed(self, change: Callable[["Model"], "Model"]) -> "Model":
        """What ``change`` makes of the model with all its parameters; those frozen stay so.

        Args:
            change: Keeps the names of parameters.

        Returns:
            The changed model.
        """
        return change(self) if self.whole is None else change(self.whole).freezing(self.frozen)

    def loss(self, w: Params, batch: Batch) -> Tensor:
        """f(w; batch) = Σ weight · negative log-likelihood: the mean over the batch's real rows.

        Args:
            w: Parameters and running statistics.
            batch: Padded rows have weight 0.

        Returns:
            A 0-d tensor; in nats, or in the labels' units where the family knows them.
        """
        return (self.family.nll(self.train_outputs(w, batch.x), batch.y) * batch.weight).sum()

    def probabilities(self, w: Params, x: Tensor) -> Tensor:
        """s(w, x): class probabilities [batch, classes], training mode (COMET's ∇s).

        Args:
            w: Parameters and running statistics.
            x: Samples [batch, …].

        Returns:
            Rows on the simplex, of both classes where one logit is of two; of numbers the means
            [batch, 1].
        """
        return self.family.probabilities(self.train_outputs(w, x))


def head_of(model: Model) -> Head:
    """A model's head.

    Args:
        model: A classifier whose last layer a method speaks of.

    Returns:
        The names of its parameters and how it is applied.

    Raises:
        FedkinError: It has none; says what to do.
    """
    if model.head is None:
        raise FedkinError(f"model {model.name!r} has no head: {model.why_no_head}")
    return model.head


_refreshed: ContextVar[list[Params] | None] = ContextVar("fedkin_refreshed_buffers", default=None)


@contextmanager
def collecting_buffers() -> Iterator[list[Params]]:
    """Collect the running statistics that training-mode forward passes leave behind
    (``core.ops.gradient`` asks for them).

    Yields:
        A list, to which every pass within the block adds {name: refreshed statistics}.
    """
    buffers: list[Params] = []
    token = _refreshed.set(buffers)
    try:
        yield buffers
    finally:
        _refreshed.reset(token)


class _Forward(NamedTuple):
    """The forward pass of a torch module, as a function of parameters and running statistics:
    linear predictors [batch, C] of samples [batch, …].
    """

    module: nn.Module
    inputs: Inputs
    left_out: Mapping[str, Tensor]  # buffers that are no part of w
    still: Sequence[nn.Module]  # layers that stay in evaluation mode in training too
    tied: bool

    def __call__(self, w: Params, x: Tensor, training: bool) -> Tensor:
        seen = _refreshed.get() if training else None
        # a second pass moves the statistics on from the first, as torch does
        held = {**w, **seen[-1]} if seen else w
        own = {
            key.removeprefix(BUFFER): value.clone() for key, value in held.items() if is_buffer(key)
        }
        values = {key: value for key, value in w.items() if not is_buffer(key)}
        fixed = {key: value.to(x.device, copy=True) for key, value in self.left_out.items()}
        entering = self.inputs(x, next(one for one in values.values() if one.is_floating_point()))
        self._set_mode(training)
        tensors = {**values, **own, **fixed}
        out: Tensor = torch.func.functional_call(
            self.module, tensors, (entering,), tie_weights=self.tied
        )
        if own and seen is not None:
            # written in place, or assigned anew: ``tensors`` has that then
            seen.append(
                {
                    BUFFER + key: value if tensors[key] is value else tensors[key].detach()
                    for key, value in own.items()
                }
            )
        return out

    def _set_mode(self, training: bool) -> None:
        if self.module.training != training:
            self.module.train(training)
            for layer in self.still:
                layer.train(False)


def from_module(
    name: str,
    module: nn.Module,
    family: Family = CATEGORICAL,
    inputs: Inputs = RAW,
    keep_buffers: bool = True,
    frozen: frozenset[str] = frozenset(),
) -> Model:
    """A torch module as a Model. Its current parameters are the initial ones, and stay as they are
    in the module, which is in evaluation mode between passes.

    Integer buffers (``num_batches_tracked``) are left out: they carry no statistics. Without
    ``keep_buffers`` all are, and stay as they are in the module.

    Args:
        name: What messages call it.
        module: Any that takes samples and gives [batch, outputs].
        family: What its outputs mean.
        inputs: How samples become what the module takes.
        keep_buffers: Whether running statistics belong to the parameters.
        frozen: Names of parameters that will not be trained: they are the module's own tensors, and
            a layer whose running statistics are among them normalises by these in training too.

    Returns:
        The Model, whose functions call the module.
    """
    weights = {
        key: value.requires_grad_(False) if key in frozen else value.detach().clone()
        for key, value in module.named_parameters()
    }
    buffers = dict(module.named_buffers())
    kept = [key for key, value in buffers.items() if keep_buffers and value.is_floating_point()]
    statistics = {
        BUFFER + key: buffers[key] if BUFFER + key in frozen else buffers[key].detach().clone()
        for key in kept
    }
    still = _with_statistics_among(module, frozen)
    moving = any(BUFFER + key not in frozen for key in kept)
    mixes = moving or any(
        isinstance(layer, _BatchNorm) and layer not in still for layer in module.modules()
    )

    left_out = {key: value for key, value in buffers.items() if key not in kept}
    forward = _Forward(module, inputs, left_out, still, _tied(module))
    module.train(False)  # all of it, whatever it was before
    return Model(
        name=name,
        initial={**weights, **statistics},
        family=family,
        outputs=lambda w, x: forward(w, x, training=False),
        train_outputs=lambda w, x: forward(w, x, training=True),
        pads=not mixes,
        state_dict=state_dict_of(module),
        inputs=inputs,
        layers=lambda: repr(module),
    )


def _with_statistics_among(module: nn.Module, names: frozenset[str]) -> list[nn.Module]:
    """The layers whose running statistics have names among these."""
    return [
        layer
        for name, layer in module.named_modules()
        if isinstance(layer, _NormBase)
        and BUFFER + f"{name}.running_mean".removeprefix(".") in names
    ]


def _tied(module: nn.Module) -> bool:
    """Whether one tensor of a module goes by two names: functional_call must look for it then, at
    every call.
    """
    named = (module.named_parameters, module.named_buffers)
    return any(len(list(each(remove_duplicate=False))) > len(list(each())) for each in named)
