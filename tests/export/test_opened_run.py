"""Whose model is meant, and which of its models."""

import json
import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from fedkin.core.errors import FedkinError
from fedkin.engine.codec import encode
from fedkin.experiment.run import run
from fedkin.export.opened_run import Member, Opened
from fedkin.models.user_models import allow
from fedkin.newcomers.join import FOLDER, FOUND, MODEL, experiment_of
from fedkin.runs import checkpoint
from fedkin.runs.database import read_only
from tests.engine.small import small

NAMES = ("3", "s9", "s2", "s11")  # the first is called like another one's number


# what a card tells of a join
NUMBERS: dict[str, Any] = {
    **dict.fromkeys(("train", "val", "test", "after_round", "rounds"), 3),
    "scores": {"personal": {"test": {"loss": 0.5, "accuracy": None}}},
    "bytes": {"up": 9, "down": 9},
    "scalars": {"up": {"parameters": 2}, "down": {"parameters": 2}},
}


def of_a_run(folder: Path) -> Opened:
    """Opened without any training: views tell what they were asked for."""
    opened = Opened.__new__(Opened)
    opened.folder, opened.names, opened.round = folder, NAMES, 5
    coordinator: Any = SimpleNamespace(
        views=lambda client, at, trained: {
            "personal": {"of": (client, at, trained)},
            "global": {"of": "all"},
        }
    )
    spec = SimpleNamespace(run=SimpleNamespace(rounds=7, seed=4))
    infos = [SimpleNamespace(architecture=name) for name in ("mlr", "cnn", "dnn", "cnn")]
    opened.coordinator = coordinator
    parts: Any = SimpleNamespace(
        spec=spec,
        infos=infos,
        models={"mlr": 1, "cnn": 2, "dnn": 3},
        method=SimpleNamespace(name="local"),
        held_out=SimpleNamespace(names=("apart",)),
        population=SimpleNamespace(digest=lambda: "d1"),
    )
    opened.parts = parts
    at: Any = SimpleNamespace(finished=False, facts={})
    opened.at = at
    return opened


def joins(folder: Path, **changed: Any) -> dict[str, Any]:
    told = {
        "client": "new",
        "architecture": "dnn",
        "data_digest": "d1",
        "method": "local",
        "seed": 4,
        "experiment": experiment_of({}),
        **NUMBERS,
        **changed,
    }
    folder.mkdir(parents=True)
    (folder / FOUND).write_text(json.dumps(told))
    return told


def test_a_name_comes_before_a_number(tmp_path: Path) -> None:
    opened = of_a_run(tmp_path)
    assert opened.member("3") == Member("3", 0)
    assert opened.member(3) == Member("s11", 3)
    assert opened.member("1") == opened.member("s9") == Member("s9", 1)
    assert opened.member("0") == Member("3", 0)
    assert [opened.architecture(opened.member(k)) for k in range(4)] == ["mlr", "cnn", "dnn", "cnn"]


def test_who_is_not_there(tmp_path: Path) -> None:
    opened = of_a_run(tmp_path)
    with pytest.raises(FedkinError) as nobody:
        opened.member("4")
    assert str(nobody.value) == (
        "client '4' is not there (clients are 0 to 3, called 3, s9, s2, s11)"
    )
    with pytest.raises(FedkinError, match=r"client 's 9' is not there: did you mean 's9'\? \("):
        opened.member("s 9")
    with pytest.raises(FedkinError, match="client 'apart' was held out of training: fedkin join"):
        opened.member("apart")
    opened.parts.held_out = None  # type: ignore[misc]
    for name in ("z9", "b2"):
        joins(tmp_path / FOLDER / name)
    with pytest.raises(FedkinError, match=r"called 3, s9, s2, s11; joined: b2, z9\)$"):
        opened.member("apart")
    opened.names = tuple(f"n{k}" for k in range(20))
    with pytest.raises(FedkinError, match=r"0 to 19, called n0, .*n7.* 12 more"):
        opened.member("apart")


def test_one_that_joined_is_found_by_its_name_or_its_folder(tmp_path: Path) -> None:
    opened = of_a_run(tmp_path / "run")
    told = joins(tmp_path / "run" / FOLDER / "new")
    for called in ("new", f"{FOLDER}/new", str(tmp_path / "run" / FOLDER / "new")):
        member = opened.member(called)
        assert (member.name, member.number, member.details) == ("new", None, told)
    assert opened.architecture(opened.member("new")) == "dnn"


@pytest.mark.parametrize(
    "other",
    [
        {"method": "fedavg"},
        {"seed": 5},
        {"data_digest": "d2"},
        {"architecture": "vit"},
        {"experiment": experiment_of({"hyper": {"lr": 0.5}})},
    ],
    ids=lambda other: next(iter(other)),
)
def test_a_model_of_another_run_is_refused(other: dict[str, Any], tmp_path: Path) -> None:
    joins(tmp_path / "x", **other)
    with pytest.raises(FedkinError, match="holds a model of another run"):
        of_a_run(tmp_path).member("x")


@pytest.mark.parametrize(
    "lacks", ["client", "architecture", "method", "seed", "data_digest", "experiment"]
)
def test_a_join_that_does_not_say_what_it_is_of_is_damaged(lacks: str, tmp_path: Path) -> None:
    told = joins(tmp_path / "x")
    del told[lacks]
    (tmp_path / "x" / FOUND).write_text(json.dumps(told))
    with pytest.raises(FedkinError, match=r"join\.json is damaged, or of an older fedkin: let the"):
        of_a_run(tmp_path).member("x")


def test_views_are_those_of_the_last_evaluation(tmp_path: Path) -> None:
    opened = of_a_run(tmp_path)
    assert opened.view(Member("s2", 2)) == {"of": (2, 8, 5)}
    assert opened.view(Member("s2", 2), "global") == {"of": "all"}
    with pytest.raises(FedkinError, match="did you mean 'global'"):
        opened.view(Member("s2", 2), "globel")
    joins(tmp_path / "x")
    (tmp_path / "x" / MODEL).write_bytes(encode({"w": torch.tensor([3.0])}))
    joined = opened.member("x")
    assert opened.view(joined)["w"].tolist() == [3.0]  # type: ignore[index,call-overload,union-attr]
    with pytest.raises(FedkinError, match="view"):
        opened.view(joined, "global")


def test_a_run_that_is_not_finished_says_so(tmp_path: Path) -> None:
    opened = of_a_run(tmp_path)
    assert opened.unfinished.startswith(
        "the run is not finished: its models are those after round 5 of 7 (fedkin resume"
    )
    with checkpoint.alone(tmp_path):
        assert opened.unfinished.endswith("after round 5 of 7 (it is in training now)")
    opened.at.facts["values"] = {"method": {"code": "0"}}  # no command can name it
    assert opened.unfinished.endswith(f"(fedkin.resume({str(tmp_path)!r}, method=THE METHOD))")
    opened.at = SimpleNamespace(finished=True)  # type: ignore[assignment]
    assert opened.unfinished == ""


def test_what_is_exported_was_evaluated_also_where_making_it_trains(tmp_path: Path) -> None:
    """Per-FedAvg's personal model is one step from the shared one, which draws dropout."""
    allow(["tests.engine.test_runtime:Dropped"])
    settings = {"run__rounds": 1, "run__clients": 3, "run__participation": 1.0}
    spec = small("per_fedavg", model__name="tests.engine.test_runtime:Dropped", **settings)
    run(spec, tmp_path / "run")
    opened = Opened(tmp_path / "run", trust_code=True)
    with read_only(opened.folder) as database:
        rows = database.rows(
            "SELECT client, loss FROM metrics WHERE round = 2 AND view = 'personal' "
            "AND split = 'test' AND client >= 0 ORDER BY client"
        )
    assert len(rows) == 3
    for client, recorded in rows:
        x, y = opened.parts.population.part(client, "test")
        logits = opened.personal(opened.member(client))(x)
        found = torch.nn.functional.nll_loss(logits.log_softmax(-1), y)
        torch.testing.assert_close(float(found.detach()), recorded, rtol=1e-5, atol=0)


@pytest.mark.parametrize(
    "odd",
    [
        {"train": "<img src=x>"},
        {"rounds": {}},
        {"after_round": -1},
        {"test": 2**63},
        {"scores": []},
        {"scores": {"personal": {"test": {"loss": 0.5}}}},
        {"scores": {"personal": {"test": {"loss": "low", "accuracy": 0.5}}}},
        {"scores": {"personal": {"test": {"loss": 0.5, "accuracy": 0.5, "auc": []}}}},
        {"scores": {"personal": {"test": {"loss": math.nan, "accuracy": 0.5}}}},
        {"scores": {"personal": {"test": {"loss": True, "accuracy": 0.5}}}},
        {"measures": []},
        {"measures": {"personal": {"val": 0.5}}},
        {"measures": {"personal": {"val": {"threshold": "<img src=x>"}}}},
        {"measures": {"personal": {"val": {"auc": math.inf}}}},
        {"bytes": {"up": [], "down": 9}},
        {"scalars": {"up": {"parameters": True}, "down": {}}},
        {"notes": 3},
    ],
    ids=str,
)
def test_a_strangers_join_has_numbers_where_its_card_tells_some(
    odd: dict[str, Any], tmp_path: Path
) -> None:
    joins(tmp_path / "x", **odd)
    with pytest.raises(FedkinError, match=r"join\.json is damaged, or of an older fedkin: let the"):
        of_a_run(tmp_path).member("x")
