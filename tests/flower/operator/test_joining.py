"""``fedkin deploy join``, without processes: a server app that is played by the test."""

import json
import re
from pathlib import Path

import pytest
from filelock import FileLock

pytest.importorskip("flwr")

from fedkin.core.errors import FedkinError
from fedkin.experiment.training import Interrupted
from fedkin.flower.config import ended_of, joining_of, stop_of, waiting_of
from fedkin.flower.operator import joining, submit
from fedkin.flower.operator.site import add, init
from tests.engine.small import small

SPEC = small("fedavg", run__clients=2, run__participation=1.0)


@pytest.fixture
def site(tmp_path):
    folder = init(tmp_path / "site", SPEC, ("north", "south"), "127.0.0.1:9092")
    add(folder, "late")
    return folder


def test_a_newcomer_joins_the_last_run_unless_another_is_named(site, programs, told, monkeypatch):
    slept = []
    monkeypatch.setattr(submit.time, "sleep", slept.append)
    for name, number in (("north", None), ("other", 1)):
        with pytest.raises(FedkinError, match=f"newcomer {name!r}"):
            joining.join(site, name, number, None)
    (site / "runs").mkdir()
    with pytest.raises(FedkinError, match="has no run to join"):
        joining.join(site, "late", None, None)
    for number in ("2", "10", "9", "x"):
        at = site / "runs" / number / "joined" / "late"
        at.mkdir(parents=True)
        (at / "join.json").write_text(json.dumps({"of": number}))
    with pytest.raises(FedkinError, match="has no run 3 to join"):
        joining.join(site, "late", 3, None)
    assert not programs.asked
    (site / "app" / "pyproject.toml").unlink()
    assert joining.join(site, "late", None, None) == {"of": "10"}
    assert joining.join(site, "late", 2, 0) == {"of": "2"}
    assert (site / "app" / "pyproject.toml").exists()
    assert [(Path(one["out"]).name, one["rounds"]) for one in told] == [("10", ""), ("2", "0")]
    assert all(one["deployment"] == str(site) and one["join"] == "late" for one in told)
    assert not slept

    def slow(self):
        left = {"error": None, "interrupted": False}
        ended_of(site, "12").write_text(json.dumps(left))
        return len(slept) == 2

    monkeypatch.setattr(submit.Submitted, "over", slow)
    assert joining.join(site, "late", None, None) == {"of": "10"}
    assert slept == [0.5, 0.5]


def test_two_terminals_begin_no_join_of_a_node_at_once(site, told):
    (site / "runs" / "1").mkdir(parents=True)
    held = pytest.raises(FedkinError, match="a run or a join is being begun in another terminal")
    with FileLock(site / "submit.lock"), held:
        joining.join(site, "late", None, None)
    assert not told


def told_of(site):
    """The files by which a server app and a terminal speak, and the note of a join."""
    return sorted(path.name for path in site.iterdir() if re.search(r"-(12|late)\b", path.name))


def pressing(monkeypatch, site, *times):
    """Ctrl-C while a join is waited for, at these looks; at others the app ends as it was told."""
    (site / "runs" / "1").mkdir(parents=True)
    monkeypatch.setattr(
        submit.Submitted, "submit", lambda self, config: setattr(self, "number", "12")
    )
    pressed = []

    def sleep(_):
        pressed.append(1)
        if len(pressed) in times:
            raise KeyboardInterrupt
        assert stop_of(site, "12").exists()
        app_stops(site)

    monkeypatch.setattr(submit.time, "sleep", sleep)


AGAIN = "stopped, late has not joined; ask again: fedkin deploy join SITE late"


def app_stops(site):
    stop_of(site, "12").unlink()
    ended_of(site, "12").write_text(json.dumps({"error": AGAIN, "interrupted": True}))


def test_ctrl_c_stops_a_join_and_leaves_nothing(site, monkeypatch, capsys):
    pressing(monkeypatch, site, 1)
    waiting_of(site, "12").touch()
    with pytest.raises(Interrupted, match=f"^{re.escape(AGAIN)}$"):
        joining.join(site, "late", None, None)
    assert "stopping once late has answered" in capsys.readouterr().err
    assert told_of(site) == []


def test_what_a_second_ctrl_c_leaves_is_taken_away_by_the_next_join(site, monkeypatch):
    """The server app still has to see that it is to stop."""
    status = ["running"]
    monkeypatch.setattr(submit.Submitted, "status", lambda self: status[0])
    pressing(monkeypatch, site, 1, 2, 3)
    with pytest.raises(Interrupted, match=r"at once: FLWR_HOME=.* flwr stop 12 deployment"):
        joining.join(site, "late", None, None)
    waiting_of(site, "12").touch()
    assert told_of(site) == ["joining-late.json", "stop-12", "waiting-12.json"]
    with pytest.raises(FedkinError) as told:
        joining.join(site, "late", None, None)
    assert str(told.value).startswith(
        f"the join of late to run 1 of {site} still goes on: wait for its end, or let it end once "
        f"late has answered (touch {stop_of(site, '12')}), or at once (FLWR_HOME="
    )
    app_stops(site)
    monkeypatch.setattr(submit.Submitted, "submit", lambda self, config: _finished(self, site))
    assert joining.join(site, "late", None, None) == {"of": "1"}
    assert told_of(site) == []


def _finished(flower, site):
    flower.number = "13"
    assert told_of(site) == ["joining-late.json"]  # of the earlier one
    at = site / "runs" / "1" / "joined" / "late"
    at.mkdir(parents=True)
    (at / "join.json").write_text(json.dumps({"of": "1"}))
    flower.word.write_text(json.dumps({"error": None, "interrupted": False}))


@pytest.mark.parametrize("status", ["finished:failed", ""])
def test_a_join_whose_app_left_no_word_is_over_where_the_superlink_says_so(
    status, site, monkeypatch
):
    monkeypatch.setattr(submit.Submitted, "status", lambda self: status)
    (site / "runs" / "1").mkdir(parents=True)
    joining_of(site, "late").write_text('{"run": "1", "flower": "12"}')
    stop_of(site, "12").touch()
    monkeypatch.setattr(submit.Submitted, "submit", lambda self, config: _finished(self, site))
    assert joining.join(site, "late", None, None) == {"of": "1"}
