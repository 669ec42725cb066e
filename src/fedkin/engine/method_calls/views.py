"""A client's views, looked at once: which there are, what they hold, what is predicted with them.

Torch takes a parameter that a view lacks from the module, which is the initial one, and takes
logits for log-probabilities. Neither fails, and both give numbers that look like scores.
"""

from collections.abc import Mapping
from typing import Any

import torch

from fedkin.core.errors import FedkinError, near, some
from fedkin.core.method import Method, plain_prediction
from fedkin.core.model import Model
from fedkin.core.tree import Tree
from fedkin.engine.contexts import LocalData
from fedkin.runtime.generators import forked

PERSONAL = "personal"  # the view that every method has
ROWS = 16  # of a client's samples, which are predicted
# how far the sum of a sample's probabilities may be from 1, as a logarithm: half precision rounds
APART = 0.05


class FirstViews:
    """Looks at the views of the first client of each architecture: the others' are made alike.

    Args:
        method: Whose they are.
        device: Where it computes.
    """

    def __init__(self, method: Method, device: torch.device) -> None:
        self._method, self._device = method, device
        self._well: set[str] = set()

    def checked(self, data: LocalData, views: dict[str, Tree]) -> dict[str, Tree]:
        """Refuse them as ``check_views`` does, where none of the architecture was looked at before.

        Args:
            data: The client's.
            views: What ``personal_models`` returned.

        Returns:
            The same.

        Raises:
            FedkinError: As ``check_views`` does.
        """
        if data.info.architecture not in self._well:
            check_views(self._method, data, views, self._device)
            self._well.add(data.info.architecture)
        return views


def check_views(method: Method, data: LocalData, views: Any, device: torch.device) -> None:
    """Refuse views that would be scored as something else than what they are.

    Args:
        method: Whose ``personal_models`` made them, and whose ``predict`` reads them.
        data: The client's.
        views: What ``personal_models`` returned.
        device: Where it computes; no draw from its generators is seen afterwards.

    Raises:
        FedkinError: None is "personal"; one lacks parameters of the model; or ``predict`` gives no
            log-probabilities of the classes.
    """
    _check_names(method.name, views)
    if data.model.learner is not None:
        return
    for name, view in views.items():
        if method.predict is plain_prediction:
            _check_parameters(method.name, name, view, data.model)
        elif data.model.family.classes:
            with forked(device):
                _check_predictions(method, name, view, data)


def _check_names(method: str, views: Any) -> None:
    names = [str(name) for name in views] if isinstance(views, Mapping) else []
    if PERSONAL in names:
        return
    present = some(map(repr, names)) if names else "none"
    hint = "" if not isinstance(views, Mapping) else next(filter(None, map(_meant, names)), "")
    raise FedkinError(
        f"method {method} has no view {PERSONAL!r}, what a client would deploy: personal_models "
        f"returns a dict {{{PERSONAL!r}: …}}, and has {present}{hint}"
    )


def _meant(name: str) -> str:
    return near(name, [PERSONAL])


def _check_parameters(method: str, name: str, view: Tree, model: Model) -> None:
    if not isinstance(view, Mapping):
        raise FedkinError(
            f"method {method}: its view {name!r} is a {type(view).__name__}: without a predict of "
            "its own it is a dict of the model's parameters"
        )
    lacking = [key for key in model.initial if key not in view]
    if lacking:
        raise FedkinError(
            f"method {method}: its view {name!r} lacks {some(lacking)} of model {model.name}, "
            "which would be the initial ones: return all parameters of the model"
        )


def _check_predictions(method: Method, name: str, view: Tree, data: LocalData) -> None:
    batch = next((part[0] for split in ("train", "test") if (part := data.whole(split))), None)
    if batch is None:
        return
    x = batch.x[:ROWS]
    with torch.inference_mode():
        predictions: Any = method.predict(data.model, view, x)
    where = f"method {method.name}: its predict, of view {name!r},"
    if not isinstance(predictions, torch.Tensor):
        raise FedkinError(f"{where} gives a {type(predictions).__name__}, not log-probabilities")
    if predictions.dim() != 2 or len(predictions) != len(x):
        raise FedkinError(
            f"{where} gives {list(predictions.shape)} of {len(x)} samples, not log-probabilities "
            "[samples, classes]: outputs.log_softmax(1), say"
        )
    whole = predictions.double().logsumexp(1)
    if bool((whole[whole.isfinite()].abs() > APART).any()):  # of a model that diverged are none
        raise FedkinError(
            f"{where} gives numbers that are no log-probabilities: their exponentials do not sum "
            "to 1 for each sample: outputs.log_softmax(1), say"
        )
