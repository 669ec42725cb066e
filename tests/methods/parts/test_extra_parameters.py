"""Parameters beside a model's."""

import pytest
import torch

from fedkin.methods.parts.conditional_policy import POLICY, network
from fedkin.methods.parts.conditional_valve import BESIDE, modules
from fedkin.methods.parts.extra_parameters import uniform_layer, without
from fedkin.methods.parts.mutual_distillation import MAP
from tests.methods.federation import architecture


def drawn(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def test_a_layer_begins_uniform_within_its_root() -> None:
    made = uniform_layer(drawn(1), 400, 800, 400)
    assert made.shape == (800, 400)
    assert made.dtype == torch.float64
    assert 0.0499 < float(made.max()) <= 0.05
    assert -0.05 <= float(made.min()) < -0.0499
    assert float(made.std()) == pytest.approx(0.05 / 3**0.5, rel=0.01)
    assert torch.equal(made, uniform_layer(drawn(1), 400, 800, 400))


def test_the_model_is_what_is_not_beside_it() -> None:
    model = architecture("dnn").initial
    size = model["out.weight"].shape[1]
    beside = {
        POLICY: network(size, torch.float64, drawn(2)),
        BESIDE: modules(3, size, torch.float64, drawn(3)),
        MAP: {MAP: torch.eye(size)},
    }
    for prefix, others in beside.items():
        assert list(without({**others, **model}, prefix)) == list(model)
        assert without(model, prefix) == model
