"""What ``--json`` prints of run, predict, export, show and report."""

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from fedkin.report.intervals import FEW
from fedkin.report.records import opened
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
            if measure == "accuracy" or one["few"]:
                assert (one["interval"] is None) == (measure != "accuracy")
        assert "The worst decile, client by client" in fedkin("show", run).stdout


def opened_tests(run: Path) -> list[tuple[str, int]]:
    """(client, test rows) of a run."""
    with opened(run) as found:
        return [(one.name, one.test) for one in found.clients.values()]
