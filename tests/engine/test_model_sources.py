"""Which personal models are made of more than the server sends."""

from typing import Any

import pytest

from fedkin.engine.model_sources import ModelSources, model_sources
from fedkin.transforms.kept_optimizer import keep_optimizer
from tests.laws.small import FEDERATED, federated

SENT = {  # methods that give every client what the server made of messages
    "clustered_fl",
    "fedavg",
    "feddf",
    "feddyn",
    "fedntd",
    "fedpac",
    "fedprox",
    "fedu",
    "moon",
    "ppfl",
    "scaffold",
}
OF_SAMPLES = {  # after the last round, or whenever the model is asked for
    "fedbabu",
    "fedem",
    "finetune",
    "gpfl",  # reads how many samples there are of each class
    "hypcluster",
    "ifca",
    "knn_per",
    "per_fedavg",
    "persfl",
}


def found(name: str, changed: Any = lambda method: method) -> ModelSources:
    run = federated(name)
    method, info = changed(run.method), run.infos[0]
    received = method.broadcast(method.server(run.coordinator.federation.start), 0)
    return model_sources(method, received, run.models[info.architecture], info)


@pytest.mark.parametrize("name", FEDERATED)
def test_it_is_found_of_every_method(name: str) -> None:
    assert found(name) == ModelSources(name not in SENT, name in OF_SAMPLES)


def test_what_is_kept_beside_a_methods_own_state_makes_no_model() -> None:
    assert found("fedavg", keep_optimizer) == ModelSources(own=False, samples=False)
    assert found("ditto", keep_optimizer) == ModelSources(own=True, samples=False)


def test_a_model_that_is_trained_alone_beside_may_be_the_personal_one() -> None:
    alone = lambda method: method._replace(beside_own=True)  # noqa: E731
    assert found("fedavg", alone) == ModelSources(own=True, samples=True)


@pytest.mark.parametrize(
    "reads",
    [
        lambda own: own["parameters"] * 2,
        lambda own: own.get("tuned", 1),
        lambda own: {**own},
        lambda own: len(own),
        lambda own: 1 if own else 2,
        lambda own: 1 if "a" in own else 2,
        lambda own: (own,),
    ],
)
def test_a_state_is_read_in_many_ways(reads: Any) -> None:
    def views(received: Any, own: Any, data: Any) -> dict[str, Any]:
        return {"personal": {"parameters": received["parameters"], "own": reads(own)}}

    assert found("fedavg", lambda method: method._replace(personal_models=views)).own
