"""``fedkin deploy run`` and Ctrl-C, without processes: a server app that is played by the test."""

import json
import threading
import time

import pytest

pytest.importorskip("flwr")

from fedkin.core.errors import FedkinError
from fedkin.experiment.run import run
from fedkin.experiment.training import Interrupted
from fedkin.flower.config import STOP, ended_of
from fedkin.flower.envelope import Refused
from fedkin.flower.operator import submit
from fedkin.flower.operator.site import init
from fedkin.flower.records import pack, unpack
from fedkin.runs import checkpoint
from tests.engine.small import small

STOPPED = "stopped after a round; continue with: fedkin deploy run SITE --resume"
SPEC = small("fedavg", run__clients=2, run__participation=1.0, run__rounds=1)


@pytest.fixture
def site(tmp_path, monkeypatch):
    """A deployment, and whether its app stops when it is told to: "stops", "finishes"
    or "hangs".
    """
    folder = init(tmp_path / "site", SPEC, ("a", "b"), "127.0.0.1:9092")
    (folder / "runs").mkdir()
    monkeypatch.setattr(submit.Submitted, "submit", lambda self, config: None)
    monkeypatch.setattr(submit, "LOOK", 1e9)
    return folder


def pressing(monkeypatch, *, after: int, times: int = 1):
    """Ctrl-C at a look for records."""
    real, looks = submit.follow, []

    def follow(out, over):
        looks.append(1)
        if after <= len(looks) < after + times:
            raise KeyboardInterrupt
        yield from real(out, over)

    monkeypatch.setattr(submit, "follow", follow)


def app(folder, error):
    """Ends when it is told to stop, and leaves word."""

    def wait():
        while not (folder / STOP).exists():
            time.sleep(0.01)
        (folder / STOP).unlink()
        ended_of(folder).write_text(json.dumps({"error": error, "interrupted": error == STOPPED}))

    threading.Thread(target=wait, daemon=True).start()


def test_ctrl_c_waits_for_the_round(site, monkeypatch, capsys):
    pressing(monkeypatch, after=1)
    app(site, STOPPED)
    with pytest.raises(Interrupted, match=STOPPED):
        submit.submit(site, site / "runs" / "1", lambda record: None)
    assert "ending this round" in capsys.readouterr().err
    assert not (site / STOP).exists()


def test_ctrl_c_in_the_last_round_is_no_interruption(site, monkeypatch):
    pressing(monkeypatch, after=1)
    app(site, None)
    assert (
        submit.submit(site, site / "runs" / "1", lambda record: None)
        == (site / "runs" / "1").absolute()
    )


def test_an_app_that_others_stopped_was_not_interrupted_here(site, monkeypatch):
    """A SuperLink that goes takes its server app along; only the one who pressed Ctrl-C meant it
    (code 130).
    """
    word = json.dumps({"error": STOPPED, "interrupted": True})
    monkeypatch.setattr(submit.Submitted, "submit", lambda self, config: self.word.write_text(word))
    with pytest.raises(
        FedkinError, match=r"not from here .* fedkin deploy run SITE --resume"
    ) as found:
        submit.submit(site, site / "runs" / "1", lambda record: None)
    assert not isinstance(found.value, Interrupted)


def test_what_went_wrong_in_that_round_is_not_hidden(site, monkeypatch):
    pressing(monkeypatch, after=1)
    app(site, "round 2: 0 usable replies")
    with pytest.raises(FedkinError, match="0 usable replies") as found:
        submit.submit(site, site / "runs" / "1", lambda record: None)
    assert not isinstance(found.value, Interrupted)


def test_a_second_ctrl_c_does_not_wait(site, monkeypatch):
    pressing(monkeypatch, after=1, times=2)
    with pytest.raises(Interrupted, match="stops after its round; then continue"):
        submit.submit(site, site / "runs" / "1", lambda record: None)
    assert (site / STOP).exists()


def test_a_resume_does_not_take_the_word_from_an_app_that_is_still_ending(site):
    out = run(SPEC, site / "runs" / "1")
    (site / STOP).touch()
    with (
        checkpoint.alone(out),
        pytest.raises(FedkinError, match="being written by another process"),
    ):
        submit.submit(site, out, lambda record: None)
    assert (site / STOP).exists()


def test_the_client_app_refuses_what_is_too_large_for_its_node():
    with pytest.raises(Refused, match="message of 1001 bytes, more than the 1000 allowed"):
        unpack(pack([bytes(1001)]), 1000)
