"""What a node keeps beside the model that it deploys."""

import os

import pytest

from fedkin.core.errors import FedkinError
from fedkin.flower.envelope import Facts, Place
from fedkin.flower.node import data
from fedkin.flower.node.deployed_model import Details, KeptModel
from fedkin.flower.node.store import MODEL, SUFFIX, Commit, NodeStore
from tests.engine.small import small

PLACE = Place(client=2, clients=4, classes=3, architecture="mlr")


class Node:
    state = "state"


def told(**changed):
    whole = Details(
        version="0.1.0",
        spec=small("ditto"),
        place=PLACE,
        round=4,
        samples={"train": 9},
        facts=None,
        encoding=None,
        scores={"personal": {"test": (0.5, 0.75)}},
    )
    return {**whole.model_dump(mode="json"), **changed}


def keep(folder, run, at, **changed):
    node_store = NodeStore(folder / "state" / run)
    node_store.put(MODEL, Commit("key", run.encode(), None, told(**changed)))
    os.utime(folder / "state" / run / f"{MODEL}{SUFFIX}", (at, at))


@pytest.fixture
def folder(tmp_path):
    for run, at in (("ab01", 200), ("ab02", 300), ("cd01", 100)):
        keep(tmp_path, run, at)
    return tmp_path


def test_the_newest_is_meant_unless_another_is_named(folder) -> None:
    newest = KeptModel(Node, folder, None)
    assert (newest.run, newest.view) == ("ab02", b"ab02")
    assert newest.details.place == PLACE
    assert newest.details.scores == {"personal": {"test": (0.5, 0.75)}}
    assert newest.details.spec == small("ditto")
    assert KeptModel(Node, folder, "cd").view == b"cd01"
    assert KeptModel(Node, folder, "ab01").view == b"ab01"


def test_what_is_not_there_is_told(folder, tmp_path) -> None:
    with pytest.raises(FedkinError, match="'ab' is the beginning of several runs: ab01, ab02"):
        KeptModel(Node, folder, "ab")
    with pytest.raises(FedkinError, match="holds no model of a run 'x': cd01, ab01, ab02"):
        KeptModel(Node, folder, "x")
    with pytest.raises(FedkinError, match="holds no model, until a run that it takes part in is f"):
        KeptModel(Node, tmp_path / "other", None)


@pytest.mark.parametrize("changed", [{"round": -1}, {"strange": 1}, {"place": {"client": 1}}])
def test_what_another_fedkin_wrote_is_refused(changed, tmp_path) -> None:
    keep(tmp_path, "ab01", 100, **changed)
    with pytest.raises(FedkinError, match=r"ab01/.* is damaged, or of another fedkin"):
        KeptModel(Node, tmp_path, None)


def test_its_data_are_as_they_were_without_a_sample(tmp_path) -> None:
    facts = {"shape": [1, 8, 8], "dtype": "uint8", "task": "classification"}
    made = Facts.model_construct(**facts)
    kept = KeptModel.__new__(KeptModel)
    kept.details = Details.model_construct(facts=made, place=PLACE, encoding=None)
    blank = kept.blank()
    assert tuple(blank.x.shape) == (0, 1, 8, 8)
    assert str(blank.x.dtype) == "torch.uint8"
    assert (blank.clients, blank.classes, blank.sizes("train").tolist()) == (4, 3, [0] * 4)


def test_numbers_and_a_tables_encoding_are_as_they_were(tmp_path):
    facts = Facts.model_construct(shape=[2], dtype="float32", task="regression")
    kept = KeptModel.__new__(KeptModel)
    place = PLACE.model_copy(update={"classes": 0})
    kept.details = Details.model_construct(facts=facts, place=place, encoding=None)
    blank = kept.blank()
    assert (str(blank.y.dtype), blank.classes, blank.task) == ("torch.float32", 0, "regression")
    assert len(blank.y) == len(blank.x) == 0
    assert blank.encoding is None
    for part in ("train", "val", "test"):
        assert [len(rows) for rows in blank.rows(part)] == [0] * 4
    (tmp_path / "a.csv").write_text("u,v,label,split\n1,2,0,train\n2,3,1,train\n")
    encoding = data.read(tmp_path / "a.csv").encoding
    kept.details = Details.model_construct(facts=facts, place=place, encoding=encoding.plain())
    assert data.columns_of(kept.blank()) == ("u", "v")
