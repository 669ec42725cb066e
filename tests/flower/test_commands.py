"""Commands that are printed can be typed as they stand, whatever a folder is called."""

import shlex
from pathlib import Path

import pytest

pytest.importorskip("flwr")

from fedkin.core.errors import FedkinError
from fedkin.flower.commands import deploy, flwr, of_shell
from fedkin.flower.config import DEPLOYMENT, Deployment, load
from fedkin.flower.operator import submit, supervisor
from fedkin.flower.operator.readme import operator_readme
from fedkin.flower.operator.site import init
from fedkin.flower.stopping import join_again, run_again
from tests.engine.small import small

SPEC = small("fedavg", run__clients=2, run__participation=1.0)
ODD = "a b's"


def test_words_are_quoted_where_a_shell_would_part_them() -> None:
    assert deploy("run", Path("site"), "--resume") == "fedkin deploy run site --resume"
    assert shlex.split(deploy("join", Path(ODD), "late")) == ["fedkin", "deploy", "join", ODD,
                                                              "late"]  # fmt: skip
    assert shlex.split(flwr(Path(ODD), "stop", "12")) == [f"FLWR_HOME={ODD}", "flwr", "stop", "12"]
    assert flwr(Path("home"), "ls") == "FLWR_HOME=home flwr ls"
    assert of_shell("chmod", "600", Path(ODD)) == f"chmod 600 {shlex.quote(ODD)}"


def test_what_a_server_app_says_when_it_is_stopped_can_be_typed(tmp_path) -> None:
    folder = f"/srv/{ODD}"
    for said, verb in (
        (run_again(folder, tmp_path), "run"),
        (join_again(folder, tmp_path, "late", ""), "join"),
    ):
        typed = shlex.split(said.rpartition(": ")[2])
        assert typed[:4] == ["fedkin", "deploy", verb, folder]


def test_what_an_operator_is_told_can_be_typed(short_path, monkeypatch) -> None:
    folder = init(short_path / ODD, SPEC, ("north", "south"), "127.0.0.1:9092")
    here = shlex.quote(str(folder))
    manual = operator_readme(folder, load(Deployment, folder, DEPLOYMENT))
    assert f"`fedkin deploy run {here} --resume`" in manual
    assert f"`fedkin deploy join {here} NAME`" in manual
    (folder / "submitted.json").write_text('{"run": "1", "flower": "12"}')
    monkeypatch.setattr(submit.Submitted, "status", lambda self: "running")
    with pytest.raises(FedkinError) as told:
        submit.submit(folder, folder / "runs" / "1", lambda record: None)
    assert f"(touch {shlex.quote(str(folder / 'stop-12'))})" in str(told.value)
    assert f"(FLWR_HOME={shlex.quote(str(folder / 'flower'))} flwr stop 12 " in str(told.value)
    key = folder / "nodes" / "north" / "node.key"
    key.chmod(0o640)
    with pytest.raises(FedkinError) as told:
        supervisor.node(key.parent)
    assert str(told.value).endswith(f": chmod 600 {shlex.quote(str(key))}")
