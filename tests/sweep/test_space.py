"""Values and ranges that are searched."""

import json
from pathlib import Path

import pytest

from fedkin.core.errors import FedkinError
from fedkin.runs.spec import Spec
from fedkin.sweep import SPACES, dropped, instead, space_of
from fedkin.sweep.space import changed, check
from tests.cli.command import fedkin
from tests.sweep.study_examples import QUICK

pytest.importorskip("optuna")


def test_a_range_of_whole_numbers_is_drawn_from_them(tmp_path: Path) -> None:
    asked = ["sweep", *QUICK[:-1], "--set=method=hypcluster", "--space", "method.clusters=1 .. 3"]
    found = json.loads(
        fedkin(
            *asked, "--sampler", "tpe", "--trials", "2", "--out", tmp_path / "s", "--json"
        ).stdout
    )
    assert not found["lost"]
    assert {row["method.clusters"] for row in found["trials"]} <= {1, 2, 3}


OWN = """
from torch import nn
class Net(nn.Sequential):
    def __init__(self, shape, classes, drop: float = 0, width=4):
        last = nn.Linear(width, classes)
        super().__init__(nn.Flatten(), nn.Linear(64, width), nn.Dropout(drop), last)
"""


def test_whole_numbers_are_for_what_is_said_to_be_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "own_net.py").write_text(OWN)
    monkeypatch.chdir(tmp_path)  # where it is found, as by fedkin run
    quick = [*QUICK[:3], "--set=method=fedavg", "--set=model.name=own_net:Net"]
    ranges = ["--space", "model.drop=0 .. 0.5", "--space", "model.width=2 .. 9"]
    tried = fedkin(
        "sweep", *quick, *ranges, "--sampler", "tpe", "--trials", "2", "--out", "s", "--json"
    )
    rows = json.loads(tried.stdout)["trials"]
    assert all(0 < row["model.drop"] < 0.5 and isinstance(row["model.width"], int) for row in rows)
    refused = fedkin("sweep", *quick, "--space", "model.classes=3", "--out", "t")
    assert "unknown option of model 'own_net:Net' 'classes'" in refused.output


def test_a_range_of_a_models_sizes_too(tmp_path: Path) -> None:
    asked = [
        "sweep",
        *QUICK,
        "--set=model=dnn",
        "--space",
        "model.hidden=3 .. 5",
        "--sampler",
        "tpe",
        "--trials",
        "2",
    ]
    found = json.loads(fedkin(*asked, "--out", tmp_path / "s", "--json").stdout)
    assert not found["lost"]
    assert {row["model.hidden"] for row in found["trials"]} <= {3, 4, 5}


def test_a_value_is_refused_only_where_no_combination_takes_it() -> None:
    base = Spec.model_validate({"method": {"name": "l2sgd"}})
    search = ["train.lr=0.1, 0.01", "method.lam=1, 5"]  # 5 is too much beside the first rate
    check(base, space_of(search))
    with pytest.raises(FedkinError, match="overshoots the mean"):
        check(base, space_of(["train.lr=0.1", *search[1:]]))


def test_the_papers_grids_are_there() -> None:
    assert len(space_of(["cgpfl"])["method.lam"]) == 11
    assert set(SPACES) >= {"comet", "ppfl", "cgpfl"}


def test_what_nobody_chose_is_not_said_to_be_dropped() -> None:
    """An experiment that names no method begins with one, which has keys of its own."""
    assert dropped(Spec(), {"method.name": ["ditto", "fedavg"]}) == []
    other = Spec.model_validate({"method": {"name": "ditto", "lam": 2.0}})
    assert len(dropped(other, {"method.name": ["ditto", "fedavg"]})) == 1


def test_another_method_or_model_leaves_the_keys_of_the_first() -> None:
    base = Spec.model_validate(
        {"method": {"name": "ditto", "lam": 2}, "model": {"name": "dnn", "hidden": 8}}
    )
    space = space_of(["method.name=ditto, fedavg", "model.name=dnn, mlr"])
    check(base, space)
    assert dropped(base, space) == [
        "[method] lam of the file went with 'ditto': not used for 'fedavg'",
        "[model] hidden of the file went with 'dnn': not used for 'mlr'",
    ]
    assert changed(base, {"method.name": "Ditto"}).method.options == {"lam": 2}
    searched = {
        "method.lam": 5,
        "method.name": "apfl",
    }  # what is searched stays, whatever the order
    assert changed(base, searched).method.options == {"lam": 5}


def test_the_data_of_a_search_are_those_of_its_trials() -> None:
    """A method that needs a public set holds one out; methods that do not, do so where asked."""
    base = changed(Spec(), {"run.clients": 2, "split.name": "iid", "model.name": "mlr"})
    rates = {"train.lr": [0.1]}
    held_out = base.replace("public", source="held-out")
    both = {**rates, "method.name": ["fedavg", "ds_fl"]}
    assert check(base, {**rates, "method.name": ["ds_fl"]}) == check(held_out, both)
    assert check(base, {**rates, "method.name": ["fedavg"]}) != check(held_out, both)


def test_a_key_that_every_method_has_is_searched_with_those_of_one() -> None:
    base = Spec.model_validate({"method": {"name": "ditto"}})
    space = space_of(["method.safe=true, false", "method.lam=0.1, 1"])
    check(base, space)
    assert changed(base, {"method.safe": True}).method.safe is True
    with pytest.raises(FedkinError, match="unknown ditto hyper-parameter 'sage'"):
        check(base, space_of(["method.sage=true, false"]))


def test_what_trials_leave_is_told_once(tmp_path: Path) -> None:
    asked = ["sweep", *QUICK[:-1], "--set=method=ditto:lam=2", "--space", "method.name=fedavg"]
    told = fedkin(*asked, "--out", tmp_path / "s")
    assert told.stderr.count("lam of the file went with 'ditto'") == 1


def test_no_values_are_lost_in_silence() -> None:
    with pytest.raises(FedkinError, match=r"--space gives train.lr twice: write all its values"):
        space_of(["train.lr=0.1, 0.2", "train.lr = 0.3"])
    with pytest.raises(FedkinError, match=r"--space gives method.clusters twice"):
        space_of(["cgpfl", "comet"])


def test_a_key_of_a_named_space_may_be_given_otherwise() -> None:
    asked = ["method.clusters=3", "cgpfl"]
    for texts in (asked, asked[::-1]):
        assert space_of(texts)["method.clusters"] == [3]
        assert len(space_of(texts)["method.lam"]) == 11
        assert instead(texts) == [
            "method.clusters of the space cgpfl is searched as you gave it, not as 2, 4"
        ]
    assert not instead(["cgpfl", "train.lr=0.1"])


def test_a_value_that_is_a_list_stays_one(tmp_path: Path) -> None:
    assert space_of(["train.milestones=[1], [1, 2]"]) == {"train.milestones": [[1], [1, 2]]}
    assert space_of(["data.note='a, b', c"]) == {"data.note": ["a, b", "c"]}
    asked = ["sweep", *QUICK, "--space", "train.milestones=[1], [1, 2]", "--out", tmp_path / "s"]
    done = fedkin(*asked, "--json")
    assert "Choices for a categorical" not in done.stderr
    rows = json.loads(done.stdout)["trials"]
    assert sorted(row["train.milestones"] for row in rows) == [[1], [1, 2]]
    assert json.loads(fedkin(*asked, "--json").stdout)["trials"] == rows  # nothing is left to do


def test_a_key_without_values_is_shown_with_some() -> None:
    with pytest.raises(
        FedkinError, match=r"--space train\.lr has no values: write train\.lr=0\.01,"
    ):
        space_of(["train.lr"])
    with pytest.raises(FedkinError, match="unknown space 'commet': did you mean 'comet'"):
        space_of(["commet"])


def test_a_trial_asks_for_no_workers_that_nobody_asked_for() -> None:
    assert not changed(Spec(), {"train.lr": 0.1}).engine.model_fields_set
    asked = Spec().replace("engine", workers=2)
    assert changed(asked, {"train.lr": 0.1}).engine.model_fields_set == {"workers"}


def test_a_hyper_parameter_without_its_section_is_named_with_it() -> None:
    base = Spec().replace("method", name="ditto")
    with pytest.raises(FedkinError, match=r"lam is called method\.lam here: --space method\.lam="):
        check(base, space_of(["lam=0.1, 1"]))
    with pytest.raises(FedkinError, match="unknown key 'lamb'"):
        check(base, space_of(["lamb=0.1, 1"]))
