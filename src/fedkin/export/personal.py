"""A personal model as a torch module, whatever its method makes of it: one network, or a mixture of
several.
"""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from fedkin.core.errors import FedkinError
from fedkin.core.model import Model
from fedkin.core.tree import BUFFER, Tree, fill, is_buffer, named_leaves

FROZEN = "frozen"
ROUNDING = 1e-4  # that a mean of equal buffers may have


def with_frozen(model: Model, view: Tree) -> Tree:
    """What a file of a view holds: its parameters and the model's frozen ones, so that nothing else
    is needed.

    A view that is one set of parameters becomes all of the module's; beside any other one the
    frozen parameters stand by themselves.

    Args:
        model: The architecture.
        view: What the method predicts with.

    Returns:
        A tree; the same object where the model has no frozen parameters.
    """
    if not model.frozen:
        return view
    if _one_set(model, view):
        return {**model.frozen, **view}
    return {**(view if isinstance(view, dict) else {"parts": view}), FROZEN: model.frozen}


def _one_set(model: Model, view: Tree) -> bool:
    return isinstance(view, dict) and view.keys() == model.initial.keys()


def _trained(path: str, leaf: Tensor) -> bool:
    """Running statistics are not: no gradient goes through them."""
    return leaf.is_floating_point() and not any(map(is_buffer, path.split("/")))


class Personal(nn.Module):
    """One client's personal model: ``forward(x)`` gives log-probabilities [batch, classes], or
    means [batch, 1] of a regression.

    Its parameters are those of the run; they can be saved, exported, or trained on.

    Args:
        model: The architecture.
        view: What the method predicts with, without the model's frozen parameters.
        predict: The method's: (model, view, x) → log-probabilities or means.
    """

    def __init__(
        self, model: Model, view: Tree, predict: Callable[[Model, Tree, Tensor], Tensor]
    ) -> None:
        super().__init__()
        self._frozen = {} if _one_set(model, view) else model.frozen
        if not self._frozen:
            view = with_frozen(model, view)
        self._model, self._predict, self._like = model, predict, view
        self._held: dict[str, str] = {}  # the name that a frozen parameter has here
        for name, value in self._frozen.items():
            self._held[name] = self._free(f"{FROZEN}/{name}")
            self.register_buffer(self._held[name], value.detach().clone())
        for path, leaf in named_leaves(view):
            if isinstance(leaf, Tensor):  # plain numbers (how many neighbours) stay what they are
                self.register_parameter(
                    self._free(path), nn.Parameter(leaf.detach().clone(), _trained(path, leaf))
                )

    def _free(self, path: str) -> str:
        """A name that torch takes, and that nothing has here: "a.b" and "a_b" become two."""
        name = path.replace(".", "_")
        while hasattr(self, name):
            name += "_"
        return name

    def extra_repr(self) -> str:
        """The architecture and its size: what ``print`` shows between the brackets.

        Returns:
            "mlr, 7,850 parameters, categorical", say.
        """
        many = sum(one.numel() for one in self.parameters())
        return f"{self._model.name}, {many:,} parameters, {self._model.family.name}"

    def module_state(self, view: Tree) -> dict[str, Tensor] | None:
        """What ``load_state_dict`` of the torch module takes.

        Args:
            view: Of this model, with its frozen parameters.

        Returns:
            All of its keys; None where the view is not one set of a module's parameters.

        Raises:
            FedkinError: A buffer changed in training that the module does not keep.
        """
        model = self._model
        began = {**model.frozen, **model.initial}
        if model.state_dict is None or not isinstance(view, dict) or view.keys() != began.keys():
            return None
        held = model.state_dict(view)
        for name, value in view.items():
            plain = name.removeprefix(BUFFER)
            if plain not in held and not torch.allclose(value, began[name], rtol=ROUNDING):
                raise FedkinError(
                    f"buffer {plain!r} of model {model.name!r} changed in training and is not in "
                    "its state_dict (persistent=False): export it with --format pt2"
                )
        return held

    def forward(self, x: Tensor) -> Tensor:
        """What the model says of samples.

        Args:
            x: [batch, …] as in the data set, like ``Result.data`` gives it.

        Returns:
            Log-probabilities [batch, classes], whose column c is class number c; means [batch, 1]
            of a regression.
        """
        tensors = iter(self.parameters())
        view = fill(
            self._like,
            (
                next(tensors) if isinstance(leaf, Tensor) else leaf
                for _, leaf in named_leaves(self._like)
            ),
        )
        held = {name: getattr(self, self._held[name]) for name in self._frozen}
        return self._predict(self._model.holding(held) if held else self._model, view, x)


def tried(personal: Personal, x: Tensor) -> Personal:
    """The model in evaluation mode, after it was asked of two samples: what it was made of may be
    anybody's.

    Args:
        personal: The model.
        x: [n, …] as in the data set; the first ones are taken.

    Returns:
        ``personal``.
    """
    personal.eval()
    with torch.inference_mode():
        personal(x[:2])
    return personal
