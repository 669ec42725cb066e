"""The doctor: what it says of data whose answer is known, the traps, and the probes."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from fedkin.data.population import Population
from fedkin.doctor.data import features, labels, public_apart
from fedkin.doctor.traps import traps_of
from fedkin.experiment.run import experiment
from fedkin.experiment.training import Interrupted
from fedkin.setup.build import assemble
from tests.cli.command import fedkin, told

QUICK = {
    "engine__name": "inprocess",
    "run__rounds": 4,
    "run__clients": 4,
    "method__name": "local",
    "model__name": "mlr",
}


def test_ctrl_c_ends_the_doctor(monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(*_: object) -> None:
        raise Interrupted("stopped after round 1")

    monkeypatch.setattr("fedkin.doctor.probe.run", stopped)
    settings = (f"--set={key.replace('__', '.')}={value}" for key, value in QUICK.items())
    assert fedkin("doctor", "--data", "digits", *settings).exit_code == 130


def population(
    y: np.ndarray, x: np.ndarray, clients: int, public: np.ndarray | None = None
) -> Population:
    rows = tuple(np.array_split(np.arange(len(y)), clients))
    nothing = tuple(np.array([], dtype=np.int64) for _ in range(clients))
    own = None if public is None else torch.tensor(public, dtype=torch.float32)
    return Population(
        "made",
        torch.tensor(x, dtype=torch.float32),
        torch.tensor(y),
        int(y.max()) + 1,
        "classification",
        rows,
        nothing,
        nothing,
        own,
    )


def test_labels_that_are_divided_are_apart_and_shuffled_ones_are_not() -> None:
    y, x = np.repeat(np.arange(4), 200), np.zeros((800, 3))
    divided = labels(population(y, x, 4), 0)
    assert divided is not None
    assert divided["distance"] == pytest.approx(0.75)
    assert divided["classes"] == 1
    shuffled = labels(population(np.random.default_rng(0).permutation(y), x, 4), 0)
    assert shuffled is not None
    assert shuffled["distance"] == pytest.approx(shuffled["chance"], abs=0.03)


def test_features_that_clients_shift_are_seen_and_labels_are_not_taken_for_them() -> None:
    rng = np.random.default_rng(1)
    y = np.repeat(np.arange(4), 200)
    x = (
        rng.normal(size=(800, 6)) + y[:, None]
    )  # features follow the labels, and each client has one label
    alike = features(population(y, x, 4), 0)
    assert alike is not None
    assert alike["between"] < 0.01
    mixed = rng.permutation(y)
    moved = features(
        population(mixed, rng.normal(size=(800, 6)) + np.repeat(np.arange(4), 200)[:, None], 4), 0
    )
    assert moved is not None
    assert moved["between"] > 0.4 > 10 * moved["chance"]


def test_a_public_set_from_elsewhere_is_far() -> None:
    rng = np.random.default_rng(2)
    x, y = rng.normal(size=(400, 5)), rng.integers(0, 3, 400)
    assert (public_apart(population(y, x, 4, rng.normal(size=(300, 5)))) or 1) < 0.2
    assert (public_apart(population(y, x, 4, rng.normal(size=(300, 5)) + 2)) or 0) > 1.5


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"method__name": "ifca", "method__clusters": 6}, "groups will be empty"),
        ({"train__batch_size": 2000}, "fewer training samples than a batch"),
        ({"split__val": 0.0, "split__train": 0.8}, "no validation samples"),
        ({"run__participation": 0.25, "run__rounds": 4}, "1.0 rounds on average"),
        ({"model__name": "tests.parity.normed:Normed"}, "batch norm"),
    ],
)
def test_traps_are_told(changes: dict[str, object], said: str) -> None:
    calm = {**QUICK, "run__rounds": 30, "train__batch_size": 10}
    assert any(said in trap for trap in traps_of(assemble(experiment(**{**calm, **changes}))))
    assert not any(said in trap for trap in traps_of(assemble(experiment(**calm))))


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
    result = fedkin("doctor", *settings, "--rounds", "2", "--methods", "fedmd,fedavg", "--json")
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    probes = {one["method"]: one for one in found["probes"]}
    assert {"fedavg", "fedmd"} <= set(probes)
    assert "labeled" in probes["fedmd"]["failed"] or "public" in probes["fedmd"]["failed"]
    assert fedkin("run", *settings, "--set=method=fedavg", "--out", "real").exit_code == 0
    sent = json.loads(fedkin("show", "real", "--json").stdout)["communication"]
    whole = sent["unicast"]["bytes"]["total"] + sent["finish"]["unicast"]["bytes"]["total"]
    assert probes["fedavg"]["bytes"] == pytest.approx(whole, rel=0.01)
    assert {one["method"] for one in found["candidates"]} <= set(probes)
    told = fedkin("doctor", *settings, "--set=method=local", "--rounds", "0").output
    assert "4 clients with" in told
    assert "labels:" in told


def test_advice_that_can_be_followed() -> None:
    full = traps_of(assemble(experiment(**{**QUICK, "run__participation": 1.0})))
    assert [trap for trap in full if "rounds on average" in trap] == [
        "a client takes part in 4.0 rounds on average: ask for more rounds"
    ]
    part = traps_of(assemble(experiment(**{**QUICK, "run__participation": 0.25})))
    assert any("ask for more rounds, or a larger run.participation" in trap for trap in part)


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


def test_an_unknown_method_is_told_before_the_probes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fedkin.doctor.probe.run", lambda *_, **__: pytest.fail("a probe was run"))
    assert "did you mean 'ifca'" in told("doctor", "--methods", "comet,icfa")
