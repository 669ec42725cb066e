"""Exported models say what the models in the run say; new samples are read as the training data
were.
"""

import io
import json
import os
import sqlite3
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from safetensors.torch import load_file

from fedkin import Result
from fedkin.core.errors import FedkinError
from fedkin.engine.codec import decode, encode
from fedkin.export.export import CARD, FORMATS, TOLERANCE, _files_beside, _tolerance, export
from fedkin.export.exportable import SAMPLES, samples_of
from fedkin.export.formats import Exported
from fedkin.models.small import dnn
from tests import awkward
from tests.cli.command import fedkin, told
from tests.export.clinics import write_clinics

SMALL = ["--engine", "inprocess", "--rounds", "2", "--set", "train.steps=3"]


def trained(tmp_path: Path, *arguments: str) -> Path:
    """A run on the clinics."""
    table = write_clinics(tmp_path / "patients.csv")
    out = tmp_path / "run"
    done = fedkin(
        "run", *SMALL, "--data", f"{table}:client=hospital,label=outcome", *arguments, "--out", out
    )
    assert done.exit_code == 0, done.output
    return out


def exported(run: Path, format: str, client: str = "H02") -> Path:
    done = fedkin("export", run, "--client", client, "--format", format)
    assert done.exit_code == 0, done.output
    return run / "export" / client / f"model.{format}"


def outputs(file: Path, x: torch.Tensor) -> torch.Tensor:
    """What another program gets from an exported file."""
    if file.suffix == ".pt2":
        found: torch.Tensor = torch.export.load(io.BytesIO(file.read_bytes())).module()(x)
        return found.detach()
    session = pytest.importorskip("onnxruntime").InferenceSession(
        file.read_bytes(), providers=["CPUExecutionProvider"]
    )
    shapes = [one.shape[0] for one in (*session.get_inputs(), *session.get_outputs())]
    assert shapes == ["samples", "samples"]
    return torch.from_numpy(session.run(["y"], {"x": x.numpy()})[0])


@pytest.mark.rotating
@pytest.mark.parametrize(
    ("method", "formats"),
    [
        ("local", ["pt2"]),
        ("ppfl:models=2", ["pt2", "onnx"]),
        ("ppfl:models=2,structure=2", ["pt2"]),
        ("fedem:components=2", ["onnx"]),
    ],
)
def test_exported_programs_give_the_outputs_of_the_run(
    method: str, formats: list[str], tmp_path: Path
) -> None:
    run = trained(tmp_path, "--method", method)
    personal, (x, _) = Result(run).personal(2), Result(run).data(2, "train")
    for format in formats:
        if format == "onnx":
            pytest.importorskip("onnxscript")
        file = exported(run, format)
        for samples in (x, x[:1]):
            torch.testing.assert_close(
                outputs(file, samples), personal(samples).detach(), atol=1e-5, rtol=1e-4
            )


STATISTICS = """
from torch import nn
class Net(nn.Sequential):
    def __init__(self, shape, classes):
        super().__init__(nn.Linear(shape[0], 6), nn.BatchNorm1d(6), nn.Linear(6, classes))
"""


@pytest.mark.rotating
@pytest.mark.parametrize("method", ["fedavg", "fedem:components=2"])
def test_running_statistics_become_a_program_too(
    method: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("onnxscript")
    (tmp_path / "normed.py").write_text(STATISTICS)
    monkeypatch.syspath_prepend(str(tmp_path))
    run = trained(tmp_path, "--method", method, "--model", "normed:Net")
    personal, (x, _) = Result(run).personal(2), Result(run).data(2, "train")
    torch.testing.assert_close(
        outputs(exported(run, "onnx"), x), personal(x).detach(), atol=1e-5, rtol=1e-4
    )


def test_safetensors_go_into_the_torch_module(tmp_path: Path) -> None:
    run = trained(tmp_path, "--method", "local", "--model", "dnn")
    x, _ = Result(run).data(2)
    module = dnn((x.shape[1],), 2)
    module.load_state_dict(load_file(exported(run, "safetensors")))
    expected = Result(run).personal(2)(x)
    torch.testing.assert_close(module(x).log_softmax(1), expected)


def test_another_view_has_a_folder_of_its_own(tmp_path: Path) -> None:
    """Ditto's shared model beside the client's own."""
    run = trained(tmp_path, "--method", "ditto:lam=1", "--model", "mlr")
    own = load_file(exported(run, "safetensors"))
    done = fedkin("export", run, "--client", "H02", "--view", "global")
    assert done.exit_code == 0, done.output
    folder = run / "export" / "H02" / "global"
    shared = load_file(folder / "model.safetensors")
    assert shared.keys() == own.keys()
    told = Result(run).personal("H02", "global").named_parameters()
    assert all(one.equal(shared[name.replace("_", ".")]) for name, one in told)
    assert not all(shared[name].equal(own[name]) for name in own)
    card = json.loads((folder / CARD).read_text())
    assert (card["view"], card["holds_samples"]) == ("global", False)
    assert (folder / "card.md").read_text().startswith("# Global model of client H02")
    done = fedkin("export", run, "--client", "H02", "--view", "shared")
    assert done.exit_code == 2
    assert "unknown view 'shared'" in done.stderr
    assert "(choices: global, personal)" in done.stderr
    assert not (run / "export" / "H02" / "shared").exists()


def test_a_card_says_that_a_file_holds_samples(tmp_path: Path) -> None:
    """Of kNN-Per's personal model, and not of its shared one."""
    run = trained(tmp_path, "--method", "knn_per", "--model", "dnn")
    for view, holds in (("personal", True), ("global", False)):
        done = fedkin("export", run, "--client", "H02", "--view", view)
        assert done.exit_code == 0, done.output
        folder = run / "export" / "H02" / ("" if view == "personal" else view)
        card = json.loads((folder / CARD).read_text())
        assert card["holds_samples"] is holds
        line = f"features and label of each of this client's {card['data']['samples']['train']} "
        assert (line in (folder / "card.md").read_text()) is holds
    x, _ = Result(run).data(2)
    assert Result(run).personal(2)(x).exp().sum(1).allclose(torch.ones(len(x)))


@pytest.mark.rotating
def test_a_model_that_remembers_samples_is_a_program_for_any_number_of_them(tmp_path: Path) -> None:
    run = trained(tmp_path, "--method", "knn_per", "--model", "dnn")
    x, _ = Result(run).data(2)
    program = exported(run, "pt2")
    for rows in (x, x[:3]):
        expected = Result(run).personal(2)(rows)
        torch.testing.assert_close(outputs(program, rows), expected.detach())


def test_an_exported_model_holds_what_was_frozen_too(tmp_path: Path) -> None:
    frozen = ["--model", "dnn", "--set", "model.frozen=body"]
    run = trained(tmp_path, "--method", "fedavg", *frozen)
    x, _ = Result(run).data(2)
    module = dnn((x.shape[1],), 2)
    module.load_state_dict(load_file(exported(run, "safetensors")))
    expected = Result(run).personal(2)(x)
    torch.testing.assert_close(module(x).log_softmax(1), expected)
    torch.testing.assert_close(outputs(exported(run, "pt2"), x), expected.detach())
    names = [name for name, _ in Result(run).personal(2).named_parameters()]
    assert sorted(names) == ["1_bias", "1_weight", "3_bias", "3_weight"]


@pytest.mark.rotating
@pytest.mark.parametrize("format", ["pt2", "onnx"])
def test_so_does_a_mixture(format: str, tmp_path: Path) -> None:
    if format == "onnx":
        pytest.importorskip("onnxscript")
    frozen = ["--model", "dnn", "--set", "model.frozen=body"]
    run = trained(tmp_path, "--method", "fedem:components=2", *frozen)
    personal, (x, _) = Result(run).personal(2), Result(run).data(2)
    torch.testing.assert_close(
        outputs(exported(run, format), x), personal(x).detach(), atol=1e-5, rtol=1e-4
    )
    tensors = load_file(exported(run, "safetensors"))
    assert {"frozen/1.weight", "frozen/1.bias"} <= set(tensors)
    assert tensors["frozen/1.weight"].equal(personal.get_buffer("frozen/1_weight"))


def test_the_card_tells_what_happened(tmp_path: Path) -> None:
    run = trained(tmp_path, "--method", "fedavg", "--seed", "3")
    folder = exported(run, "safetensors").parent
    card: dict[str, Any] = json.loads((folder / "card.json").read_text())
    result = Result(run)
    last = result.metrics[result.metrics["round"] == result.metrics["round"].max()]
    own = last[(last["client"] == 2) & (last["split"] == "test") & (last["view"] == "personal")]
    assert card["scores"]["personal"]["test"]["accuracy"] == own["accuracy"].item()
    sent = result.communication
    up = sent[(sent["client"] == 2) & (sent["direction"] == "up")]
    assert card["communicated"]["up"] == {
        "bytes": up["bytes"].sum(),
        "parameters": up["parameters"].sum(),
    }
    assert (card["seed"], card["method"], card["client"]) == (3, "fedavg", "H02")
    assert card["data"]["samples"] == {"train": 14, "val": 5, "test": 5}
    assert card["output"]["classes"] == ["home", "readmitted"]
    text = (folder / "card.md").read_text()
    for word in (
        "client H02",
        "fedavg",
        "seed 3",
        "14 for training",
        "ward",
        "icu, medicine, surgery",
        "home, readmitted",
    ):
        assert word in text
    assert result.folder.as_posix() not in text


def test_all_clients_at_once_and_a_folder_of_ones_own(tmp_path: Path) -> None:
    run = trained(tmp_path, "--method", "local")
    done = fedkin("export", run, "--all", "--out", tmp_path / "models")
    assert done.exit_code == 0, done.output
    assert sorted(path.name for path in (tmp_path / "models").iterdir()) == [
        "H00",
        "H01",
        "H02",
        "H03",
        "H04",
    ]


def test_predictions_are_those_of_the_run(tmp_path: Path) -> None:
    run = trained(tmp_path, "--method", "ppfl:models=2")
    table = pd.read_csv(tmp_path / "patients.csv")
    own = table[table["hospital"] == "H02"][
        ["ward", "age", "bmi", "outcome"]
    ]  # other columns, another order
    own.to_csv(tmp_path / "x.csv", index=False)
    done = fedkin("predict", run, "--client", "H02", "--data", tmp_path / "x.csv")
    assert done.exit_code == 0, done.output
    found = pd.read_csv(io.StringIO(done.stdout))
    result = Result(run)
    rows = np.concatenate([result._population.rows(split)[2] for split in ("train", "val", "test")])
    x = result._population.x[torch.from_numpy(np.sort(rows))]
    expected = result.personal(2)(x).exp().detach().numpy()
    np.testing.assert_allclose(found[["p(home)", "p(readmitted)"]], expected, atol=1e-5)
    assert set(found["prediction"]) <= {"home", "readmitted"}
    right = (found["prediction"].to_numpy() == own["outcome"].to_numpy()).mean()
    assert f"accuracy against the labels in the file: {100 * right:.2f} % of 24" in done.stderr
    to = tmp_path / "out.csv"
    assert fedkin(
        "predict", run, "--client", "2", "--data", tmp_path / "x.csv", "--out", to
    ).stdout.strip() == str(to)
    pd.testing.assert_frame_equal(pd.read_csv(to), found)


def test_labels_with_a_point_are_the_classes_that_they_were(tmp_path: Path) -> None:
    table = tmp_path / "t.csv"
    table.write_text(
        "\n".join(["site,a,label", *(f"{'ab'[i % 2]},{i},{i // 20}.0" for i in range(40))])
    )
    long = ["--rounds", "30", "--set", "train.steps=20", "--model", "mlr"]
    arguments = ["--data", f"{table}:client=site", "--method", "local", "--out", tmp_path / "run"]
    assert fedkin("run", *SMALL, *arguments, *long).exit_code == 0
    done = fedkin("predict", tmp_path / "run", "--client", "b", "--data", table)
    found = pd.read_csv(io.StringIO(done.stdout))
    truth = np.arange(40) // 20  # what is far from the border is learned
    wrong = np.flatnonzero(found["prediction"].to_numpy() != truth)
    assert set(wrong) <= set(range(16, 25))
    assert (found["p(1)"] > 0.5).to_numpy().tolist() == (found["prediction"] == 1).tolist()
    assert f"{100 * (1 - len(wrong) / 40):.2f} % of 40" in done.stderr


def test_a_run_without_the_table_of_measures_is_read(tmp_path: Path) -> None:
    run = trained(tmp_path, "--method", "local")
    assert "AUC" in fedkin("show", run).stdout
    with sqlite3.connect(run / "run.db") as database:
        database.execute("DROP TABLE measures")
    assert "AUC" not in fedkin("show", run).stdout
    assert (
        "auc"
        not in json.loads(exported(run, "safetensors").with_name("card.json").read_text())[
            "scores"
        ]["personal"]
    )


def test_numbers_are_predicted_as_numbers(tmp_path: Path) -> None:
    table = tmp_path / "t.csv"
    rows = [f"{'abc'[i % 3]},{i},{i / 7:.3f}" for i in range(60)]
    table.write_text("\n".join(["site,a,label", *rows]))
    model = ["--model", "glm", "--set", "model.family=gaussian"]
    arguments = [
        "--data",
        f"{table}:client=site",
        *model,
        "--method",
        "local",
        "--out",
        tmp_path / "run",
    ]
    assert fedkin("run", *SMALL, *arguments).exit_code == 0
    done = fedkin("predict", tmp_path / "run", "--client", "b", "--data", table)
    assert done.exit_code == 0, done.output
    assert len(pd.read_csv(io.StringIO(done.stdout))["prediction"]) == 60
    assert "root mean squared error" in done.stderr


def test_mistakes_are_told(tmp_path: Path) -> None:
    run = trained(tmp_path, "--method", "local")
    assert "say which model" in told("export", run)
    assert "clients are 0 to 4, called H00" in told("export", run, "--client", "H09")
    assert "did you mean 'onnx'" in told("export", run, "--client", "1", "--format", "onx")
    assert "not a run directory" in told("export", tmp_path, "--all")
    new = tmp_path / "new.csv"
    new.write_text("age,ward\n50,icu\n")
    assert "lacks the column 'bmi'" in told("predict", run, "--client", "1", "--data", new)
    new.write_text("age,ward,bmi\nold,icu,20\nyoung,icu,30\n")
    assert "'age' holds 'old' (and 1 more like it), but the model was trained with numbers" in told(
        "predict", run, "--client", "1", "--data", new
    )
    assert "does not exist" in told(
        "predict", run, "--client", "1", "--data", tmp_path / "none.csv"
    )
    assert "is no table" in told("predict", run, "--client", "1", "--data", run / "run.db")
    assert "is a folder" in told("predict", run, "--client", "1", "--data", run)
    new.write_text("age,ward,bmi\n50,icu,20\n")
    nowhere = tmp_path / "none" / "out.csv"
    said = told("predict", run, "--client", "1", "--data", new, "--out", nowhere)
    gone = f"No such file or directory: make the folder {nowhere.parent} first"
    assert said == f"{nowhere} cannot be written: {gone}"


def test_a_table_that_changed_is_not_taken_for_the_runs(tmp_path: Path) -> None:
    """How columns are encoded is read off the run's table: another table would answer otherwise,
    without a word.
    """
    run = trained(tmp_path, "--method", "local")
    table = pd.read_csv(tmp_path / "patients.csv")
    table.to_csv(tmp_path / "x.csv", index=False)
    table.assign(age=2 * table["age"]).to_csv(tmp_path / "patients.csv", index=False)
    for command in (
        ("predict", run, "--client", "H02", "--data", tmp_path / "x.csv"),
        ("export", run, "--all"),
    ):
        done = fedkin(*command)
        assert done.exit_code != 0
        assert "the data are not those that this run began with" in " ".join(done.output.split())


@pytest.mark.rotating
def test_a_client_that_joined_has_a_model_like_the_others(tmp_path: Path) -> None:
    run = trained(tmp_path, "--method", "ppfl:models=2", "--holdout-clients", "0.2")
    names = Result(run)._population.names
    (apart,) = {"H00", "H01", "H02", "H03", "H04"} - set(names)
    table = pd.read_csv(tmp_path / "patients.csv")
    table[table["hospital"] == apart].drop(columns="hospital").to_csv(
        tmp_path / "mine.csv", index=False
    )
    assert f"fedkin join {run} --client {apart}" in told("export", run, "--client", apart)
    done = fedkin("join", run, "--client", apart)
    assert f"predict {run} --client {apart} --data FILE" in " ".join(done.stdout.split())
    assert (
        fedkin("join", run, "--data", tmp_path / "mine.csv", "--out", tmp_path / "there").exit_code
        == 0
    )
    personal, x = Result(run).personal(apart), Result(run).data(0)[0]
    for format in ("safetensors", "pt2"):
        file = exported(run, format, apart)
    torch.testing.assert_close(outputs(file, x), personal(x).detach(), atol=1e-5, rtol=1e-4)
    card = json.loads(file.with_name("card.json").read_text())
    assert card["data"]["samples"] == {"train": 14, "val": 5, "test": 5}
    assert card["joined"]["after_round"] == 2
    assert card["communicated"]["down"]["parameters"] > 0
    assert "was not in the run: joined after round 2" in file.with_name("card.md").read_text()
    for member in (apart, f"joined/{apart}", str(tmp_path / "there")):
        done = fedkin("predict", run, "--client", member, "--data", tmp_path / "mine.csv")
        assert done.exit_code == 0, done.output
        assert len(pd.read_csv(io.StringIO(done.stdout))) == 24
    other = trained_again(tmp_path, "--method", "local")
    assert "a model of another run" in told("export", other, "--client", tmp_path / "there")


def trained_again(tmp_path: Path, *arguments: str) -> Path:
    """Another run on the same clinics."""
    out = tmp_path / "other"
    data = f"{tmp_path / 'patients.csv'}:client=hospital,label=outcome"
    assert fedkin("run", *SMALL, "--data", data, *arguments, "--out", out).exit_code == 0
    return out


def test_a_card_has_all_formats_and_says_what_a_mixtures_tensors_are(tmp_path: Path) -> None:
    run = trained(tmp_path, "--method", "fedem:components=2")
    for format in ("pt2", "safetensors"):
        file = exported(run, format)
    card = json.loads(file.with_name("card.json").read_text())
    assert set(card["files"]) == {"model.pt2", "model.safetensors"}
    assert "load_state_dict` does not take them" in card["files"]["model.safetensors"]["use"]
    told_of = {one["name"]: one["shape"] for one in card["tensors"]}
    assert told_of == {name: list(value.shape) for name, value in load_file(file).items()}
    assert "model.pt2" in file.with_name("card.md").read_text()
    again = trained_again(tmp_path, "--method", "local")
    assert "model.pt2 of another model" in told(
        "export", again, "--client", "H02", "--out", run / "export", "--format", "safetensors"
    )


@pytest.mark.parametrize(
    "card",
    ["[]", "3", "{", "[" * 100_000, '{"files": 3}', '{"files": []}', '{"files": {"a": 1}}', "\xff"],
    ids=lambda card: card[:9].encode().hex(),
)
def test_a_card_that_is_none_is_made_again(card: str, tmp_path: Path) -> None:
    """The folder may be in a run directory of somebody else's."""
    (tmp_path / CARD).write_bytes(card.encode("latin-1"))
    assert _files_beside(tmp_path, {"client": "a"}, "model.pt2") == {}


HEX = "0" * 64


@pytest.mark.parametrize(
    ("name", "entry"),
    [
        ("model.onnx", 5),
        ("model.onnx", {}),
        ("model.onnx", {"use": 5, "sha256": HEX}),
        ("model.onnx", {"use": "<img src=x>", "sha256": HEX}),
        ("model.onnx", {"use": "[a](//b)", "sha256": HEX}),
        ("model.onnx", {"use": "\x1b[2J", "sha256": HEX}),
        ("model.onnx", {"use": "\ud800", "sha256": HEX}),
        ("model.onnx", {"use": "a", "sha256": HEX, "b": "<i>"}),
        ("model.onnx", {"use": "a", "sha256": HEX, "largest_difference": "<i>"}),
        ("card.md", {"use": "a", "sha256": HEX}),
        ("../x/card.md", {"use": "a", "sha256": HEX}),
    ],
    ids=str,
)
def test_what_a_strangers_card_says_of_files_is_not_believed(
    name: str, entry: Any, tmp_path: Path
) -> None:
    """It would become a page, and be told as fedkin's own word."""
    folder = tmp_path / "x"
    folder.mkdir()
    for there in ("model.onnx", "card.md"):
        (folder / there).touch()
    (folder / CARD).write_text(json.dumps({"client": "a", "files": {name: entry}}))
    assert _files_beside(folder, {"client": "a"}, "model.pt2") == {}


@pytest.mark.rotating
@pytest.mark.parametrize(
    "weight", [torch.zeros(3), torch.zeros(2, 5, dtype=torch.int64), {"a": torch.zeros(2)}], ids=str
)
def test_states_of_another_method_are_told_in_one_sentence(weight: Any, tmp_path: Path) -> None:
    """A checkpoint may be anybody's."""
    run = trained(tmp_path, "--method", "fedavg")
    (state,) = (run / "checkpoint").glob("server.*.safetensors")
    whole = decode(state.read_bytes())
    name = next(name for name in whole["parameters"] if name.endswith("weight"))
    whole["parameters"][name] = weight
    state.write_bytes(encode(whole))
    more = (["--format", "safetensors"], ["--view", "global"])
    for command in (["audit", run], *(["export", run, "--client", "H02", *one] for one in more)):
        done = fedkin(*command)
        assert done.exit_code == 2, done.output
        assert "its method fails on the states of its checkpoint" in " ".join(done.stderr.split())


def test_a_card_that_is_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / CARD)
    assert _files_beside(tmp_path, {"client": "a"}, "model.pt2") == {}


def test_only_the_wanted_clients_state_is_read(tmp_path: Path) -> None:
    run = trained(tmp_path, "--method", "local")
    expected = Result(run).personal("H02").state_dict()
    next((run / "checkpoint").glob("4.*.safetensors")).unlink()
    for name, value in Result(run).personal("H02").state_dict().items():
        torch.testing.assert_close(value, expected[name])
    assert exported(run, "safetensors").is_file()
    assert "is gone, and a model with it" in told("export", run, "--client", "H04")
    done = fedkin("export", run, "--all")
    assert done.exit_code == 2
    assert len(done.stdout.splitlines()) == 4
    assert "client H04" in done.stderr


def test_models_of_a_run_that_is_not_finished_are_told_to_be_so(tmp_path: Path) -> None:
    run = trained(tmp_path, "--method", "local")
    with sqlite3.connect(run / "run.db") as database:
        database.execute("UPDATE facts SET value = 'false' WHERE name = 'finished'")
        database.execute("DELETE FROM rounds WHERE round > 1")
    done = fedkin("export", run, "--client", "H02")
    assert done.exit_code == 0, done.output
    assert "the run is not finished: its models are those after round 1 of 2" in done.stderr
    assert "1 of 2 rounds, NOT finished" in fedkin("show", run).stderr


class Zeros:
    """A personal model that is no module's."""

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        return torch.zeros(len(x), 2, dtype=torch.float64)

    def module_state(self, view: Any) -> None:
        """It has none."""


def handed(client: str = "Zoë", **card: Any) -> Any:
    """A model whose outputs are zeros, of three samples."""
    return SimpleNamespace(
        client=client,
        view={"w": torch.zeros(2)},
        personal=Zeros(),
        card=lambda: {"client": client, **CARD_OF_ZEROS, **card},
        samples=lambda: torch.zeros(3, 4),
        made_up=False,
    )


CARD_OF_ZEROS: dict[str, Any] = {
    "method": "local",
    "hyper_parameters": {},
    "architecture": "mlr",
    "seed": 0,
    "rounds": 1,
    "finished": True,
    "joined": None,
    "took_part": 1,
    "untrained": False,
    "data": {"name": "d", "samples": {"train": 1, "val": 2, "test": 3}},
    "scores": {},
    "communicated": {"up": {"bytes": 0}, "down": {"bytes": 0}},
    "input": {
        "dtype": "float32",
        "shape": ["samples", 4],
        "module": {"divided_by": 1, "mean": [0.0], "std": [1.0]},
    },
    "output": {
        "is": "log-probabilities",
        "shape": ["samples", 2],
        "module": {"y": "log_softmax(m)"},
    },
    "versions": {},
}


def that_says(monkeypatch: pytest.MonkeyPatch, *outputs: float) -> None:
    """The format pt2 writes a file whose outputs are these for every sample."""

    def made(*_: Any) -> Exported:
        row = torch.tensor(outputs, dtype=torch.float64)
        return Exported(b"the file", lambda x: row.expand(len(x), 2))

    monkeypatch.setitem(FORMATS, "pt2", made)


@pytest.mark.parametrize("way", [1, -1])
def test_a_file_that_says_something_else_is_not_written(
    way: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for far in (1.001 * TOLERANCE, 0.5, float("nan")):
        that_says(monkeypatch, 0.0, way * far)
        with pytest.raises(FedkinError, match=r"pt2: the file of client Zoë is .* away from"):
            export(handed(), "pt2", tmp_path / "new")
    assert not (tmp_path / "new").exists()
    that_says(monkeypatch, 0.0, way * 1e-4)  # of log-probabilities: as far as it may be
    written = export(handed(), "pt2", tmp_path / "new" / "deep")
    assert written == ("Zoë", tmp_path / "new" / "deep" / "model.pt2", 1e-4)
    assert written.file.read_bytes() == b"the file"
    text = (tmp_path / "new" / "deep" / CARD).read_text(encoding="utf-8")
    assert '\n "client": "Zoë"' in text  # for people, too
    (told_of,) = json.loads(text)["files"].values()
    assert (told_of["largest_difference"], told_of["compared_samples"]) == (1e-4, 3)
    assert told_of["use"].endswith(
        "; on 3 samples its outputs are within 0.0001 of the model's in the run"
    )
    assert "model of client Zoë" in (written.file.parent / "card.md").read_text(encoding="utf-8")


def test_means_may_be_as_far_apart_as_numbers_of_their_size_are_rounded() -> None:
    """Prices of 300,000 with a standard deviation of 80,000; counts; log-probabilities."""
    price = {"output": {"module": {"y": "offset + scale * m", "offset": 3e5, "scale": 8e4}}}
    assert _tolerance(price, torch.tensor([[3e5]])) == pytest.approx(8 + 0.3)
    year = {"output": {"module": {"y": "offset + scale * m", "offset": 2000.0, "scale": 0.5}}}
    assert _tolerance(year, torch.tensor([[-2001.0], [3.0]])) == pytest.approx(5e-5 + 2.001e-3)
    counts = {"output": {"module": {"y": "exp(m)"}}}
    assert _tolerance(counts, torch.tensor([[500.0]])) == pytest.approx(0.05)
    classes = {"output": {"module": {"y": "log_softmax(m)"}}}
    assert _tolerance(classes, torch.tensor([[-900.0]])) == TOLERANCE


@pytest.mark.rotating
def test_a_model_of_prices_becomes_a_program_of_other_runtimes(tmp_path: Path) -> None:
    pytest.importorskip("onnxscript")
    pytest.importorskip("onnxruntime")
    rng = np.random.default_rng(0)
    x = rng.normal(size=(200, 8))
    table = pd.DataFrame({f"x{k}": column for k, column in enumerate(x.T)})
    table["label"] = 3e5 + 8e4 * x[:, 0] + 5e4 * np.sin(x[:, 1])
    table["client"] = np.repeat([f"c{k}" for k in range(4)], 50)
    table.to_csv(tmp_path / "prices.csv", index=False)
    given = f"{tmp_path / 'prices.csv'}:client=client,label=label"
    asked = ("--data", given, "--method", "fedavg", "--model", "dnn", "--out", tmp_path / "run")
    done = fedkin("run", *SMALL, *asked)
    assert done.exit_code == 0, done.output
    assert exported(tmp_path / "run", "onnx", "c0").is_file()


@pytest.mark.parametrize("name", [CARD, "model.pt2", "card.md"])
def test_what_cannot_be_written_is_named(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    that_says(monkeypatch, 0.0, 0.0)
    (tmp_path / name).mkdir()
    with pytest.raises(FedkinError, match=f"/{name} cannot be written: it is a folder"):
        export(handed(), "pt2", tmp_path)


def test_a_folder_holds_one_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    that_says(monkeypatch, 0.0, 0.0)
    export(handed(), "safetensors", tmp_path)
    export(handed(), "pt2", tmp_path)
    card = json.loads((tmp_path / CARD).read_text())
    assert set(card["files"]) == {"model.safetensors", "model.pt2"}
    assert card["tensors"] == []  # of one module: its state_dict has them
    with pytest.raises(FedkinError, match="holds the model of Zoë: choose another --out"):
        export(handed("Bo"), "pt2", tmp_path)
    with pytest.raises(FedkinError, match=r"holds model\.safetensors of another model"):
        export(handed(rounds=2), "pt2", tmp_path)
    (tmp_path / "model.safetensors").unlink()
    export(handed(rounds=2), "pt2", tmp_path)  # its own file only: made again
    card = json.loads((tmp_path / CARD).read_text())
    assert (set(card["files"]), card["rounds"]) == ({"model.pt2"}, 2)


def test_samples_for_comparing_are_of_the_first_that_has_some() -> None:
    people = awkward.population()
    for clients in ([1], [3, 1], [2]):
        rows = people.rows("test")[clients[0]]
        assert samples_of("a", people, clients).equal(people.x[torch.from_numpy(rows)])
    empty = np.zeros(0, dtype=np.int64)
    many = np.arange(300, dtype=np.int64) % len(people.x)
    fewer = people.__class__(**{**vars(people), "test": (empty, empty, many, empty, empty, empty)})
    assert samples_of("a", fewer, [0, 2]).equal(people.x[torch.from_numpy(many[:SAMPLES])])
    train = people.rows("train")[4]
    assert samples_of("a", fewer, [4, 5]).equal(people.x[torch.from_numpy(train)])
    with pytest.raises(FedkinError, match="client a has no samples"):
        samples_of("a", people, [])
