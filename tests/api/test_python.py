"""docs/python.md as it stands there; data, models and progress as values; what is refused."""

import json
import re
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from torch import nn

from fedkin import Experiment, FedkinError, Result, resume, run
from fedkin.methods.fedavg import fedavg
from fedkin.models.given import recipe_of
from fedkin.report.comparison.run_row import ComparedRun, read_run
from fedkin.report.summary import summary
from tests.cli.command import fedkin
from tests.cli.test_documents import ROOT
from tests.export.clinics import write_clinics

SMALL: dict[str, Any] = {"rounds": 1, "steps": 2, "engine": "inprocess"}


class Net(nn.Sequential):
    """A module of a user's."""

    def __init__(self, shape: tuple[int, ...], classes: int) -> None:
        super().__init__(nn.Linear(shape[0], 3), nn.Tanh(), nn.Linear(3, classes))


@pytest.fixture
def patients(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> pd.DataFrame:
    monkeypatch.chdir(tmp_path)
    return pd.read_csv(write_clinics(tmp_path / "patients.csv", clinics=3))


def test_the_page_shows_one_run_from_both_sides(patients: pd.DataFrame) -> None:
    page = (ROOT / "docs" / "python.md").read_text()
    shell, one, two = re.findall(r"```(?:bash|python)\n(.*?)```", page, re.DOTALL)
    for command in shell.splitlines():
        done = fedkin(*shlex.split(command)[1:])
        assert done.exit_code == 0, (command, done.output)
    space: dict[str, Any] = {}
    exec(one, space)
    exec(two, space)
    prints = [summary(Path("runs") / name)["fingerprint"] for name in ("shell", "python")]
    assert prints[0] == prints[1]
    written = pd.read_csv("answers.csv")
    assert written["prediction"].tolist() == space["answers"]["prediction"].tolist()
    assert set(space["table"]["prediction"]) <= {"home", "readmitted"}
    assert len(space["side_by_side"].runs) == 2
    assert space["found"]["clients"]["count"] == 3


def test_a_frame_gives_what_its_file_gives(patients: pd.DataFrame) -> None:
    keys = {"client": "hospital", "label": "outcome", "model": "mlr", **SMALL}
    one = run(Experiment("fedavg", data=patients, **keys), out="frame")
    two = run(Experiment("fedavg", data="patients.csv", **keys), out="file")
    assert one.summary["fingerprint"] == two.summary["fingerprint"]
    assert Result("frame").data("H01")[0].shape == two.data("H01")[0].shape
    with pytest.raises(FedkinError, match="exists and is not empty"):
        run(Experiment("fedavg", data=patients, **keys), out="frame")


def test_runs_on_one_frame_are_of_the_same_data_under_every_seed(patients: pd.DataFrame) -> None:
    def ran(method: str, seed: int, data: pd.DataFrame) -> ComparedRun:
        keys = {"client": "hospital", "label": "outcome", "model": "mlr", "seed": seed, **SMALL}
        out = f"{method}{seed}{len(data)}"
        return read_run(run(Experiment(method, data=data, **keys), out=out).folder, out)

    first, again, other = (
        ran("fedavg", 0, patients),
        ran("fedavg", 1, patients),
        ran("local", 1, patients),
    )
    assert first.same_data(again)
    assert first.same_data(other)
    assert first.experiment == again.experiment  # so that they are one row, with its spread
    assert not first.same_data(ran("fedavg", 2, patients.iloc[:-1]))


def test_what_is_no_method_and_no_experiment_is_refused() -> None:
    """A function that makes a method was dropped without a word, and finetune ran."""
    with pytest.raises(FedkinError, match=r"but a function: call it, as fedavg\(lr=0\.1\)"):
        Experiment(fedavg)  # type: ignore[arg-type]
    for wrong in (42, ["fedavg"], {"name": "fedavg"}):
        with pytest.raises(FedkinError, match="neither a name nor a Method"):
            Experiment(wrong)  # type: ignore[arg-type]
    with pytest.raises(FedkinError, match="run takes an Experiment, not str"):
        run("local")  # type: ignore[arg-type]


def test_arrays_with_clients_are_divided_by_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    y, client = rng.integers(0, 2, 60), np.arange(60) % 3
    arrays = {"x": rng.normal(size=(60, 4)), "y": y, "client": client}
    result = run(Experiment("local", data=arrays, model="mlr", **SMALL))
    assert result.summary["clients"] == 3
    answers = result.predict(1, arrays["x"][:5].astype(np.float32))
    assert answers["prediction"].isin(["0", "1"]).all()
    np.testing.assert_allclose(answers.filter(like="p(").sum(axis=1), 1, rtol=1e-5)
    with pytest.raises(FedkinError, match=r"the model takes \[rows, 4\]"):
        result.predict(1, np.zeros((2, 3)))


@pytest.mark.parametrize(
    "model", [Net, lambda shape, classes: Net(shape, classes)], ids=["class", "function"]
)
def test_a_model_is_a_class_or_what_makes_one(
    model: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    data = {"x": np.eye(40, 4), "y": np.arange(40) % 2, "client": np.arange(40) % 2}
    result = run(Experiment("fedavg", data=data, model=model, rounds=1, steps=1))
    assert sum(one.numel() for one in result.personal(0).parameters()) == 4 * 3 + 3 + 3 * 2 + 2


def test_a_module_keeps_the_parameters_that_it_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    data = {"x": np.eye(40, 4), "y": np.arange(40) % 2, "client": np.arange(40) % 2}
    made = nn.Linear(4, 2)
    before = made.weight.detach().clone()
    result = run(Experiment("fedavg", data=data, model=made, rounds=1, steps=1, lr=1e-9))
    torch.testing.assert_close(next(iter(result.personal(0).parameters())), before)
    torch.testing.assert_close(made.weight, before)


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"round": 2}, "unknown keyword 'round': did you mean 'rounds'?"),
        ({"clients_": 2}, "did you mean 'clients'?"),
        ({"data": 7}, "data is a int"),
        ({"data": {"a": [1, 2], "b": [1]}}, "columns do not fit together"),
        ({"model": 3.5}, "model=3.5 is no torch module"),
        ({"method": "comet:cluster=2"}, "'cluster': did you mean 'clusters'?"),
    ],
)
def test_what_is_no_keyword_or_no_value(settings: dict[str, Any], sentence: str) -> None:
    with pytest.raises(FedkinError) as error:
        Experiment(**{"method": "fedavg", **settings})
    assert sentence in str(error.value)


def test_short_forms_are_those_of_the_command_line() -> None:
    spec = Experiment("comet:clusters=2", split="dirichlet:0.3", model="dnn:hidden=8").spec
    assert (spec.method.options, spec.split.options) == ({"clusters": 2}, {"alpha": 0.3})
    assert spec.model.options == {"hidden": 8}
    assert Experiment("local", train={"lr": 0.5}, data__mean=[0.0]).spec.train.lr == 0.5
    assert Experiment("local", model="mynet.py:Net").spec.model.name == "mynet:Net"


def test_what_is_shown_in_notebooks_and_on_terminals(
    patients: pd.DataFrame, capsys: pytest.CaptureFixture[str]
) -> None:
    frame = patients.assign(**{"<b>": 1.5 * np.arange(len(patients))})
    keys = {"client": "hospital", "label": "outcome", "model": "mlr", **SMALL}
    experiment = Experiment("local", data=frame, **keys)
    assert f"data=<DataFrame: {len(frame):,} rows, 6 columns>" in repr(experiment)
    for model in (Net, Net((2,), 2)):
        shown = repr(Experiment("local", data=frame, **{**keys, "model": model}))
        assert "model=Net" in shown
        assert shown.count("DataFrame") == 1
    assert "<table>" in experiment._repr_html_()
    seen: list[int] = []
    result = run(experiment, out="a<b>", progress=lambda record: seen.append(record.round))
    assert seen == [0, 1, 2][: len(seen)]
    assert len(seen) >= 2
    assert "a<b>" not in result._repr_html_()
    assert "a&lt;b&gt;" in result._repr_html_()
    personal = repr(result.personal(0))
    assert "mlr" in personal
    assert "parameters" in personal
    run(experiment, out="other", progress=True)
    assert "1/1" in capsys.readouterr().out
    both = result.compare("other")
    assert "<table>" in both._repr_html_()
    assert "|" in repr(both)


def test_what_the_shell_does_with_a_run_python_does_too(patients: pd.DataFrame) -> None:
    keys = {"client": "hospital", "label": "outcome", "data": "patients.csv", **SMALL}
    result = run(Experiment("finetune", **keys), out="run")
    told = result.doctor(rounds=np.int64(0), methods=None)
    json.dumps(told)
    experiment = Experiment("finetune", **keys)
    assert told["verdict"] == experiment.doctor(rounds=0)["verdict"]
    assert experiment.doctor(1, "ditto")["probes"][-1]["method"] == "ditto"
    for asked in (result, experiment):
        for rounds in (-1, True, 1.5):
            with pytest.raises(FedkinError, match=f"^rounds={rounds} must be a whole number of"):
                asked.doctor(rounds)  # type: ignore[arg-type]
        with pytest.raises(FedkinError, match="unknown method 'dito': did you mean"):
            asked.doctor(methods="dito")
    file = result.export("H01", "pt2")
    assert file == Path("run/export/H01/model.pt2")
    assert torch.export.load(file).module()(result.data("H01")[0]).shape[1] == 2
    assert result.export(1, out="to") == Path("to/H01/model.safetensors")
    with pytest.raises(FedkinError, match="unknown format 'h5'"):
        result.export("H01", "h5")
    own = patients[patients.hospital == "H00"].assign(hospital="new")
    own.to_csv("new.csv", index=False)
    with pytest.raises(FedkinError, match=r"^rounds=-1 must be a whole number of at least 0$"):
        result.join("new.csv", rounds=-1)
    assert not Path("run/joined").exists()
    joined = result.join("new.csv", rounds=np.int64(1))
    assert Path(joined["model"]).is_file()
    assert result.predict("new", own.drop(columns="outcome")).shape[0] == len(own)


@pytest.mark.rotating
def test_a_search_finds_what_the_shells_finds(patients: pd.DataFrame) -> None:
    pytest.importorskip("optuna")
    keys = {"client": "hospital", "label": "outcome", "data": "patients.csv", **SMALL}
    asked = Experiment("fedavg", measure="log_loss", **keys)
    found = asked.sweep({"train.lr": [0.001, 0.5]}, out="one")
    assert found["best"] == found["trials"][0]
    assert {one["train.lr"] for one in found["trials"]} == {0.001, 0.5}
    assert asked.sweep(["train.lr=0.001, 0.5"], out="one") == found, "the same study goes on"
    assert asked.sweep("train.lr=0.001, 0.5", out="one") == found
    single = asked.sweep({"train.lr": 0.5}, out="single")
    assert single == asked.sweep({"train.lr": [0.5]}, out="single")
    small = ["--set", "train.steps=2", "--set", "engine.name=inprocess", "--rounds", "1"]
    data = ["--data", "patients.csv:client=hospital,label=outcome", "--method", "fedavg"]
    space = ["--space", "train.lr=0.001, 0.5", "--measure", "log_loss", "--out", "two", "--json"]
    shell = json.loads(fedkin("sweep", *data, *small, *space).stdout)
    assert [one["validation"] for one in shell["trials"]] == [
        one["validation"] for one in found["trials"]
    ]
    for trials in (-1, 0, True, 2.5):
        with pytest.raises(FedkinError, match=f"^trials={trials} must be a whole number of at le"):
            asked.sweep({"train.lr": [0.1]}, out="none", trials=trials)  # type: ignore[arg-type]
    with pytest.raises(FedkinError, match="cannot be searched over None"):
        asked.sweep({"train.lr": [0.1, None]}, out="none")
    assert not Path("none").exists()
    with pytest.raises(FedkinError, match="begins its runs from names"):
        Experiment("fedavg", **{**keys, "data": patients}).sweep({"train.lr": [0.1]})


def test_each_experiment_runs_its_own_model_of_a_name(tmp_path: Path) -> None:
    def net(width: int) -> type[nn.Module]:
        class Net(nn.Sequential):
            def __init__(self) -> None:
                layers = nn.Linear(64, width), nn.ReLU(), nn.Linear(width, 10)
                super().__init__(nn.Flatten(), *layers)

        return Net

    made = [Experiment("fedavg", data="digits", clients=2, model=net(w), **SMALL) for w in (3, 5)]
    results = [run(one, tmp_path / str(k)) for k, one in enumerate(made)]
    again = resume(tmp_path / "1")
    sizes = [sum(value.numel() for value in result.personal(0).parameters()) for result in results]
    assert sizes == [65 * 3 + 4 * 10, 65 * 5 + 6 * 10]
    assert [len(result.data(0)[0]) > 0 for result in reversed(results)] == [True, True]
    with pytest.raises(FedkinError, match=r"build its Experiment\(model=THE MODEL\) again first"):
        Result(tmp_path / "1").personal(0)  # the first one's model has the name now
    assert sum(value.numel() for value in again.personal(0).parameters()) == sizes[1]
    for result in results:
        result.doctor(0)
        ((name, recipe),) = result._models.items()
        assert recipe_of(name) is recipe


def test_settings_that_a_method_value_would_drop_are_refused() -> None:
    mine = fedavg(lr=0.1)._replace(name="mine")
    for key in ("method.mix", "method__weights"):
        with pytest.raises(FedkinError, match=r"is not for a Method given as a value.*mine\("):
            Experiment(mine, **{key: "uniform"}, **SMALL)
    for key in ("lr", "train.lr"):
        with pytest.raises(FedkinError, match=r"train\.lr is 0\.3, .* was made with lr = 0\.1"):
            Experiment(mine, **{key: 0.3}, **SMALL)
    Experiment(mine, lr=0.1, **{"method.safe": True, "server.optimizer": "adam"}, **SMALL)
    Experiment(mine._replace(hyper={}), lr=0.3, **SMALL)  # nobody knows its rate


def test_a_newcomer_joins_a_run_of_a_method_value(patients: pd.DataFrame) -> None:
    mine = fedavg(lr=0.1)._replace(name="mine")
    given = {"data": "patients.csv:client=hospital,label=outcome", "rounds": 1}
    result = run(Experiment(mine, **given), "mine")
    patients[patients.hospital == "H00"].assign(hospital="new").to_csv("new.csv", index=False)
    joined = result.join("new.csv", rounds=1)
    assert (joined["method"], Path(joined["model"]).is_file()) == ("mine", True)
    with pytest.raises(FedkinError, match=r"fedkin\.Result\('mine', method=THE METHOD\)$"):
        Result("mine").join("new.csv", rounds=1)
