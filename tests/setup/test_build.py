"""From a specification to the objects of a run."""

import pytest

from fedkin.core.errors import FedkinError
from fedkin.methods import make
from fedkin.runs.spec import parse
from fedkin.setup.build import adapt_to_models, assemble, method_of, names_of, schedule_of
from tests.engine.small import content


def spec(method="fedavg", **settings):
    return parse(content(method, **settings))[0]


PARTS = assemble(spec())


def test_every_client_knows_itself() -> None:
    people = PARTS.population
    assert list(PARTS.infos) == list(range(6))
    for k, info in PARTS.infos.items():
        assert info.samples == len(people.train[k])
        assert info.histogram.tolist() == people.histogram("train")[k].tolist()
        assert (info.architecture, info.classes, info.public) == ("mlr", 10, 0)
    assert PARTS.federation.names == people.names
    assert PARTS.federation.start.classes == 10
    assert assemble(spec("centralized")).federation.participation == pytest.approx(1 / 6)


def test_train_says_the_schedule() -> None:
    made = schedule_of(spec(train__milestones=[2], train__decay=0.25, train__momentum=0.9))
    assert (made.batch_size, made.steps, made.rounds) == (16, 4, 3)
    assert (made.factor(2), made.factor(3)) == (1, 0.25)
    assert made.optimizer.momentum == 0.9


def test_settings_change_the_method() -> None:
    assert method_of(spec()).aggregation == make("fedavg", {}, {"lr": 0.05}).aggregation
    assert method_of(spec(run__sampling="size")).needs.sampling == "size"
    assert method_of(spec(method__safe=True)).needs.validation
    given = make("ditto", {}, {"lr": 0.1})._replace(name="mine")
    assert method_of(spec(), given).name == "mine"
    with pytest.raises(FedkinError, match="scaffold computes with what steps of plain SGD did"):
        method_of(spec("scaffold", train__momentum=0.9))


def test_a_method_that_takes_rounds_has_those_of_the_run() -> None:
    assert method_of(spec("fedkd", run__rounds=7)).hyper["rounds"] == 7
    assert method_of(spec("fedkd", run__rounds=7, method__rounds=5)).hyper["rounds"] == 5
    assert "rounds" not in method_of(spec("fedavg", run__rounds=7)).hyper


def test_clients_that_are_held_out_never_train() -> None:
    parts = assemble(spec(run__holdout_clients=0.34, run__participation=1.0))
    assert parts.held_out.clients == 2
    assert len(parts.infos) == parts.population.clients == 4
    assert not set(parts.held_out.names) & set(parts.population.names)
    private = {"noise": 1.0, "clip": 0.5, "delta": 1e-5, "where": "client"}
    asked = {**content("fedavg", run__holdout_clients=0.34), "privacy": private}
    with pytest.raises(FedkinError, match="who joins a finished run has no secret to draw noise"):
        assemble(parse(asked)[0])


def test_learners_take_no_gradients() -> None:
    models = {"m": next(iter(PARTS.models.values()))._replace(learner=object())}
    method = make("ds_fl", {}, {"lr": 0.1})
    assert adapt_to_models(spec("ds_fl"), method, models) is not method
    for settings, said in (
        ({"model__buffers": "local"}, "model.buffers = 'local' is for torch modules"),
        ({"train__state": "kept"}, "train.state = 'kept' is for torch modules"),
        ({"method__safe": True}, "method.safe trains a model beside by gradients"),
    ):
        with pytest.raises(FedkinError, match=said):
            adapt_to_models(spec("ds_fl", **settings), method, models)


def test_architectures_are_those_of_the_map_or_the_one() -> None:
    assert names_of(spec()) == {"mlr"}
    mapped = {"name": "ds_fl"}, {"map": {"1": "mlr", "2": "dnn"}}
    assert names_of(parse({"method": mapped[0], "model": mapped[1]})[0]) == {"mlr", "dnn"}
