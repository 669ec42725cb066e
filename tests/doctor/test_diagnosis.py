"""The doctor: what it says of data whose answer is known, the traps, and the probes."""

import json
from pathlib import Path

import numpy as np
import pytest

from fedkin import Experiment, Result
from fedkin.core.errors import FedkinError
from fedkin.doctor.candidates import TUNED
from fedkin.doctor.diagnosis import _takes
from fedkin.experiment.training import Interrupted
from fedkin.methods import make
from fedkin.setup.build import assemble
from tests.cli.command import fedkin, told
from tests.doctor.diagnosis_examples import QUICK
from tests.engine.small import small


def test_ctrl_c_ends_the_doctor(monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(*_: object, **__: object) -> None:
        raise Interrupted("stopped after round 1")

    monkeypatch.setattr("fedkin.doctor.probe.run", stopped)
    settings = (f"--set={key.replace('__', '.')}={value}" for key, value in QUICK.items())
    assert fedkin("doctor", "--data", "digits", *settings).exit_code == 130


@pytest.mark.rotating
def test_the_command_tells_costs_that_the_run_then_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    settings = [
        "--set=engine.name=inprocess",
        "--set=run.rounds=4",
        "--set=run.clients=4",
        "--set=model=mlr",
    ]
    result = fedkin(
        "doctor", *settings, "--rounds", "2", "--methods", f"fedmd,{TUNED},FedAvg", "--json"
    )
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    probes = {one["method"]: one for one in found["probes"]}
    assert {"fedavg", "fedmd", TUNED} <= set(probes)
    assert not probes[TUNED]["failed"]
    assert "labeled" in probes["fedmd"]["failed"] or "public" in probes["fedmd"]["failed"]
    assert fedkin("run", *settings, "--set=method=fedavg", "--out", "real").exit_code == 0
    sent = json.loads(fedkin("show", "real", "--json").stdout)["communication"]
    whole = sent["unicast"]["bytes"]["total"] + sent["finish"]["unicast"]["bytes"]["total"]
    assert probes["fedavg"]["bytes"] == pytest.approx(whole, rel=0.01)
    assert {one["method"] for one in found["candidates"]} <= set(probes)
    told = fedkin("doctor", *settings, "--set=method=local", "--rounds", "0").output
    assert "4 clients with" in told
    assert "labels:" in told


def test_a_table_is_looked_at_without_a_file(tmp_path: Path) -> None:
    rows = [f"{'abc'[i % 3]},{i % 7},{i % 2}" for i in range(90)]
    (tmp_path / "t.csv").write_text("\n".join(["site,n,label", *rows]))
    asked = ["doctor", "--data", f"{tmp_path / 't.csv'}:client=site", "--rounds", "0", "--json"]
    done = fedkin(*asked, "--data-dir", tmp_path, "--method", "local")
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["data"]["clients"] == 3


def test_names_are_told_as_they_are(tmp_path: Path) -> None:
    rows = [f"{('ward [north]', '[/x]')[i % 2]},{i % 7},{i % 2}" for i in range(80)]
    (tmp_path / "t.csv").write_text("\n".join(["site,n,label", *rows]))
    shown = fedkin(
        "doctor",
        "--data",
        f"{tmp_path / 't.csv'}:client=site",
        "--method",
        "local",
        "--rounds",
        "0",
    ).output
    assert "ward [north] (" in shown
    assert "[/x] (" in shown


@pytest.mark.rotating
def test_method_values_are_probed_beside_names(tmp_path: Path) -> None:
    mine = make("fedavg", {}, {"lr": 0.1})._replace(name="mine")
    other = make("ditto", {"lam": 2.0}, {"lr": 0.1})._replace(name="mine")
    settings = {"data": "digits", "clients": 2, "split": "iid", "rounds": 1, "model": "mlr"}
    experiment = Experiment(mine, **settings)
    found = experiment.doctor(1, [other, "fedprox"])["probes"]
    probes = {one["method"]: one for one in found}
    assert [one["failed"] for one in found] == [""] * len(found)
    assert {"mine", "mine 2", "fedprox"} <= set(probes)
    assert probes["mine 2"]["memory"] > probes["mine"]["memory"]  # ditto keeps a model a client
    assert "mine" in [one["method"] for one in experiment.doctor(1, mine)["probes"]]
    experiment.run(tmp_path / "run")
    assert Result(tmp_path / "run", mine).doctor(0)["of"] == 1
    with pytest.raises(FedkinError, match=r"Python value.* method=THE METHOD\)"):
        Result(tmp_path / "run").doctor(0)
    with pytest.raises(FedkinError, match="neither a name nor a Method"):
        experiment.doctor(1, [3])  # type: ignore[list-item]


def test_an_unknown_method_is_told_before_the_probes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fedkin.doctor.probe.run", lambda *_, **__: pytest.fail("a probe was run"))
    assert "did you mean 'ifca'" in told("doctor", "--methods", "comet,icfa")
    assert "'epoch': did you mean 'epochs'" in told("doctor", "--methods", "finetune:epoch=3")


def test_no_method_is_proposed_that_the_privacy_of_the_experiment_refuses() -> None:
    noised = {"noise": 1.0, "clip": 1.0, "delta": 1e-4, "unit": "sample"}
    asked = {f"privacy__{key}": value for key, value in noised.items()}
    private, open_ = assemble(small("fedavg", **asked)), assemble(small("fedavg"))
    assert [_takes(private, name) for name in ("fedavg", "ifca")] == [True, False]
    assert _takes(open_, "ifca")


def test_counts_are_judged_by_rmse(tmp_path: Path) -> None:
    rng, path = np.random.default_rng(0), tmp_path / "counts.csv"
    x = rng.normal(size=90)
    rows = [f"s{i % 3},{x[i]:.3f},{rng.poisson(np.exp(0.5 + x[i]))}" for i in range(90)]
    path.write_text("\n".join(["site,x,visits", *rows]))
    options = {"data": f"{path}:client=site,label=visits,task=regression", "measure": "deviance"}
    measures = [
        Experiment("local", **options, **family).doctor(rounds=0)["verdict"]["measure"]
        for family in ({}, {"model.family": "poisson"})
    ]
    assert measures == ["deviance", "rmse"]
