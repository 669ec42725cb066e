"""A measure of one's own, by ``module:function``: from the command line, in files, in runs."""

import json
import sys
from pathlib import Path

import pytest

from fedkin.core.errors import FedkinError
from fedkin.core.system import user_measures
from fedkin.report.records import opened
from fedkin.setup.arguments.options import specification
from tests.cli.command import SMALL, fedkin, told, without_record

SOURCE = """
def right_score(p, y) -> float:
    return float((p.argmax(1) == y).mean())

def wrong_error(p, y) -> float:
    return float((p.argmax(1) != y).mean())

def no_score(p, y) -> float:
    return float("nan")

def direction(p, y) -> float:
    return 1.0
"""
RIGHT, WRONG = "own74:right_score", "own74:wrong_error"
SHORT = ["--set", "run.clients=3", "--set", "train.steps=2", "--set", "engine.name=inprocess"]
MASKED = ["--set", "privacy.secure_aggregation.threshold=4"]


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch, own_modules) -> Path:
    """The folder of the command, with measures in a file; nobody has allowed them."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr(user_measures._code, "_allowed", set())
    (tmp_path / "own74.py").write_text(SOURCE)
    return tmp_path


def run(out: str, measure: str, *more: str) -> dict:
    """The summary of a run by a measure."""
    done = fedkin("run", *SMALL, *more, "--measure", measure, "--out", out)
    assert done.exit_code == 0, done.output
    return json.loads(fedkin("show", out, "--json").stdout)


@pytest.mark.rotating
def test_the_run_goes_by_it(here) -> None:
    """It is the accuracy, or its complement: every number that a run tells of it is known."""
    by_name, right = run("a", "accuracy"), run("r", "own74.py:right_score")
    wrong = run("w", WRONG)
    assert (right["measure"], wrong["measure"]) == (RIGHT, WRONG)
    view = "personal"
    for picked in ("final", "best_by_validation"):
        one, other, third = (found["headline"][view][picked] for found in (by_name, right, wrong))
        assert one["round"] == other["round"] == third["round"]
        assert other["mean"] == pytest.approx(one["mean"])
        assert third["mean"] == pytest.approx(1 - one["mean"])
        assert third["worst_decile"] == pytest.approx(1 - one["worst_decile"])
    with opened(here / "r") as record:
        assert list(record.facts["code"]) == [RIGHT]
    assert 'measure = "own74:right_score"' in (here / "r" / "experiment.toml").read_text()


def test_what_reads_a_run_of_it_takes_it_and_imports_nothing(here) -> None:
    run("r", RIGHT)
    for name in {name for name in sys.modules if name == "own74"}:
        del sys.modules[name]
    user_measures._code._allowed.clear()
    for command in (
        ("show", "r"),
        ("compare", "r", "--measure", RIGHT),
        ("report", "r"),
        ("export", "r", "--client", "0"),
    ):
        done = fedkin(*command)
        assert done.exit_code == 0, (command, done.output)
        assert "own74" not in sys.modules or command[0] == "export"
    assert "right score" in fedkin("show", "r").stdout


@pytest.mark.rotating
def test_a_file_names_it_once_a_person_trusts_the_file(here) -> None:
    (here / "e.toml").write_text(f'[run]\nmeasure = "{RIGHT}"\n')
    typed = ["run", "e.toml", *SHORT, "--rounds", "1", "--out"]
    assert f"e.toml names code ({RIGHT})" in told(*typed, "no")
    assert "own74" not in sys.modules
    assert fedkin(*typed, "yes", "--trust-code").exit_code == 0
    assert fedkin(*typed, "again").exit_code == 0  # it is remembered
    (here / "e.toml").write_text(f'[run]\nmeasure = "{WRONG}"\n')
    assert "names code" in told(*typed, "other")


def test_resume_goes_on_with_it_and_does_not_for_a_stranger(here) -> None:
    run("r", RIGHT)
    (here / "r").rename(here / "moved")
    user_measures._code._allowed.clear()
    without_record(here / "moved")
    assert f"names code ({RIGHT})" in told("resume", "moved")
    assert fedkin("resume", "moved", "--trust-code").exit_code == 0


@pytest.mark.slow
def test_worker_processes_import_it_too(here) -> None:
    one, two = (
        run(engine[:4], RIGHT, "--engine", engine)
        for engine in ("inprocess", "processes:workers=2")
    )
    assert one["headline"] == two["headline"]


@pytest.mark.rotating
def test_a_client_chooses_by_it_and_a_sweep(here) -> None:
    run("f", WRONG, "--method", "finetune:keep=best,epochs=2")
    asked = ["sweep", *SHORT, "--rounds", "1", "--json", "--measure", WRONG, "--out", "s"]
    found = json.loads(fedkin(*asked, "--space", "train.lr=1e-9,0.1").stdout)["trials"]
    assert [one["train.lr"] for one in found] == [0.1, 1e-9]  # less of an error is better
    assert {one["measure"] for one in found} == {WRONG}


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (["own74:direction"], r"does not say which way is better: end the function's name in _sc"),
        (["own74:gone_score"], "own74 has no 'gone_score': did you mean 'no_score'?"),
        (["acuracy"], "did you mean 'accuracy'"),
        ([RIGHT, *MASKED], "masks add fedkin's own measures alone: choose accuracy"),
    ],
)
def test_what_does_not_fit_is_refused_before_training(here, asked, said) -> None:
    sentence = told("run", *SMALL, "--out", "no", "--measure", *asked)
    assert said in sentence
    assert not (here / "no").exists()


def test_python_takes_the_path_as_well(here, monkeypatch) -> None:
    from fedkin import Experiment

    monkeypatch.syspath_prepend(here)
    made = Experiment("local", data="digits", clients=3, rounds=1, model="mlr", measure=RIGHT)
    assert made.run(out=here / "p").summary["measure"] == RIGHT
    with pytest.raises(FedkinError, match="unknown value"):
        specification(None, {"measure": "own74"}, [])


def test_a_measure_that_says_nothing_of_anybody_is_told(here) -> None:
    """It gives nan for every client in every round: tables have a dash, and no number."""
    asked = ("run", *SMALL, "--measure", "own74:no_score", "--out", "n")
    said = (
        "personal, global: no score says nothing: none of 5 clients with test samples has a "
        "number, for it is not defined there, or gives nan or infinity"
    )
    assert f"note: {said}" in fedkin(*asked).stderr
    for command in ("show", "compare"):
        shown = " ".join(fedkin(command, "n").stdout.split())
        assert said in shown, command
    run("r", RIGHT)
    for command in ("show", "compare"):
        assert "says nothing" not in fedkin(command, "r").stdout
