"""The server's objects of a deployment, and whom it asks for what."""

import json
import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

pytest.importorskip("flwr")

from fedkin.core.errors import FedkinError
from fedkin.engine.op import WORK
from fedkin.flower.backend import FlowerBackend, known_facts, shared_model
from fedkin.flower.config import Deployment
from fedkin.flower.dispatcher import RunIdentity
from fedkin.flower.envelope import Facts, Place
from fedkin.flower.node.data import digest_of_public
from fedkin.setup.frozen import digest
from tests.engine.small import small
from tests.flower.fleet import Fleet
from tests.flower.test_masks import steps

NAMES = ("a", "b", "c")
ABOUT = RunIdentity("ab" * 32, "0123456789abcdef", "1")


def facts(**changed) -> Facts:
    told = {"train": 6, "val": 2, "test": 1, "shape": (3,), "dtype": "float32", "classes": 3,
            "task": "classification", "digest": "cd" * 32}  # fmt: skip
    return Facts(**{**told, **changed})


def backend(told=(None, None, None), verify=None, **settings) -> FlowerBackend:
    settings = {"address": "127.0.0.1:9", "clients": NAMES, "own_data": False, **settings}
    known = dict(zip(NAMES, told, strict=True))
    return FlowerBackend(Deployment(**settings), SimpleNamespace(about=ABOUT), known, verify)


MASKS = {"privacy__secure_aggregation": True, "run__participation": 1.0}


def small3(method="fedavg", **settings):
    return small(method, **{"run__clients": 3, "run__rounds": 3, **settings})


def test_every_client_has_its_place_and_its_node(tmp_path):
    of = backend((None, facts(), None))
    parts = of.assemble(small3(model__name="dnn", model__hidden=5, model__frozen="body"), None)
    other = parts.infos[2]._replace(architecture="own:Net")
    with of.connect(parts._replace(infos={**parts.infos, 2: other}), tmp_path) as transport:
        places = transport.places
    known = {"clients": 3, "classes": 10, "architecture": "dnn",
             "frozen": digest(parts.models["dnn"])}  # fmt: skip
    assert len(known["frozen"]) == 64
    assert places == {
        0: ("a", Place(client=0, **known)),
        1: ("b", Place(client=1, data="cd" * 32, **known)),
        2: ("c", Place(client=2, **{**known, "architecture": "own:Net", "frozen": ""})),
    }


def test_every_place_says_which_public_set_there_is(tmp_path):
    of = backend()
    parts = of.assemble(small3("comet"), None)
    with of.connect(parts, tmp_path) as transport:
        told = {place.public for _, place in transport.places.values()}
    assert told == {digest_of_public(parts.population)}
    turned = replace(parts.population, public=parts.population.public.flip(0))
    labeled = replace(parts.population, public_y=parts.population.y[: len(turned.public)])
    assert len({*told, digest_of_public(turned), digest_of_public(labeled)} - {""}) == 3


@pytest.mark.parametrize("method", ["fedavg", "finetune"])
def test_what_follows_an_evaluation_is_the_next_work_or_the_end(method, tmp_path):
    of = backend()
    few = {"run__participation": 0.5, "run__evaluate": "panel:1", "run__min_replies": 2}
    parts = of.assemble(small3(method, **few), None)
    schedule = parts.scheduling(parts.method, parts.federation)
    with of.connect(parts, tmp_path) as transport:
        drawn = [schedule.participants(number) for number in (1, 2, 3)]
        assert len({tuple(one) for one in drawn}) > 1
        assert [transport.then(number) for number in (1, 2)] == [
            [("local", number + 1, drawn[number])] for number in (1, 2)
        ]
        end = [("evaluate_all", 4, [0, 1, 2])]
        finish = [("finish", 4, [0, 1, 2])] if method == "finetune" else []
        assert transport.then(3) == [*finish, *end]
        assert transport.needed(WORK, 1) == 2
        assert transport.dispatcher is of.dispatcher


def test_an_engine_knows_its_deployments_run_and_how_signatures_are_verified():
    def verify(*_):
        return False

    of = backend(verify=verify)
    engine = of.engine()
    assert engine == (
        of.assemble,
        of.connect,
        {"deployment": ABOUT.run, "experiment": ABOUT.experiment},
        shared_model,
    )
    assert backend(own_data=True).engine().facts["split"] == "the nodes' own"
    with pytest.raises(FedkinError, match=r"audit\.canaries is for simulations"):
        of.assemble(small3(audit__canaries=5), None)
    assert of.assemble(small3(), None).federation.verify is verify
    with pytest.raises(FedkinError, match="has 4 clients, the deployment 3 names: set run"):
        of.assemble(small3(run__clients=4), None)


def test_a_finished_run_says_whether_all_clients_share_one_model():
    parts = backend().assemble(small3(), None)
    state = parts.method.server(parts.federation.start)
    assert shared_model(parts, state) == {"shared_model": True}
    assert shared_model(parts, {}) == {"shared_model": False}  # its broadcast fails
    own = backend().assemble(small3("fedbabu"), None)
    assert shared_model(own, own.method.server(own.federation.start)) == {"shared_model": False}


def test_the_server_knows_sizes_of_own_data_and_no_class():
    told = (facts(), facts(train=9, classes=5), facts())
    of = backend(told, own_data=True)
    parts = of.assemble(small3(), None)
    assert [info.samples for info in parts.infos.values()] == [6, 9, 6]
    for infos in (parts.infos, parts.federation.infos):
        assert [info.histogram.tolist() for info in infos.values()] == [[0] * 5] * 3
    assert parts.population.classes == 5
    with pytest.raises(FedkinError, match="a node has no data of its own: name its file"):
        backend((*told[:2], None), own_data=True).assemble(small3(), None)
    with pytest.raises(FedkinError, match="everybody's data in one place: simulate it with"):
        of.assemble(small3("centralized"), None)
    del of.facts["b"]
    with pytest.raises(
        FedkinError, match=r"b was not in this run: name the clients that were: a, c$"
    ):
        of.assemble(small3(), None)


def test_under_masks_the_experiment_says_how_many_clients_there_are():
    of = backend((facts(),) * 3, own_data=True)
    for clients, said in ((4, "4"), (30, "30"), (None, "none")):
        with pytest.raises(FedkinError, match=f"names 3 clients, and run.clients .* is {said}, "):
            of.assemble(small3(run__clients=clients, **MASKS), None)
    assert len(of.assemble(small3(**MASKS), None).infos) == 3
    assert len(of.assemble(small3(run__clients=4), None).infos) == 3


def test_nobody_knows_what_nodes_labels_are_like():
    numbers = facts(classes=0, task="regression")
    of = backend((numbers,) * 3, own_data=True)
    table = small3(model__target="auto", data__name="rows.csv")  # here it would be scaled by them
    assert of.assemble(table, None).spec.model.target == "none"
    assert of.assemble(small3(model__target=[2.0, 3.0]), None).spec.model.target == (2.0, 3.0)
    with pytest.raises(FedkinError, match="nodes keep their labels: give model"):
        of.assemble(small3(model__target="standard"), None)


def test_what_nodes_reported_is_read_again(tmp_path):
    content = {"a": facts().model_dump(mode="json"), "b": None}
    (tmp_path / "nodes.json").write_text(json.dumps(content))
    assert known_facts(tmp_path / "nodes.json") == {"a": facts(), "b": None}


@pytest.mark.parametrize("content", ["{", "[1]", '{"a": {}}', '{"a": 3}', "[" * 100_000])
def test_what_nodes_reported_may_be_damaged_or_gone(content, tmp_path):
    with pytest.raises(FedkinError, match=r"nodes\.json is missing, which says what the nodes'"):
        known_facts(tmp_path / "nodes.json")
    (tmp_path / "nodes.json").write_text(content)
    with pytest.raises(FedkinError, match=r"nodes\.json is damaged: copy the run directory again$"):
        known_facts(tmp_path / "nodes.json")


NOISE = {"privacy__noise": 1.0, "privacy__clip": 1.0, "privacy__delta": 1e-3}
BY_PRIVACY = {
    "nothing": [{}],
    "noise, added by the server or by the nodes": [NOISE, {**NOISE, "privacy__where": "client"}],
    "`secure_aggregation`": [{"privacy__secure_aggregation": True}],
    "`secure_aggregation` and noise": [
        {**NOISE, "privacy__secure_aggregation": True, "privacy__where": "distributed"}
    ],
}
PAGE = (Path(__file__).parents[2] / "docs" / "deploy.md").read_text(encoding="utf-8")


def messages_of_round_2(folder, settings, every: int) -> int:
    """To one node: from the work of round 2 to that of round 3."""
    asked = {"run__clients": 3, "run__participation": 1.0, "run__rounds": 3, **settings}
    fleet = Fleet(folder, small("fedavg", run__evaluate_every=every, **asked), names=NAMES)
    fleet.run()
    seen = [steps(parts) for name, parts in fleet.grid.seen if name == NAMES[0]]
    second, third = (
        next(at for at, some in enumerate(seen) if (WORK, round) in some) for round in (2, 3)
    )
    return third - second


@pytest.mark.rotating
@pytest.mark.parametrize("privacy", BY_PRIVACY)
def test_the_page_says_how_many_messages_a_round_has(privacy, tmp_path):
    row = re.search(rf"^\| {re.escape(privacy)} \| (\d+) \| (\d+) \|$", PAGE, re.MULTILINE)
    assert row is not None
    for number, settings in enumerate(BY_PRIVACY[privacy]):
        for every, told in zip((1, 100), row.groups(), strict=True):
            folder = tmp_path / f"{number} {every}"
            folder.mkdir()
            assert messages_of_round_2(folder, settings, every) == int(told)
