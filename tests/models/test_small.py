"""Small models of the papers: sizes by hand, and shapes that do not fit."""

import pytest
import torch

from fedkin.core.errors import FedkinError
from fedkin.models import small


def size(module: torch.nn.Module) -> int:
    return sum(one.numel() for one in module.parameters())


def test_linear_models() -> None:
    assert size(small.mlr((2, 3, 5), 4)) == 30 * 4 + 4
    assert size(small.dnn((7,), 3, hidden=11)) == 7 * 11 + 11 + 11 * 3 + 3
    assert size(small.glm((7,), 9)) == 7 + 1  # one predictor, whatever the classes


def test_persfls_cnn_flattens_to_400_features() -> None:
    model = small.cnn_persfl((3, 32, 32), 10)
    first = next(one for one in model.modules() if isinstance(one, torch.nn.Linear))
    assert (first.in_features, first.out_features) == (400, 120)
    assert model(torch.zeros(2, 3, 32, 32)).shape == (2, 10)


def test_an_image_too_small_names_a_model_that_fits() -> None:
    for shape in ((1, 8, 20), (64,)):
        with pytest.raises(FedkinError, match=r"needs images of 16×16 pixels or more.*try dnn"):
            small.cnn_comet(shape, 10)
