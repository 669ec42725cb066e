"""An experiment as a value: mistakes are told when they are made."""

import tomllib
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from torch import nn

from fedkin import Experiment, FedkinError, run
from fedkin.core.errors import Halted
from fedkin.experiment import run as running
from fedkin.runs.spec import parse


class Net(nn.Sequential):
    """A model that is a value."""

    def __init__(self, classes: int) -> None:
        super().__init__(nn.Flatten(), nn.LazyLinear(classes))


@pytest.mark.parametrize(
    ("method", "settings", "sentence"),
    [
        ("comte", {}, "unknown method 'comte': did you mean 'comet'?"),
        ("comet", {"method.cluster": 3}, "'cluster': did you mean 'clusters'?"),
        ("comet", {"method.clusters": 0}, "clusters"),
        ("comet", {"data": "digit"}, "unknown data set 'digit': did you mean 'digits'?"),
        ("comet", {"public": "mnits"}, "unknown data set 'mnits': did you mean 'mnist'?"),
        (
            "comet",
            {"split": "dirichlett"},
            "unknown partition 'dirichlett': did you mean 'dirichlet'?",
        ),
        ("comet", {"model": "mrl"}, "unknown model 'mrl': did you mean 'mlr'?"),
        ("comet", {"rounds": 0}, "Experiment: run.rounds"),
        ("comet", {"run.round": 3}, "did you mean 'rounds'?"),
    ],
)
def test_a_mistake_is_told_at_construction(
    method: str, settings: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(FedkinError) as error:
        Experiment(method, **settings)
    assert sentence in str(error.value)
    assert "specification:" not in str(error.value)


def test_names_that_exist_are_taken() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Experiment(
            "local",
            data="table.csv",
            **{"data.label": "y", "model.map": {"a": "mlr", "b": "my.nets:Net"}},
        )
        Experiment("comet", data="mnist", public="held-out")


def test_an_npz_of_the_data_folder_is_a_data_set(tmp_path: Path) -> None:
    np.savez(tmp_path / "own.npz", x=np.zeros((4, 2)), y=np.array([0, 1, 0, 1]))
    Experiment("local", data="own", **{"data.dir": str(tmp_path)})
    with pytest.raises(FedkinError, match="did you mean 'own'"):
        Experiment("local", data="owm", **{"data.dir": str(tmp_path)})


def test_renamed_keys_are_warned_of() -> None:
    with pytest.warns(UserWarning, match=r"num_clients is called run\.clients here") as caught:
        assert Experiment("local", num_clients=7).spec.run.clients == 7
    assert caught[0].filename == __file__


def test_an_experiment_says_how_it_was_made() -> None:
    shown = repr(Experiment("comet", clients=3, **{"method.clusters": 2}))
    assert shown == "Experiment(method='comet', clients=3, **{'method.clusters': 2})"
    assert eval(shown).spec == Experiment("comet", clients=3, **{"method.clusters": 2}).spec


def _given(seed: int) -> Experiment:
    drawn = np.random.default_rng(seed)
    data = {"x": drawn.normal(size=(60, 4)).astype("float32"), "y": drawn.integers(0, 2, 60)}
    asked = {"clients": 3, "rounds": 1, "train.steps": 1, "model": "mlr", "engine": "inprocess"}
    return Experiment("fedavg", data=data, **asked)


def test_two_that_give_data_for_one_folder_at_once_train_on_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second one comes while the first assembles, and may not write a file over its data."""
    folder, first, assemble = tmp_path / "run", _given(0), running.assemble
    later: list[str] = []

    def interrupted(*asked: Any) -> Any:
        monkeypatch.setattr(running, "assemble", assemble)
        with pytest.raises(Halted) as refused:
            run(_given(5), folder)
        later.append(str(refused.value))
        return assemble(*asked)

    monkeypatch.setattr(running, "assemble", interrupted)
    result = run(first, folder)
    why = f"{folder} is being written by another process: wait for it, or stop it first"
    assert later == [why]
    assert first.given_data is not None
    assert (folder / first.given_data.file).read_bytes() == first.given_data.content
    assert result.summary["finished"]


def test_given_data_are_not_written_through_a_link(tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.write_text("kept")
    (tmp_path / "run").mkdir()
    (tmp_path / "run/given.npz").symlink_to(precious)
    with pytest.raises(FedkinError, match=r"given\.npz is a link: fedkin's own files are never"):
        run(_given(0), tmp_path / "run")
    assert precious.read_text() == "kept"


def test_a_note_on_the_data_points_at_the_line_of_the_caller(tmp_path: Path) -> None:
    frame = pd.DataFrame({"id": range(60), "a": [k % 7 for k in range(60)]})
    frame["label"] = [k % 3 % 2 for k in range(60)]
    told = Experiment("local", data=frame, clients=2, rounds=1, split="iid", engine="inprocess")
    with pytest.warns(UserWarning, match="'id' holds another whole number") as caught:
        run(told, tmp_path / "r")
    assert [one.filename for one in caught if "'id'" in str(one.message)] == [__file__]


def test_an_experiment_is_written_as_a_file_that_the_shell_runs(tmp_path: Path) -> None:
    asked = Experiment(
        "ditto:lam=0.3", clients=3, rounds=1, model={"a": "mlr", "b": "dnn:hidden=8"}, privacy=None
    )
    path = asked.write(str(tmp_path / "mine.toml"))
    assert parse(tomllib.loads(path.read_text(encoding="utf-8")))[0] == asked.spec
    chosen = Experiment("comet", clients=3).write(path)
    assert "patience = 10" in chosen.read_text(encoding="utf-8"), "what was chosen stays chosen"
    (tmp_path / "mine.csv").write_text("a,b")
    with pytest.raises(FedkinError, match=r"mine\.csv"):
        asked.write(tmp_path / "mine.csv")
    assert (tmp_path / "mine.csv").read_text() == "a,b"


@pytest.mark.parametrize(
    "values",
    [{"data": {"x": np.zeros((4, 2)), "y": np.array([0, 1, 0, 1])}}, {"model": Net}],
    ids=["data", "model"],
)
def test_what_has_no_name_is_not_written(tmp_path: Path, values: dict[str, Any]) -> None:
    with pytest.raises(FedkinError, match="an experiment file holds names: give the method"):
        Experiment("local", **values).write(tmp_path / "mine.toml")
    assert not (tmp_path / "mine.toml").exists()
