"""What ``--json`` prints of run, predict, export and report; wide tables; specs of the wheel."""

import io
import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import torch
from rich.console import Console
from torch import nn

from fedkin.core.model import from_module
from fedkin.doctor.traps import traps_of
from fedkin.experiment.run import experiment
from fedkin.models.softmax import softmax_remark
from fedkin.report.comparison.fitting import Fitting
from fedkin.report.comparison.sheet import Sheet
from fedkin.report.intervals import FEW
from fedkin.report.records import opened
from fedkin.setup.build import assemble
from tests.cli.command import SMALL, fedkin
from tests.export.clinics import write_clinics


def printed(*arguments: object) -> Any:
    """Pure JSON, and nothing else, on standard output."""
    done = fedkin(*arguments, "--json")
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def test_run_export_predict_and_report_print_json(tmp_path: Path) -> None:
    table = write_clinics(tmp_path / "patients.csv", clinics=3)
    data = f"{table}:client=hospital,label=outcome"
    small = ["--method", "local", "--rounds", "1", "--engine", "inprocess"]
    run = tmp_path / "run"
    told = printed("run", "--data", data, *small, "--set", "train.steps=2", "--out", run)
    shown = printed("show", run)
    assert {name: told[name] for name in shown} == shown
    assert (told["folder"], told["report"]) == (str(run), str(run / "report.html"))
    frame = pd.read_csv(table)
    asked = ("predict", run, "--client", "H02", "--data", table)
    found = printed(*asked, "--out", tmp_path / "answers.csv")
    assert len(found["predictions"]) == len(frame)
    assert {*found["predictions"][0]} == {"prediction", "p(home)", "p(readmitted)"}
    assert any("accuracy against the labels" in text for text in found["said"])
    written = pd.read_csv(tmp_path / "answers.csv")
    assert written["prediction"].tolist() == [one["prediction"] for one in found["predictions"]]
    (one,) = printed("export", run, "--client", "H02", "--format", "pt2")["written"]
    assert (one["client"], one["file"]) == ("H02", str(run / "export" / "H02" / "model.pt2"))
    assert 0 <= one["apart"] < 1e-4
    assert printed("report", run) == {"written": [str(run / "report.html")]}


def test_a_file_that_was_not_written_is_told_and_fails(tmp_path: Path) -> None:
    assert fedkin("run", *SMALL, "--out", tmp_path / "run").exit_code == 0
    (tmp_path / "models").write_text("in the way")
    asked = ("--client", "1", "--out", tmp_path / "models", "--json")
    done = fedkin("export", tmp_path / "run", *asked)
    assert done.exit_code == 2
    assert json.loads(done.stdout)["written"] == []
    assert len(json.loads(done.stdout)["failed"]) == 1


def test_numbers_of_a_wide_table_are_neither_cut_nor_folded() -> None:
    cells = [f"{70 + k}.10 ± {k}.83" for k in range(7)]
    names = [f"measure number {k}" for k in range(7)]
    sheet = Sheet("Seeds", ["method", *names], [["fedavg", *cells], ["local", *cells]], 1, "note")
    for width in (30, 60, 200):
        out = Console(width=width, force_terminal=False, record=True, file=io.StringIO())
        out.print(Fitting(sheet))
        text = out.export_text()
        assert all(len(line.rstrip()) <= width for line in text.splitlines())
        assert [text.count(cell) for cell in cells] == [2] * 7
        assert text.count("note") == 1
        assert ("(continued)" in text) == (width < 200)


def test_a_paper_s_specification_is_found_without_a_checkout(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    trained: list[Any] = []
    monkeypatch.setattr("fedkin.cli.run.train", lambda spec, work: trained.append(spec))
    done = fedkin("run", "examples/papers/ppfl_synthetic.toml", "--rounds", "3")
    assert done.exit_code == 0, done.output
    assert (trained[0].method.name, trained[0].run.rounds) == ("ppfl", 3)
    assert fedkin("run", "examples/papers/none.toml").exit_code == 2


class Twice(nn.Sequential):
    """A module whose author put the softmax in."""

    def __init__(self, classes: int, last: type[nn.Module] = nn.Softmax) -> None:
        super().__init__(nn.Flatten(), nn.Linear(64, classes), last(1))


def test_a_softmax_at_the_end_is_told(tmp_path: Path) -> None:
    x = torch.randn(5, 64)
    for last, told in ((nn.Softmax, True), (nn.LogSoftmax, False)):
        model = from_module("net", Twice(10, last))
        assert bool(softmax_remark(model, x)) == told
    logits = from_module("net", nn.Linear(64, 10))
    assert softmax_remark(logits, x) == ""
    name = f"{Twice.__module__}:Twice"
    spec = experiment(model__name=name, method__name="local", run__clients=3)
    assert [trap for trap in traps_of(assemble(spec)) if "softmax" in trap]


def test_the_worst_decile_is_told_client_by_client(tmp_path: Path) -> None:
    rows = ["site,a,b,label"]
    for client in range(21):
        rows += [
            f"s{client},{k * 7 % 5},{k},{k * (client + 3) % 2}" for k in range(20 + 11 * client)
        ]
    (tmp_path / "t.csv").write_text("\n".join(rows))
    data = ("--data", f"{tmp_path / 't.csv'}:client=site")
    small = ("--method", "local", "--rounds", "1", "--engine", "inprocess")
    for measure in ("accuracy", "auc"):
        run = tmp_path / measure
        done = fedkin("run", *data, *small, "--measure", measure, "--out", run)
        assert done.exit_code == 0, done.output
        found = printed("show", run)
        worst = found["worst_clients"]
        mean = sum(one["value"] for one in worst) / len(worst)
        assert mean == pytest.approx(found["headline"]["personal"]["final"]["worst_decile"])
        tested = dict(opened_tests(run))
        for one in worst:
            assert one["test"] == tested[one["client"]]
            assert one["few"] == (one["test"] < FEW)
        assert "The worst decile, client by client" in fedkin("show", run).stdout
    assert any(one["interval"] is not None for one in worst)


def opened_tests(run: Path) -> list[tuple[str, int]]:
    """(client, test rows) of a run."""
    with opened(run) as found:
        return [(one.name, one.test) for one in found.clients.values()]


@pytest.mark.parametrize(
    ("method", "told"),
    [("cgpfl:personal_lr=0.1", True), ("cgpfl:clusters=2", False), ("fedavg", False)],
)
def test_a_step_beyond_the_model_that_pulls_it_is_told(
    method: str, told: bool, tmp_path: Path
) -> None:
    small = ("--rounds", "1", "--engine", "inprocess", "--clients", "4", "--set", "train.steps=1")
    done = fedkin("run", "--method", method, *small, "--out", tmp_path / "run")
    assert ("personal_lr times lam is 1.2" in done.stderr) == told
