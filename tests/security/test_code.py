"""Code that a file names is run only if a person said so: of a run directory, an experiment, and on
a node.
"""

import json
import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from fedkin import Result
from fedkin.core.errors import FedkinError
from fedkin.core.rng import Key
from fedkin.core.system import user_measures
from fedkin.core.system.user_code import find_user_code
from fedkin.experiment.resume import resume
from fedkin.flower.config import NodeConfig
from fedkin.flower.envelope import Place
from fedkin.flower.node.placement import models_at
from fedkin.methods import user_methods as methods
from fedkin.models.build import build
from fedkin.models.user_models import allow, user_class
from fedkin.runs import trust
from fedkin.setup.arguments.options import specification
from tests.cli.command import MODULE, SMALL, fedkin, process, told, without_record

WITNESS = 'open("witness", "w").close()\n'  # what a module does when it is imported


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A working directory with a module of one's own, whose import leaves a trace."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    (tmp_path / "a_strangers_nets.py").write_text(WITNESS + MODULE)
    yield tmp_path
    sys.modules.pop("a_strangers_nets", None)


def poisoned(run: Path, name: str) -> None:
    """The experiment of a run directory names other code; its record says the same, as its maker
    would see to.
    """
    text = (run / "experiment.toml").read_text()
    (run / "experiment.toml").write_text(text.replace('name = "dnn"', f'name = "{name}"', 1))


@pytest.fixture
def strange(here):
    """A run directory from elsewhere, which was not stopped by its end and names code."""
    assert fedkin("run", *SMALL, "--out", "run").exit_code == 0
    poisoned(here / "run", "os:system:command='touch witness'")
    return here


@pytest.mark.rotating
@pytest.mark.parametrize("code", ["os:system:command='touch witness'", "a_strangers_nets:Net"])
@pytest.mark.parametrize(
    "command",
    [
        ("export", "run", "--client", "0"),
        ("predict", "run", "--client", "0", "--data", "x.npz"),
        ("join", "run", "--data", "x.npz"),
        ("doctor", "run/experiment.toml", "--rounds", "0"),
        ("run", "run/experiment.toml"),
        ("sweep", "run/experiment.toml", "--space", "train.lr=0.1,0.2"),
    ],
    ids=lambda command: command[0],
)
def test_no_command_runs_what_a_file_names(command, code, strange):
    poisoned(strange / "run", code)
    text = (strange / "run" / "experiment.toml").read_text()
    (strange / "run" / "experiment.toml").write_text(
        text.replace("os:system:command='touch witness'", code)
    )
    sentence = told(*command)
    assert "names code" in sentence
    assert "--trust-code" in sentence
    assert not (strange / "witness").exists()


METHODS = ["os:system", "shutil:rmtree", "a_strangers_nets:make"]
HOSTILE = 'name = "{}"\ncommand = "touch witness"\npath = "run"'


COMMANDS = [
    ("resume", "run"),
    ("export", "run", "--client", "0"),
    ("predict", "run", "--client", "0", "--data", "x.npz"),
    ("join", "run", "--data", "x.npz"),
    ("audit", "run"),
    ("doctor", "run/experiment.toml", "--rounds", "0"),
    ("run", "run/experiment.toml"),
    ("sweep", "run/experiment.toml", "--space", "train.lr=0.1,0.2"),
]


@pytest.mark.rotating
@pytest.mark.parametrize("code", METHODS)
@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_nor_a_method_that_a_file_names(command, code, here, kept_run, monkeypatch):
    """A run directory from elsewhere whose [method] is a function of some module."""
    monkeypatch.setattr(methods._code, "_allowed", set())
    imported: list[str] = []
    only = SimpleNamespace(import_module=imported.append)
    monkeypatch.setattr("fedkin.core.system.user_code.importlib", only)
    given_the_method(kept_run, here / "run", code)
    if command[0] == "resume":
        without_record(here / "run")
    sentence = told(*command)
    assert f"names code ({code})" in sentence
    assert "--trust-code" in sentence
    assert imported == []
    assert not (here / "witness").exists()
    assert (here / "run").is_dir()


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_nor_a_measure_that_a_file_names(command, here, kept_run, monkeypatch):
    """A run directory from elsewhere whose [run] measure is a function of some module."""
    monkeypatch.setattr(user_measures._code, "_allowed", set())
    imported: list[str] = []
    only = SimpleNamespace(import_module=imported.append)
    monkeypatch.setattr("fedkin.core.system.user_code.importlib", only)
    given_the_measure(kept_run, here / "run", "a_strangers_nets:make_score")
    if command[0] == "resume":
        without_record(here / "run")
    assert "names code (a_strangers_nets:make_score)" in told(*command)
    assert imported == []


@pytest.mark.parametrize("code", ["os:system", "shutil:rmtree"])
def test_who_trusts_it_still_calls_measures_only(code, here, kept_run):
    given_the_measure(kept_run, here / "run", code)
    without_record(here / "run")
    assert "does not say which way is better" in told("resume", "run", "--trust-code")
    assert (here / "run").is_dir()


@pytest.mark.parametrize("command", ["show", "report", "compare", "track"])
def test_nor_is_it_imported_where_a_record_is_read(command, here, kept_run):
    given_the_method(kept_run, here / "run", "a_strangers_nets:make")
    fedkin(command, "run", *(["--tensorboard", "there"] if command == "track" else []))
    assert not (here / "witness").exists()


@pytest.mark.parametrize("code", ["os:system", "shutil:rmtree"])
def test_who_trusts_it_still_calls_methods_only(code, here, kept_run):
    """The second lock: what does not say that it makes a method is not called."""
    given_the_method(kept_run, here / "run", code)
    without_record(here / "run")
    assert "is no function that makes a method" in told("resume", "run", "--trust-code")
    assert not (here / "witness").exists()
    assert (here / "run").is_dir()


@pytest.fixture(scope="module")
def kept_run(tmp_path_factory):
    """A finished run, to be copied."""
    run = tmp_path_factory.mktemp("kept") / "run"
    assert fedkin("run", *SMALL, "--out", run).exit_code == 0
    return run


def given_the_method(kept: Path, run: Path, code: str) -> None:
    """A run from elsewhere whose specification says that its method is that one."""
    shutil.copytree(kept, run)
    text = (run / "experiment.toml").read_text()
    assert 'name = "fedavg"' in text
    (run / "experiment.toml").write_text(text.replace('name = "fedavg"', HOSTILE.format(code)))


def given_the_measure(kept: Path, run: Path, code: str) -> None:
    """A run from elsewhere whose specification says that it goes by that measure."""
    shutil.copytree(kept, run)
    text = (run / "experiment.toml").read_text()
    assert 'measure = "accuracy"' in text
    changed = text.replace('measure = "accuracy"', f'measure = "{code}"')
    (run / "experiment.toml").write_text(changed)


def test_resume_does_not_either(strange):
    without_record(strange / "run")
    assert "names code (os:system)" in told("resume", "run")
    with pytest.raises(FedkinError, match="trust_code=True"):
        resume(Path("run"))
    assert not (strange / "witness").exists()


def test_nor_does_python(strange):
    with pytest.raises(FedkinError, match="names code"):
        Result("run").personal(0)
    assert not (strange / "witness").exists()


def test_who_trusts_it_still_calls_models_only(strange):
    """The second lock: what is no model by its class is not called, whoever allowed it."""
    without_record(strange / "run")
    assert "is not called" in told("resume", "run", "--trust-code")
    assert not (strange / "witness").exists()


def test_ones_own_run_is_remembered_and_other_options_are_not(here):
    done = fedkin("run", *SMALL, "--model", "a_strangers_nets:Net", "--out", "run")
    assert done.exit_code == 0, done.output
    assert fedkin("export", "run", "--client", "0").exit_code == 0
    text = (here / "run" / "experiment.toml").read_text()
    (here / "run" / "experiment.toml").write_text(
        text.replace('"a_strangers_nets:Net"', '"a_strangers_nets:Net:width=9"')
    )
    assert "names code" in told("export", "run", "--client", "0")
    (here / "run" / "experiment.toml").write_text(text)
    os.rename("run", "moved")  # it came from elsewhere, as far as this machine knows
    assert "names code (a_strangers_nets:Net)" in told("export", "moved", "--client", "0")
    assert fedkin("export", "moved", "--client", "0", "--trust-code").exit_code == 0
    assert fedkin("export", "moved", "--client", "0").exit_code == 0


def test_what_is_typed_needs_no_leave_and_what_a_file_says_does(here):
    (here / "e.toml").write_text('model.name = "a_strangers_nets:Net"')
    with pytest.raises(FedkinError, match=r"e\.toml names code \(a_strangers_nets:Net\)"):
        specification(Path("e.toml"), {}, [])
    (here / "f.toml").write_text('model.map = {a = "mlr", b = "a_strangers_nets:Net"}')
    with pytest.raises(FedkinError, match=r"f\.toml names code"):
        specification(Path("f.toml"), {}, [])
    assert (
        specification(Path("e.toml"), {"model": "mlr"}, [])[0].model.name == "mlr"
    )  # the option wins
    assert (
        specification(None, {"model": "a_strangers_nets:Net"}, [])[0].model.name
        == "a_strangers_nets:Net"
    )


def test_nobody_allowed_it(here):
    with pytest.raises(FedkinError, match="nobody has allowed"):
        build("a_strangers_nets:Other", (4,), 2, Key(0))
    assert not (here / "witness").exists()


@pytest.mark.parametrize(
    "path", ["os:system", "subprocess:Popen", "builtins:exec", "pathlib:Path", "torch:load"]
)
def test_what_is_no_model_is_not_called(path):
    allow([path])
    with pytest.raises(FedkinError, match="is not called"):
        user_class(path)


@pytest.mark.rotating
def test_no_file_of_the_current_folder_stands_in_for_a_library(here):
    assert fedkin("run", *SMALL, "--out", "run").exit_code == 0
    for planted in ("typing_extensions.py", "numpy.py", "torch.py", "safetensors.py"):
        (here / planted).write_text(WITNESS)
    for command in (("export", "run", "--client", "0"), ("show", "run")):
        started = process(*command, folder=here)
        _, error = started.communicate(timeout=600)
        assert started.returncode == 0, error
    assert not (here / "witness").exists()


def test_the_current_folder_comes_last_on_the_import_path(here):
    find_user_code()
    assert sys.path[-1] == str(here)
    assert sys.path.count(str(here)) == 1
    find_user_code()  # once
    assert sys.path.count(str(here)) == 1


def test_a_node_imports_what_its_operator_lists(here, monkeypatch):
    monkeypatch.syspath_prepend(here)
    from fedkin.setup.build import assemble

    spec = specification(None, {"model": "mlr", "clients": 3}, [])[0]
    population = assemble(spec).population
    own = spec.model_copy(
        update={"model": spec.model.model_copy(update={"name": "a_strangers_nets:Net"})}
    )
    place = Place(client=1, clients=3, classes=10, architecture="a_strangers_nets:Net", data="")
    node = NodeConfig(client="a", superlink="127.0.0.1:1")
    with pytest.raises(
        FedkinError, match=r'node\.toml says so: imports = \["a_strangers_nets:Net"\]'
    ):
        models_at(node, own, population, place)
    assert not (here / "witness").exists()
    for listed in ("a_strangers_nets", "a_strangers_nets:Net"):
        models, _ = models_at(
            node.model_copy(update={"imports": (listed,)}), own, population, place
        )
        assert list(models) == ["a_strangers_nets:Net"]


def test_what_is_remembered_is_nobody_elses(here, tmp_path_factory, monkeypatch):
    home = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("XDG_STATE_HOME", str(home))
    spec = specification(None, {"model": "a_strangers_nets:Net"}, [])[0]
    trust.remember(here, spec)
    file = home / "fedkin" / "trusted.json"
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    assert list(json.loads(file.read_text())) == [str(here)]
    trust.require(here / "x", spec, ["a_strangers_nets:Net"], False)
    file.parent.chmod(0o777)  # from now on anybody may have written it
    with pytest.raises(FedkinError, match="names code"):
        trust.require(here / "x", spec, ["a_strangers_nets:Net"], False)
    file.parent.chmod(0o700)
    for content in ("[]", "{", "[" * 100_000, '{"a": 3}'):
        file.write_text(content)
        with pytest.raises(FedkinError, match="names code"):
            trust.require(here / "x", spec, ["a_strangers_nets:Net"], False)


def test_a_worker_has_not_the_current_folder_first():
    from fedkin.engine.transports import processes

    assert '"-P"' in Path(processes.__file__).read_text()
    assert (
        subprocess.run(
            [sys.executable, "-P", "-c", "import sys; assert '' not in sys.path"], check=False
        ).returncode
        == 0
    )
