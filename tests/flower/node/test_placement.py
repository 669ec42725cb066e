"""A node's client at its place in the federation."""

import pytest

from fedkin.core.errors import FedkinError
from fedkin.flower.envelope import Place
from fedkin.flower.node import placement
from fedkin.flower.node.placement import models_at
from fedkin.setup.build import assemble
from fedkin.setup.frozen import digest
from tests.engine.small import small

SPEC = small("ditto", model__name="dnn", model__hidden=7)
PEOPLE = assemble(SPEC).population


class Node:
    imports = ("mine.net",)
    model = "own.net:Net"


def place(architecture="dnn", frozen=None, client=2):
    whole = assemble(SPEC).models["dnn"]
    told = digest(whole) if frozen is None else frozen
    return Place(client=client, clients=6, classes=10, architecture=architecture, frozen=told)


def test_the_experiments_model_has_its_options() -> None:
    models, info = models_at(Node, SPEC, PEOPLE, place())
    assert list(models) == ["dnn"]
    assert models["dnn"].initial["1.weight"].shape[0] == 7
    assert (info.client, info.architecture) == (2, "dnn")
    assert info.samples == len(PEOPLE.train[2])
    assert info.histogram.tolist() == PEOPLE.histogram("train")[2].tolist()


def test_another_architecture_does_not_take_them() -> None:
    models, info = models_at(Node, SPEC, PEOPLE, place("mlr"))
    assert info.architecture == "mlr"
    assert sum(one.numel() for one in models["mlr"].initial.values()) == 650


def test_other_frozen_parameters_are_refused() -> None:
    with pytest.raises(FedkinError, match="its frozen parameters of model 'dnn' are not those of"):
        models_at(Node, SPEC, PEOPLE, place(frozen="ab" * 32))


@pytest.mark.parametrize(
    ("code", "known"),
    [
        ("mine.net:Net", True),  # its module is listed
        ("own.net:Net", True),  # the operator's own model
        ("own.net:Other", False),
        ("mine.network:Net", False),
        ("mine:Net", False),
    ],
)
def test_only_code_that_the_operator_lists_is_imported(code, known, monkeypatch) -> None:
    allowed = []
    monkeypatch.setattr(placement, "allow", allowed.extend)
    monkeypatch.setattr(placement, "models_of", lambda *_: (_ for _ in ()).throw(LookupError))
    error = LookupError if known else FedkinError
    with pytest.raises(error) as told:
        models_at(Node, SPEC, PEOPLE, place(code))
    assert allowed == ([code] if known else [])
    if not known:
        assert f'node.toml says so: imports = ["{code}"]' in str(told.value)


@pytest.mark.parametrize(
    ("name", "known"),
    [("fedavg", True), ("mine.net:method", True), ("own.net:Net", False), ("mine:net", False)],
)
def test_only_a_method_that_the_operator_lists_is_imported(name, known, monkeypatch) -> None:
    allowed = []
    monkeypatch.setattr(placement, "allow_methods", allowed.extend)
    spec = SPEC.model_copy(update={"method": SPEC.method.model_copy(update={"name": name})})
    if known:
        placement.permit_method(Node, spec)
    else:
        with pytest.raises(FedkinError, match=r"the experiment names code .* imports = \["):
            placement.permit_method(Node, spec)
    assert allowed == ([name] if known and ":" in name else [])
