"""A specification with its defaults written out."""

import pytest

from fedkin.methods import make
from fedkin.runs.spec import Spec, parse
from fedkin.setup.population import DEFAULT_CLIENTS, HELD_OUT
from fedkin.setup.resolved import resolved


def written(content, **hyper):
    spec = parse(content)[0]
    method = make(spec.method.name, {**spec.method.options, **hyper}, {"lr": 0.1})
    return resolved(spec, method)


def test_defaults_of_split_and_method_are_written() -> None:
    found = written({"split": {"name": "dirichlet", "alpha": 0.3}, "method": {"name": "ditto"}})
    assert found.split.options["alpha"] == 0.3
    assert set(found.split.options) > {"alpha"}  # those that were not typed
    assert found.method.options["lam"] == make("ditto", {}, {"lr": 0.1}).hyper["lam"]
    assert "lr" not in found.method.options  # [train] says it
    assert parse(found.model_dump(exclude_none=True))[0] == found  # it reads as it was written


@pytest.mark.parametrize(
    ("content", "clients"),
    [
        ({"split": {"name": "iid"}}, DEFAULT_CLIENTS),
        ({"split": {"name": "iid"}, "run": {"clients": 7}}, 7),
        ({"split": {"name": "natural"}}, None),
    ],
)
def test_how_many_clients_there_are(content, clients) -> None:
    assert written(content).run.clients == clients


def test_where_public_samples_come_from() -> None:
    assert written({"method": {"name": "fedmd"}}).public.source == HELD_OUT
    named = {"method": {"name": "fedmd"}, "public": {"source": "mnist"}}
    assert written(named).public.source == "mnist"
    assert written({"method": {"name": "fedavg"}}).public.source is None


def test_an_alias_becomes_the_methods_name_and_what_was_typed_wins() -> None:
    found = written({"method": {"name": "fedprox", "mu": 0.7}})
    assert found.method.options["mu"] == 0.7
    assert found.method.name == "fedprox"


def test_whether_an_engine_was_asked_for_is_still_told() -> None:
    assert isinstance(written({}), Spec)
    assert "name" not in written({}).engine.model_fields_set
    assert "name" in written({"engine": {"name": "inprocess"}}).engine.model_fields_set
