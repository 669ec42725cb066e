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
        ("comet", {"model": {"hiden": 3}}, "'hiden': did you mean 'hidden'?"),
        ("comet", {"model": {"large": "dnn"}}, "model={'map': {'large': 'dnn', …}}"),
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


def test_several_models_are_a_list_too() -> None:
    several = Experiment("comet", model=["mlr", "dnn:hidden=8"])
    assert several.spec == Experiment("comet", model="mlr,dnn:hidden=8").spec
    assert list(several.spec.model.map) == ["mlr", "dnn:hidden=8"]


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
        "ditto:lam=0.3", clients=3, rounds=1, model=["mlr", "dnn:hidden=8"], privacy=None
    )
    path = asked.write(str(tmp_path / "mine.toml"))
    assert parse(tomllib.loads(path.read_text(encoding="utf-8")))[0] == asked.spec
    chosen = Experiment("comet", clients=3).write(path)
    assert "patience = 10" in chosen.read_text(encoding="utf-8"), "what was chosen stays chosen"
    unstopped = Experiment("comet", run={"patience": None})
    assert Experiment.read(unstopped.write(path)).spec == unstopped.spec
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


def test_a_key_that_is_given_twice_is_refused() -> None:
    for twice, key in (
        ({"seed": 1, "run__seed": 2}, "run.seed"),
        ({"train": {"lr": 0.1}, "lr": 0.2}, "train.lr"),
        ({"model": Net, "model__name": "mlr"}, "model.name"),
    ):
        first, second = twice
        with pytest.raises(FedkinError, match=f"{first}=… and {second}=… both give {key}: leave"):
            Experiment("local", **twice)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return Experiment("ditto:lam=0.3", clients=3, rounds=1).write(tmp_path / "mine.toml")


@pytest.mark.filterwarnings("ignore:num_clients is called")
def test_an_experiment_is_read_from_a_file(file: Path) -> None:
    read = Experiment.read(file)
    assert read.spec == Experiment("ditto:lam=0.3", clients=3, rounds=1).spec
    assert repr(read) == f"Experiment.read({str(file)!r})"
    changed = Experiment.read(str(file), seed=2, train={"lr": 0.2}, num_clients=5)
    assert (changed.spec.run.seed, changed.spec.train.lr, changed.spec.run.clients) == (2, 0.2, 5)
    assert changed.spec.method.options == {"lam": 0.3}
    assert eval(repr(changed)).spec == changed.spec
    with pytest.warns(UserWarning, match="lam of the file went with 'ditto'") as caught:
        assert Experiment.read(file, method="fedprox").spec.method.options == {}
    assert caught[0].filename == __file__


@pytest.mark.filterwarnings("ignore:.*of the file went with")
@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"rounds": 0}, "Experiment: run.rounds: input should be greater than or equal to 1"),
        ({"round": 3}, "unknown keyword 'round': did you mean 'rounds'?"),
        ({"lam": 3}, "did you mean 'method.lam'"),
        ({"method": "fedagv"}, "unknown method 'fedagv': did you mean 'fedavg'?"),
        ({"seed": 1, "run__seed": 2}, "seed=… and run__seed=… both give run.seed"),
        ({"data": {"x": [0]}}, "data=dict is a value, and an experiment file holds names"),
        ({"model": Net}, "model=type is a value"),
    ],
)
def test_a_mistake_in_what_changes_a_file(
    file: Path, changes: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(FedkinError) as error:
        Experiment.read(file, **changes)
    assert sentence in str(error.value)


def test_a_file_that_is_none_is_refused(tmp_path: Path) -> None:
    (tmp_path / "bad.toml").write_text("[run]\nround = 3\n")
    for path, sentence in (
        (tmp_path, "is a folder"),
        (tmp_path / "gone.toml", "does not exist"),
        (tmp_path / "bad.toml", r"bad\.toml: unknown key 'run\.round' \(line 2\)"),
    ):
        with pytest.raises(FedkinError, match=sentence):
            Experiment.read(path)


def test_code_that_a_file_names_is_imported_where_somebody_trusts_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "nets_of_a_file.py").write_text("from torch import nn\nNet = nn.Identity\n")
    path = tmp_path / "strange.toml"
    path.write_text('[method]\nname = "local"\n[model]\nname = "nets_of_a_file:Net"\n')
    with pytest.raises(FedkinError, match=r"names code.*in Python: trust_code=True"):
        Experiment.read(path)
    Experiment.read(path, trust_code=True)
