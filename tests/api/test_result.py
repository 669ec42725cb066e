"""A result gives back models and data, and goes on where its run was stopped."""

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import fedkin
from fedkin import Experiment, FedkinError, Result, resume, run
from fedkin.experiment.training import Interrupted
from fedkin.runs.record import Record
from fedkin.setup import snapshot
from fedkin.setup.loaded_run import load

SMALL: dict[str, Any] = {
    "clients": 4,
    "rounds": 1,
    "steps": 2,
    "engine": "inprocess",
    "model": "mlr",
}


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> Result:
    return run(Experiment("fedavg", **SMALL), out=tmp_path_factory.mktemp("api") / "run")


def test_it_says_which_folder_it_is_of(result: Result) -> None:
    assert repr(result) == f"Result({str(result.folder)!r})"
    assert {*fedkin.__all__} <= {*dir(fedkin)}


def test_its_charts_are_files(result: Result, tmp_path: Path) -> None:
    charts = result.figures(str(tmp_path / "charts"))
    assert {path.suffix for path in charts} == {".svg", ".png", ".pdf"}
    assert all(path.stat().st_size for path in charts)


def stopped(folder: Path) -> Path:
    """A run of three rounds that was stopped after its first."""

    def stop(record: Record) -> None:
        if record.round == 1:
            raise KeyboardInterrupt

    with pytest.raises(Interrupted):
        run(
            Experiment("fedavg", **{**SMALL, "rounds": 3, "run.commit_every": 0}),
            folder,
            progress=stop,
        )
    return folder


def test_resuming_shows_the_rounds_that_are_left(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stopped(tmp_path / "run")
    capsys.readouterr()
    assert resume(tmp_path / "run", progress=True).summary["finished"]
    shown = capsys.readouterr().out
    assert "round 3/3" in shown
    assert "round 1/3" not in shown
    resume(tmp_path / "run", progress=True)  # nothing is left to do
    assert capsys.readouterr().out == ""


def test_resuming_calls_a_function_or_is_silent(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    seen: list[int] = []
    stopped(tmp_path / "told")
    resume(tmp_path / "told", progress=lambda record: seen.append(record.round))
    assert seen == [2, 3, 4]
    stopped(tmp_path / "silent")
    capsys.readouterr()
    resume(tmp_path / "silent", progress=False)
    assert capsys.readouterr().out == ""


def test_a_result_of_no_run_is_refused_at_once(tmp_path: Path, result: Result) -> None:
    with pytest.raises(FedkinError, match=r"/nothere does not exist: name the folder of a run"):
        Result(tmp_path / "nothere")
    with pytest.raises(FedkinError, match=r"is not a run directory: it has no run\.db$"):
        Result(tmp_path)
    inside = result.folder.parent
    with pytest.raises(FedkinError, match="name one of them, such as"):
        Result(inside)


@pytest.mark.parametrize("client", [4, -1, "9", 1.0, None])
def test_a_client_that_is_not_there(result: Result, client: Any) -> None:
    with pytest.raises(FedkinError, match="clients are 0 to 3"):
        result.personal(client)
    with pytest.raises(FedkinError, match="clients are 0 to 3"):
        result.data(client)


def test_a_view_or_split_that_is_not_there(result: Result) -> None:
    with pytest.raises(FedkinError, match="unknown view 'globall'"):
        result.personal(0, "globall")
    with pytest.raises(FedkinError, match="unknown split 'tset'"):
        result.data(0, "tset")  # type: ignore[arg-type]


def test_a_clients_data_are_those_it_was_measured_on(result: Result) -> None:
    x, y = result.data(np.int64(2))
    assert (x.dtype, y.dtype, tuple(x.shape[1:])) == (torch.uint8, torch.int64, (1, 8, 8))
    assert result.class_names == tuple("0123456789")
    hits = (result.personal(2)(x).argmax(1) == y).double().mean().item()
    rows = result.metrics.query("client == 2 and split == 'test' and view == 'personal'")
    assert hits == pytest.approx(rows.sort_values("round").accuracy.iloc[-1])
    assert len(result.data(2, "train")[0]) > len(x)
    torch.testing.assert_close(result.personal("2")(x), result.personal(2)(x))
    assert torch.equal(result.data("2")[0], x)


def test_a_tables_columns_and_classes_keep_their_order(tmp_path: Path) -> None:
    rows = "".join(f"{i},{('well', 'sick')[i % 2]},{i % 2},{-i}\n" for i in range(40))
    (tmp_path / "t.csv").write_text("b,state,site,a\n" + rows)
    keys = {"data.label": "state", "data.client": "site", "data.scale": "standard"}
    settings = {**SMALL, "clients": 2, "data": str(tmp_path / "t.csv"), "split": "natural", **keys}
    result = run(Experiment("local", **settings), out=tmp_path / "run")
    x, y = result.data(1, "train")
    assert result.class_names == ("sick", "well")
    assert (y == 0).all()
    torch.testing.assert_close(x[:, 0], -x[:, 1])


def test_another_run_in_the_folder_has_its_own_data(tmp_path: Path) -> None:
    run(Experiment("local", seed=0, **SMALL), out=tmp_path / "run")
    result = Result(tmp_path / "run")
    first, _ = result.data(0)
    held = result._population
    assert result._population is held  # read once
    shutil.rmtree(tmp_path / "run")
    run(Experiment("local", seed=7, **SMALL), out=tmp_path / "run")
    second, _ = result.data(0)
    assert torch.equal(second, Result(tmp_path / "run").data(0)[0])
    assert not torch.equal(first, second)


def test_of_a_run_that_goes_on_only_the_clients_own_state_is_copied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copied: list[list[int] | None] = []
    real = snapshot.Copies

    def copies(folder: Path, states: Any, of: Any) -> Any:
        copied.append(None if of is None else sorted(of))
        return real(folder, states, of)

    monkeypatch.setattr(snapshot, "Copies", copies)
    result = Result(stopped(tmp_path / "run"))
    result.personal(2)
    result.predict("1", result.data(1)[0])
    result.export(np.int64(3))
    assert copied == [[-1, 2], [-1], [-1, 1], [-1, 3]]  # the server's beside it


def test_another_view_of_a_client_is_exported_beside_its_model(tmp_path: Path) -> None:
    result = run(Experiment("ditto", **SMALL), out=tmp_path / "run")
    own, shared = result.export(1), result.export(1, view="global")
    assert shared.relative_to(own.parent) == Path("global/model.safetensors")
    assert shared.read_bytes() != own.read_bytes()
    assert result.export("1", out=tmp_path / "out", view="global").read_bytes() == (
        shared.read_bytes()
    )
    with pytest.raises(FedkinError, match="unknown view 'globall'"):
        result.export(1, view="globall")


def test_a_comparison_goes_by_the_measure_that_is_asked_for(result: Result) -> None:
    assert result.compare().found.measure == "accuracy"
    other = result.compare(measure="balanced_accuracy")
    assert {*other.runs["measure"]} == {other.found.measure} == {"balanced_accuracy"}
    with pytest.raises(FedkinError, match="unknown measure 'acuracy'"):
        result.compare(measure="acuracy")


def test_a_client_that_was_held_out_joins_by_its_name(tmp_path: Path) -> None:
    settings = {**SMALL, "run.holdout_clients": 0.25, "run.holdout_labels": []}
    result = run(Experiment("fedavg", **settings), out=tmp_path / "run")
    held_out = load(result.folder).parts.held_out
    assert held_out is not None
    (apart,) = held_out.names
    found = result.join(client=apart, rounds=1)
    assert (found["client"], found["rounds"]) == (apart, 1)
    assert result.predict(apart, result.data(0)[0]).shape[0] == len(result.data(0)[0])
    elsewhere = result.join(client=apart, rounds=1, out=tmp_path / "out", model="mlr")
    assert Path(elsewhere["model"]).read_bytes() == Path(found["model"]).read_bytes()
    assert Path(elsewhere["model"]).parent == tmp_path / "out"
    with pytest.raises(FedkinError, match="unknown architecture of this run 'cnn'"):
        result.join(client=apart, model="cnn")
    with pytest.raises(FedkinError, match="name either a file of the newcomer's own"):
        result.join()
    with pytest.raises(FedkinError, match="name either a file of the newcomer's own"):
        result.join("mine.csv", client=apart)


def test_a_model_that_joined_a_run_is_no_other_runs(tmp_path: Path) -> None:
    """Of the same method, data and seed: its card would have the other run's learning rate."""
    mine, other = (
        run(Experiment("fedavg", lr=lr, **SMALL), out=tmp_path / str(lr)) for lr in (0.1, 0.2)
    )
    x, y = mine.data(0, "train")
    np.savez(tmp_path / "n.npz", x=x.numpy(), y=y.numpy())
    joined = str(Path(mine.join(tmp_path / "n.npz", rounds=1)["model"]).parent)
    assert mine.export(joined, out=tmp_path / "out").is_file()
    with pytest.raises(
        FedkinError, match=r"holds a model of another run than .*0\.2: name the run"
    ):
        other.export(joined, out=tmp_path / "out2")


def test_a_comparison_with_a_folder_that_is_not_there_is_refused(result: Result) -> None:
    with pytest.raises(FedkinError, match="nowhere does not exist: name the folders of runs"):
        result.compare("nowhere")
