"""Where models compute; parameters and samples stay in main memory and go there to be used."""

import os
from collections.abc import Callable

import torch
from torch import Tensor

from fedkin.core.errors import FedkinError
from fedkin.core.model import Model
from fedkin.core.tree import Params, Tree, map_tree

CPU = torch.device("cpu")


def device_named(name: str) -> torch.device:
    """The device of a name, which must be there.

    Args:
        name: "cpu", "cuda" or "cuda:1".

    Returns:
        A ``torch.device`` that torch can use here.

    Raises:
        FedkinError: There is no such GPU.
    """
    device = torch.device(name)
    if device.type == "cpu":
        return CPU
    if not torch.cuda.is_available():
        built = "is built for the CPU alone" if torch.version.cuda is None else "finds none"
        raise FedkinError(
            f"engine.device = {name!r}: there is no GPU that torch can use here (it {built}): "
            "take 'cpu'"
        )
    count = torch.cuda.device_count()
    if device.index is not None and device.index >= count:
        raise FedkinError(
            f"engine.device = {name!r}: there are {count} GPUs, cuda:0 to cuda:{count - 1}"
        )
    return device


def moved(tree: Tree, device: torch.device) -> Tree:
    """The tree with its tensors on ``device``; those that are there already are not copied.

    Args:
        tree: Of tensors and numbers.
        device: Where its tensors shall be.

    Returns:
        A new tree; numbers stay.
    """
    return map_tree(lambda leaf: leaf.to(device) if isinstance(leaf, Tensor) else leaf, tree)


def placed(model: Model, device: torch.device) -> Model:
    """The model whose evaluation runs on ``device`` wherever its arguments lie; results come back
    to the samples.

    Training steps are on the device as a whole (``Runtime.device``), and so find everything there.

    Args:
        model: Any one.
        device: Where it computes.

    Returns:
        A model of the same parameters; the same one on the CPU.
    """
    if device == CPU or model.learner is not None:
        return model
    if model.whole is not None:
        return placed(model.whole, device).freezing(moved(model.frozen, device))

    def there(of: Callable[[Params, Tensor], Tensor]) -> Callable[[Params, Tensor], Tensor]:
        return lambda w, x: of(moved(w, device), x.to(device)).to(x.device)

    head = model.head and model.head._replace(features=there(model.head.features))
    return model._replace(outputs=there(model.outputs), head=head, there=lambda w: moved(w, device))


def repeatable(device: torch.device) -> None:
    """Where a GPU has several ways to compute the same, let it take one that gives the same bits
    every time. Changes torch's settings of this process.

    Args:
        device: Where steps are to run; before anything has run there.
    """
    if device.type != "cuda":
        return
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    torch.backends.cudnn.deterministic = True
    torch.backends.cudnn.benchmark = False
    torch.use_deterministic_algorithms(True, warn_only=True)
    torch.utils.deterministic.fill_uninitialized_memory = False  # type: ignore[attr-defined]
