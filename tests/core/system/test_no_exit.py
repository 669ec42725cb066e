"""Code of somebody's own does not end fedkin without a word."""

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from fedkin.core.system.no_exit import Exited, no_exit
from fedkin.core.system.user_code import user_line


class Stop(BaseException):
    pass


def leaves(error: BaseException) -> None:
    raise error


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (SystemExit(), "sys.exit() would end fedkin"),
        (SystemExit(0), "sys.exit(0) would end fedkin"),
        (SystemExit("no licence"), "sys.exit('no licence') would end fedkin"),
        (Stop("now"), "Stop: now would end fedkin"),
        (GeneratorExit(), "GeneratorExit: GeneratorExit would end fedkin"),
    ],
)
def test_it_is_told_where_it_would_end(error: BaseException, said: str) -> None:
    with pytest.raises(Exited) as told, no_exit():
        leaves(error)
    assert str(told.value) == said
    assert user_line(told.value).startswith("test_no_exit.py, line ")


@pytest.mark.parametrize("error", [ValueError("x"), KeyboardInterrupt()])
def test_all_else_passes_as_it_is(error: BaseException) -> None:
    with pytest.raises(type(error)) as told, no_exit():
        leaves(error)
    assert told.value is error
    with no_exit():
        pass


def test_what_fedkin_raises_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """A node that is asked to end while a client works: its handler of the signal is fedkin's."""
    monkeypatch.setattr("fedkin.core.system.no_exit.PACKAGE", Path(__file__).parent)
    with pytest.raises(SystemExit), no_exit():
        leaves(SystemExit(0))


OWN = """
import sys

from fedkin.core.method import Method
from fedkin.methods.fedavg import fedavg


def never(*, lr: float) -> Method:
    sys.exit()


def later(*, lr: float) -> Method:
    def client_update(received, own, data):
        sys.exit(0)

    return fedavg(lr=lr)._replace(client_update=client_update)


def at_server(*, lr: float) -> Method:
    def server_update(state, sent, server):
        sys.exit(0)

    return fedavg(lr=lr)._replace(server_update=server_update)


def at_last(*, lr: float) -> Method:
    def predict(model, view, x):
        sys.exit(0)

    return fedavg(lr=lr)._replace(predict=predict)


def any_score(p, y) -> float:
    raise SystemExit
"""
SMALL = [
    "run",
    "--data",
    "digits",
    "--clients",
    "3",
    "--rounds",
    "1",
    "--set",
    "train.steps=2",
    "--engine",
    "inprocess",
]


@pytest.mark.rotating
@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("--method exits9:never", "'exits9:never' cannot be made: Exited: sys.exit() would end"),
        ("--method exits9:later", "client_update of method later"),
        ("--method exits9:at_server", "method at_server: server_update fails: Exited: sys.exit(0)"),
        ("--method exits9:at_last", "Exited: sys.exit(0) would end fedkin"),
        ("--measure exits9:any_score", "measure 'exits9:any_score' failed: Exited: sys.exit()"),
    ],
)
def test_a_run_is_not_over_as_if_it_was_done(asked: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "exits9.py").write_text(textwrap.dedent(OWN))
    words = [sys.executable, "-m", "fedkin", *SMALL, *asked.split(), "--out", "out"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 2, done.stderr
    (line,) = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
    assert said in line
    assert "(exits9.py, line " in line
