"""FedBN."""

import pytest
import torch
from torch import nn

from fedkin.core.errors import FedkinError
from fedkin.methods import make
from tests.methods.federation import (
    WIDTH,
    Federated,
    architecture,
    population,
)
from tests.methods.partial_fl_examples import (
    LR,
    SPLITS,
    STATISTICS,
    WORK,
    compare,
    normed,
)


@pytest.mark.certifies("fedbn", "reference")
@pytest.mark.parametrize("work", WORK.values(), ids=WORK)
@pytest.mark.parametrize("split", SPLITS.values(), ids=SPLITS)
def test_fedbn_on_layers_that_are_named(split, work):
    """Whatever stays at home, the rest is trained with it and averaged plainly."""
    kind, choice, names = split
    compare("fedbn", kind, names, work, {"personal": choice}, uniform=True)


@pytest.mark.certifies("fedbn", "law")
def test_fedbn_keeps_the_layers_with_statistics():
    """Beside a loop of torch's own modules: only linear layers travel, whole batches, one step."""
    people, model = population(dtype=torch.float32, classes=2), normed()
    run = Federated(
        make("fedbn", {}, {"lr": 0.1}), people, {"normed": model}, batch_size=64, epochs=1
    ).run(2, evaluate=False)
    shared, own = dict(model.initial), {k: dict(model.initial) for k in run.infos}
    for _ in range(2):
        sent = []
        for k in run.infos:
            mine = {**own[k], **{name: shared[name] for name in ("0.weight", "0.bias", "3.weight")}}
            own[k] = by_torch(mine, *people.part(k, "train"))
            sent.append(own[k])
        for name in ("0.weight", "0.bias", "3.weight"):
            shared[name] = torch.stack([each[name] for each in sent]).mean(0)
    for k, kept in run.moments[-1].own.items():
        assert set(kept["parameters"]) == {"1.weight", "1.bias", *STATISTICS}
        for name, value in kept["parameters"].items():
            torch.testing.assert_close(torch.from_numpy(value), own[k][name])
    for name, value in run.moments[-1].state["parameters"].items():
        torch.testing.assert_close(torch.from_numpy(value), shared[name])


def by_torch(values, x, y):
    """One step of torch's own SGD on all rows, with the module's own batch norm."""
    module = nn.Sequential(
        nn.Linear(WIDTH, 3),
        nn.BatchNorm1d(3),
        nn.BatchNorm1d(3, affine=False),
        nn.Linear(3, 2, bias=False),
    )
    module.load_state_dict(
        {name.removeprefix("buffer:"): value for name, value in values.items()}, strict=False
    )
    torch.nn.functional.cross_entropy(module(x), y).backward()
    torch.optim.SGD(module.parameters(), lr=0.1).step()
    found = module.state_dict()
    return {name: found[name.removeprefix("buffer:")].clone() for name in values}


def test_fedbn_of_a_model_without_statistics():
    with pytest.raises(FedkinError, match="'norm': the model has no layer with running statistics"):
        Federated(make("fedbn", {}, {"lr": LR}), population(), {"dnn": architecture("dnn")})
