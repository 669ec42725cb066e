"""Who has which architecture, and what outputs mean."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fedkin import Result
from fedkin.core.errors import FedkinError
from fedkin.experiment.run import experiment
from fedkin.setup.architectures import described, with_family
from fedkin.setup.build import assemble
from tests.cli.command import fedkin, ran, told

THREE = {"a": "mlr", "b": "dnn:hidden=4", "c": "dnn:hidden=6"}


def table(tmp_path: Path, label: str = "{y}", clients: int = 10) -> dict[str, Any]:
    """[data] of a table: clients of 8, 13, … rows; phones are the odd ones."""
    rows = ["site,device,n,label"]
    for client in range(clients):
        for row in range(8 + 5 * client):
            y = label.format(y=row % 2, z=row / 3)
            rows.append(f"s{client},{'phone' if client % 2 else 'server'},{row},{y}")
    (tmp_path / "t.csv").write_text("\n".join(rows))
    return {"name": str(tmp_path / "t.csv"), "client": "site"}


def architectures(tmp_path: Path, **model: Any) -> list[str]:
    parts = assemble(
        experiment({"data": table(tmp_path), "model": model, "method": {"name": "local"}})
    )
    return [info.architecture for info in parts.infos.values()]


def test_rules(tmp_path: Path) -> None:
    assert architectures(tmp_path, map=THREE, shares=[1, 1, 8]) == ["dnn:hidden=6"] * 8 + [
        "dnn:hidden=4",
        "mlr",
    ]
    drawn = architectures(tmp_path, map=THREE, rule="random", shares=[0.98, 0.01, 0.01])
    assert drawn.count("mlr") >= 8
    by_column = {"phone": "mlr", "server": "dnn:hidden=4"}
    assert (
        architectures(tmp_path, map=by_column, rule="column", column="device")
        == ["dnn:hidden=4", "mlr"] * 5
    )


def test_the_column_of_the_rule_is_not_seen_by_models(tmp_path: Path) -> None:
    model = {
        "map": {"phone": "mlr", "server": "dnn:hidden=4"},
        "rule": "column",
        "column": "device",
    }
    parts = assemble(
        experiment({"data": table(tmp_path), "model": model, "method": {"name": "local"}})
    )
    assert parts.population.encoding is not None
    assert parts.population.encoding.outputs == ["n"]
    assert parts.models["dnn:hidden=4"].initial["1.weight"].shape == (4, 1)


def test_mistakes_in_rules(tmp_path: Path) -> None:
    with pytest.raises(FedkinError, match="give one for each model"):
        architectures(tmp_path, map=THREE, shares=[1, 2])
    with pytest.raises(FedkinError, match=r"needs model\.column"):
        architectures(tmp_path, map=THREE, rule="column")
    with pytest.raises(FedkinError, match=r"'phone'.*choices: fone, server"):
        architectures(
            tmp_path, map={"fone": "mlr", "server": "dnn"}, rule="column", column="device"
        )
    with pytest.raises(FedkinError, match="client s0 has several values of 'n'"):
        architectures(tmp_path, map=THREE, rule="column", column="n")
    with pytest.raises(FedkinError, match="write dnn:key=value"):
        described("dnn:64")


def test_one_options_text_a_model_on_the_command_line(tmp_path: Path) -> None:
    found = ran(tmp_path / "run", "--method", "local", "--model", "mlr,dnn:hidden=16")
    assert found["model"] == "dnn:hidden=16, mlr"


def test_numbers_get_gaussian_and_every_model_takes_them(tmp_path: Path) -> None:
    data = table(tmp_path, "{z:.2f}")
    arguments = [
        "--data",
        f"{data['name']}:client=site",
        "--set",
        "data.drop=device",
        "--rounds",
        "2",
        "--set",
        "train.lr=0.001",
    ]
    out = tmp_path / "run"
    done = fedkin("run", *arguments, "--method", "fedavg", "--engine", "inprocess", "--out", out)
    assert done.exit_code == 0, done.output
    assert "personal MAE" in done.stdout
    result = Result(out)
    x, y = result.data(3)
    rmse = float((result.personal(3)(x)[:, 0] - y).square().mean().sqrt())
    told_rmse = [
        float(
            (result.personal(k)(result.data(k)[0])[:, 0] - result.data(k)[1]).square().mean().sqrt()
        )
        for k in range(10)
    ]
    np.testing.assert_allclose(
        result.summary["measures"]["personal"]["rmse"]["mean"], np.mean(told_rmse), rtol=1e-5
    )
    assert rmse == told_rmse[3]
    comet = told(
        "run", *arguments, "--method", "comet", "--public", "held-out:5", "--out", tmp_path / "no"
    )
    assert (
        "comet needs class probabilities, but family gaussian predicts numbers: try apfl" in comet
    )
    wrong = told("run", *arguments, "--set", "model.family=categorical", "--out", tmp_path / "no")
    assert "labels are numbers, not classes" in wrong


@pytest.mark.parametrize("family", ["gaussian", "poisson"])
def test_a_family_of_numbers_needs_labels_that_are_numbers(family: str, tmp_path: Path) -> None:
    table(tmp_path, "{y}")
    arguments = [f"{tmp_path / 't.csv'}:client=site", "--method", "fedavg", "--model", "glm"]
    wrong = told(
        *("run", "--data", *arguments, "--set", f"model.family={family}"),
        *("--set", "data.drop=device", "--out", tmp_path / "no"),
    )
    assert f"labels are classes, but family {family} predicts numbers" in wrong
    assert "of a table: data.task=regression" in wrong
    assert not (tmp_path / "no").exists()


def test_bernoulli_is_for_two_classes() -> None:
    spec = experiment({"model": {"family": "bernoulli"}, "method": {"name": "local"}})
    with pytest.raises(FedkinError, match="there are 10: use categorical"):
        assemble(spec)


def test_auto_is_written_out() -> None:
    parts = assemble(experiment({"method": {"name": "local"}, "run": {"clients": 3}}))
    assert parts.spec.model.family == "categorical"
    assert with_family(parts.spec, parts.population) == parts.spec
