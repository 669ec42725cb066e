"""A method of one's own, by ``module:function``: from the command line, in files, in runs."""

import json
import sys
from pathlib import Path

import pytest

from fedkin.core.errors import FedkinError
from fedkin.experiment.resume import resume
from fedkin.experiment.run import run
from fedkin.experiment.training import Interrupted
from fedkin.methods import user_methods
from fedkin.report.records import opened
from fedkin.setup.arguments.options import specification
from tests.cli.command import SMALL, fedkin, ran, told

SOURCE = '''
from fedkin.core.method import Method
from fedkin.methods.fedavg import fedavg


def slower(*, lr: float, share: float = 0.5) -> Method:
    """FedAvg at a share of the learning rate."""
    return fedavg(lr=share * lr)._replace(name="slower")
'''
SLOWER = "slow71:slower"
FILE = '[method]\nname = "slow71:slower"\nshare = {}\n'
SHORT = ["--set", "run.clients=3", "--set", "train.steps=2", "--set", "engine.name=inprocess"]


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch, own_modules) -> Path:
    """The folder of the command, with a method of one's own in a file; nobody has allowed it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr(user_methods._code, "_allowed", set())
    (tmp_path / "slow71.py").write_text(SOURCE)
    return tmp_path


def test_what_is_typed_is_run_with_its_options(here) -> None:
    mine = ran(here / "mine", "--method", f"{SLOWER}:share=0.25")
    slow = ran(here / "slow", "--method", "fedavg", "--set", "train.lr=0.025")
    assert (mine["method"], mine["hyper"]) == ("slower", {"lr": 0.1, "share": 0.25})
    assert mine["accuracy"] == slow["accuracy"]
    with opened(here / "mine") as record:
        assert list(record.facts["code"]) == [SLOWER]
    written = specification(here / "mine" / "experiment.toml", {}, [])[0].method
    assert (written.name, written.options) == (SLOWER, {"share": 0.25})


@pytest.mark.slow
def test_worker_processes_import_it_too(here) -> None:
    """In each of them it is made again, of what the run's specification says."""
    one, two = (
        ran(here / engine[:4], "--method", f"{SLOWER}:share=0.25", "--engine", engine)
        for engine in ("inprocess", "processes:workers=2")
    )
    assert one["fingerprint"] == two["fingerprint"]


def test_a_file_names_it_once_a_person_trusts_the_file(here) -> None:
    file = here / "e.toml"
    file.write_text(FILE.format(0.25))
    typed = ["run", "e.toml", *SHORT, "--rounds", "1", "--out"]
    assert f"e.toml names code ({SLOWER})" in told(*typed, "no")
    assert "slow71" not in sys.modules
    assert fedkin(*typed, "yes", "--trust-code").exit_code == 0
    assert fedkin(*typed, "again").exit_code == 0  # it is remembered
    file.write_text(FILE.format(0.5))
    assert "names code" in told(*typed, "other")
    assert fedkin(*typed, "else", "--method", "fedavg").exit_code == 0  # the option wins


@pytest.mark.rotating
def test_what_reads_a_run_of_ones_own_takes_it(here) -> None:
    asked = ["--method", SLOWER, "--set", "run.holdout_clients=0.2"]
    assert fedkin("run", *SMALL, *asked, "--out", "mine").exit_code == 0
    with opened(here / "mine") as record:
        stayed = {client.name for client in record.clients.values()}
    (newcomer,) = {str(k) for k in range(5)} - stayed
    for command in (
        ("resume", "mine"),
        ("show", "mine"),
        ("compare", "mine"),
        ("report", "mine"),
        ("export", "mine", "--client", min(stayed)),
        ("join", "mine", "--client", newcomer),
        ("audit", "mine"),
    ):
        user_methods._code._allowed.clear()  # each would be a process of its own
        done = fedkin(*command)
        assert done.exit_code == 0, (command, done.output)


def test_a_run_whose_method_changed_says_so(here, monkeypatch) -> None:
    def stop(record) -> None:
        raise Interrupted("stopped")

    monkeypatch.syspath_prepend(here)
    spec = specification(None, {"method": SLOWER}, SHORT[1::2])[0]
    with pytest.raises(Interrupted):
        run(spec, here / "mine", progress=stop)
    (here / "slow71.py").write_text(SOURCE.replace("share * lr", "share * lr / 2"))
    said: list[str] = []
    monkeypatch.setattr("fedkin.experiment.resume.note", said.append)
    with pytest.raises(Interrupted):
        resume(here / "mine", progress=stop)
    assert f"the file of {SLOWER} is not what this run began with" in said[0]


@pytest.mark.rotating
@pytest.mark.parametrize(
    "settings",
    [
        ["method.safe=true"],
        ["server.optimizer=adam"],
        ["privacy.noise=1.0", "privacy.delta=1e-5", "privacy.clip=1.0"],
    ],
)
def test_other_sections_change_it_as_any_method(settings, here) -> None:
    asked = [word for one in settings for word in ("--set", one)]
    done = fedkin("run", *SMALL, "--method", SLOWER, *asked, "--out", "mine")
    assert done.exit_code == 0, done.output


def test_a_sweep_searches_its_hyper_parameters_and_chooses_it(here) -> None:
    asked = ["sweep", *SHORT, "--rounds", "1", "--json"]
    mine = [*asked, "--method", SLOWER, "--out", "s"]
    found = json.loads(fedkin(*mine, "--space", "method.share=0.2,0.9").stdout)["trials"]
    assert {one["method.share"] for one in found} == {0.2, 0.9}
    assert "did you mean 'share'" in told(*mine, "--space", "method.shar=0.2,0.9")
    user_methods._code._allowed.clear()
    either = [*asked, "--out", "t", "--space", f"method.name={SLOWER},fedavg"]
    found = json.loads(fedkin(*either).stdout)["trials"]
    assert {one["method.name"] for one in found} == {SLOWER, "fedavg"}


@pytest.mark.rotating
def test_the_doctor_probes_it(here) -> None:
    asked = ["doctor", "--data", "digits", *SHORT, "--rounds", "1", "--json"]
    named = [f"{SLOWER}:share=0.3", f"{SLOWER}:share=0.7"]
    found = json.loads(fedkin(*asked, "--method", named[0], "--methods", named[1]).stdout)
    failed = {one["method"]: one["failed"] for one in found["probes"]}
    assert (failed[SLOWER], failed[named[1]]) == ("", "")
    assert "did you mean 'share'" in told(*asked, "--methods", f"{SLOWER}:shar=0.7")


def test_it_is_listed_by_its_path(here) -> None:
    (one,) = json.loads(fedkin("methods", SLOWER, "--json").stdout)
    assert one["summary"] == "FedAvg at a share of the learning rate."
    assert (one["hyper_parameters"], one["required"]) == ({"share": 0.5}, [])
    assert one["needs"]["one_architecture"]
    assert "no certificate" in fedkin("methods", SLOWER, "--certificate").stdout
    assert "| one architecture |" in fedkin("methods", SLOWER, "--markdown").stdout
    assert "slow71 has no 'gone'" in told("methods", "slow71:gone")


def test_python_takes_the_path_as_well(here, monkeypatch) -> None:
    from fedkin import Experiment

    monkeypatch.syspath_prepend(here)
    found = Experiment(f"{SLOWER}:share=0.25", data="digits")
    assert (found.spec.method.name, found.spec.method.options) == (SLOWER, {"share": 0.25})
    with pytest.raises(FedkinError, match="did you mean 'share'"):
        Experiment(f"{SLOWER}:shar=0.25", data="digits")


@pytest.mark.parametrize(("called", "of"), [("fedavg", "fedavg"), ("l2gd", "l2sgd")])
def test_a_function_called_as_a_method_of_fedkin_s_is_refused(here, called, of) -> None:
    (here / "pooled71.py").write_text(SOURCE.replace("def slower", f"def {called}"))
    said = told("run", "--data", "digits", "--method", f"pooled71:{called}", "--out", here / "no")
    assert f"has the name of fedkin's {of}: call the function otherwise" in said


def test_a_file_in_a_folder_is_meant_by_its_path(here) -> None:
    (here / "sub71").mkdir()
    (here / "slow71.py").rename(here / "sub71" / "slow71.py")
    found = ran(here / "mine", "--method", "sub71/slow71.py:slower:share=0.25")
    assert (found["method"], found["hyper"]["share"]) == ("slower", 0.25)
    assert 'name = "sub71.slow71:slower"' in (here / "mine" / "experiment.toml").read_text()
    for option in ("--method", "--model", "--measure"):
        said = told("run", *SHORT, option, "sub71/slow71:slower", "--out", "no")
        assert said.endswith("and no .py: write sub71.slow71:slower")


def test_it_is_checked_in_the_folder_of_its_file(here, monkeypatch) -> None:
    monkeypatch.setattr("fedkin.doctor.method_checks.RULES", {})
    asked = fedkin("methods", f"{SLOWER}:share=0.25", "--check", "--json")
    assert json.loads(asked.stdout) == {"method": f"{SLOWER}:share=0.25", "checks": []}
