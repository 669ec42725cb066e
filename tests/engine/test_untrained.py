"""Whose personal model is untrained where no round had it."""

import pytest

from fedkin.engine.untrained import begins_untrained
from tests.laws.small import PARTIAL, federated

KEPT = {  # methods whose personal model has a part for its client alone, from the first on
    "apfl",
    "cgpfl",
    "cgpfl_heur",
    "comet",
    "ditto",
    "ds_fl",
    "fedala",
    "fedamp",
    "fedas",
    "fedbn",
    "fedcp",
    "fedfomo",
    "fedkd",
    "fedpac",
    "fedper",
    "fedproto",
    "fedrep",
    "fedsim",
    "fedtgp",
    "fedu",
    "gpfl",
    "kt_pfl",
    "lg_fedavg",
    "local",
    "partial_fl",
    "perada",
    "pfedme",
}


def found(name: str, **changes: object) -> bool:
    run = federated(name, kind="dnn", participation=0.34).run(1, evaluate=False)
    method = run.method._replace(**changes)
    (drawn,) = run.participants(1)
    left = next(info for info in run.infos.values() if info.client not in drawn)
    return begins_untrained(
        method, run.coordinator.state, run.models["dnn"], left, next(iter(drawn))
    )


@pytest.mark.parametrize("name", PARTIAL)
def test_a_part_that_stays_at_the_client_is_found_without_samples(name: str) -> None:
    assert found(name) == (name in KEPT)


def test_a_model_that_is_trained_alone_beside_begins_untrained_whatever_the_method() -> None:
    assert found("fedavg", beside_own=True)


def test_a_hyper_parameter_that_is_called_safe_is_a_methods_own_matter() -> None:
    assert not found("fedavg", hyper={"safe": True})


def test_who_asks_for_samples_makes_a_model_of_them() -> None:
    run = federated("ditto").run(1, evaluate=False)

    def made(received: object, own: object, data: object) -> dict[str, object]:
        return {"personal": data.batches()}  # type: ignore[attr-defined]

    method = run.method._replace(personal_models=made)
    assert not begins_untrained(method, run.coordinator.state, run.models["mlr"], run.infos[0])
