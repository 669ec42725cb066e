"""``fedkin sweep``: what it prints of a study."""

import json
from importlib import import_module
from types import SimpleNamespace

import pytest

from fedkin.experiment.training import Interrupted
from fedkin.runs.database import create
from fedkin.runs.directory import RECORD
from tests.cli.command import fedkin, told


def trial(number, value, state="COMPLETE", **params):
    return SimpleNamespace(
        number=number,
        value=value,
        params=params,
        user_attrs={"folder": f"trial-{number}"},
        state=SimpleNamespace(name=state),
        distributions={},
    )


@pytest.fixture
def study(monkeypatch):
    """A study that nobody trained; ``asked``: what it was asked with."""
    clients = {
        f"clients {n}": {str(k): v + k / 100 for k in range(9)} for n, v in ((0, 0.5), (2, 0.9))
    }
    made = SimpleNamespace(
        trials=[
            trial(0, 0.5, **{"train.lr": 0.1}),
            trial(1, None, "FAIL", **{"train.lr": 9.0}),
            trial(2, 0.9, **{"train.lr": 0.3}),
            trial(3, None, "RUNNING"),
        ],
        user_attrs={"measure": "accuracy", "lost 1": "training diverges", **clients},
    )
    made.asked = []

    def search(base, space, out, trials, sampler, tell):
        made.asked.append((base, out, trials, sampler))
        return made

    monkeypatch.setattr("fedkin.sweep.sweep", search)
    return made


def test_a_search_that_is_stopped_goes_on_with_the_same_command(monkeypatch, tmp_path) -> None:
    def stopped(*_):
        raise Interrupted("stopped after round 3; continue with: fedkin resume s/0000-lr=0.1")

    monkeypatch.setattr("fedkin.sweep.sweep", stopped)
    said = fedkin("sweep", "--space", "train.lr=0.1", "--out", tmp_path / "s")
    assert said.exit_code == 130
    assert said.stderr.endswith(
        "stopped: the same command goes on with this trial, and with the search\n"
    )
    assert "fedkin resume" not in said.output


def test_best_first_and_what_has_no_value(study, tmp_path) -> None:
    out = tmp_path / "s"
    given = [
        "--space",
        "train.lr=0.1,0.3",
        "--out",
        out,
        "--sampler",
        "tpe",
        "--trials",
        4,
        "--method",
        "ditto",
    ]
    found = json.loads(fedkin("sweep", *given, "--json").stdout)
    ((base, folder, trials, sampler),) = study.asked
    assert (base.method.name, folder, trials, sampler) == ("ditto", out, 4, "tpe")
    assert [one["train.lr"] for one in found["trials"]] == [0.3, 0.1]
    assert [one["rank"] for one in found["trials"]] == [1, 2]
    assert found["best"] == found["trials"][0]
    assert found["best"]["run"] == str(out / "trial-2")
    assert found["lost"] == [
        {"train.lr": 9.0, "run": str(out / "trial-1"), "lost": "training diverges"}
    ]
    assert found["running"] == 1


def test_a_table_says_that_test_data_were_not_read(study, tmp_path) -> None:
    text = fedkin("sweep", "--space", "train.lr=0.1,0.3", "--out", tmp_path / "s").stdout
    assert "By validation, best first; no test score is used" in text
    assert text.index("0.9000") < text.index("0.5000")
    assert "trial-1 has no value: training diverges" in text
    assert "1 trial not done yet" in text


def test_rounds_are_shown_where_trials_had_unequal_ones(study, tmp_path) -> None:
    """A budget of privacy, or patience, ended some before the last round."""
    asked = ["sweep", "--space", "train.lr=0.1,0.3", "--out", tmp_path / "s"]
    study.user_attrs |= {"rounds 0": 12, "rounds 2": 12}
    assert "rounds" not in fedkin(*asked).stdout.split()
    study.user_attrs["rounds 2"] = 7
    lines = [line.split() for line in fedkin(*asked).stdout.splitlines()]
    assert ["1", "0.9000", "0.3", "7"] in [line[:4] for line in lines]
    assert ["2", "0.5000", "0.1", "12"] in [line[:4] for line in lines]


def test_without_a_value_there_is_nothing_to_show(study, tmp_path) -> None:
    study.trials = [study.trials[1]]
    asked = ["sweep", "--space", "train.lr=0.1,0.3", "--out", tmp_path / "s"]
    assert told(*asked) == "no trial has a value: training diverges"
    study.trials = []
    assert told(*asked) == "no trial is done yet"


def test_a_value_that_is_not_of_the_finished_model_is_said(study, tmp_path) -> None:
    said = "the finished model has no scores: its final numbers are of round 3"
    study.user_attrs["unscored 2"] = said
    asked = ["sweep", "--space", "train.lr=0.1,0.3", "--out", tmp_path / "s"]
    assert f"trial-2: {said}\n" in fedkin(*asked).stdout
    found = json.loads(fedkin(*asked, "--json").stdout)
    assert [one.get("unscored") for one in found["trials"]] == [said, None]


def test_the_number_of_clients_is_an_option_as_of_run(study, tmp_path) -> None:
    out = str(tmp_path / "s")
    fedkin("sweep", "--clients", "6", "--space", "train.lr=0.1,0.3", "--out", out)
    assert study.asked[0][0].run.clients == 6


def test_trials_with_noise_cost_together_what_each_costs(study, tmp_path) -> None:
    """Each was trained on the same data, whether it has a value or not."""
    facts = {"epsilon": 2.0, "epsilon_replaced": 4.5, "delta": 1e-5, "noise": 1.5, "rounds": 3}
    for name in ("trial-1", "trial-2"):
        (tmp_path / "s" / name).mkdir(parents=True)
        create(tmp_path / "s" / name / RECORD, {"privacy": facts}).close()
    asked = ["sweep", "--space", "train.lr=0.1,0.3", "--out", tmp_path / "s"]
    assert " ".join(fedkin(*asked).stdout.split()).endswith(
        "privacy: 2 runs with noise: epsilon = 4.5 (run trial-1), 4.5 (run trial-2), together 9 at "
        "delta = 2e-05 by basic composition, each for other data in the place of a client's where "
        "clients add the noise; the choice by validation scores, which have no noise, is outside "
        "of it"
    )
    found = json.loads(fedkin(*asked, "--json").stdout)["privacy"]
    assert (found["epsilon"], found["delta"], len(found["runs"])) == (9.0, 2e-5, 2)


@pytest.mark.parametrize("form", [(), ("--json",)])
def test_what_the_trials_cost_is_read_once(study, tmp_path, monkeypatch, form) -> None:
    read: list[str] = []
    monkeypatch.setattr(
        import_module("fedkin.sweep.outcome"),
        "cost_of_record",
        lambda run, folder: read.append(run),
    )
    for name in ("trial-1", "trial-2"):
        (tmp_path / "s" / name).mkdir(parents=True)
        create(tmp_path / "s" / name / RECORD, {"privacy": None}).close()
    fedkin("sweep", "--space", "train.lr=0.1,0.3", "--out", tmp_path / "s", *form)
    assert read == ["trial-1", "trial-2"]


def test_trials_without_noise_cost_nothing(study, tmp_path) -> None:
    asked = ["sweep", "--space", "train.lr=0.1,0.3", "--out", tmp_path / "s"]
    assert "privacy" not in fedkin(*asked).stdout
    assert json.loads(fedkin(*asked, "--json").stdout)["privacy"] is None
