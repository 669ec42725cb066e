"""``fedkin deploy run`` and Ctrl-C, without processes: a server app that is played by the test."""

import json
import signal
import threading
import time

import pytest

pytest.importorskip("flwr")

from filelock import FileLock
from jsonschema import Draft202012Validator
from typer.testing import CliRunner

from fedkin.cli import deploy
from fedkin.core.errors import FedkinError
from fedkin.experiment.run import run
from fedkin.experiment.training import Interrupted
from fedkin.flower import stopping
from fedkin.flower.config import SUBMITTED, ended_of, stop_of, waiting_of
from fedkin.flower.envelope import Refused
from fedkin.flower.operator import submit
from fedkin.flower.operator.site import init
from fedkin.flower.records import pack, unpack
from fedkin.flower.waiting import Waiting
from fedkin.runs import checkpoint
from fedkin.runs.record import Record
from tests.engine.small import small
from tests.flower.fleet import NAMES, Fleet
from tests.flower.test_columns import site as tables
from website.json_page import schemas

STOPPED = "stopped after a round; continue with: fedkin deploy run SITE --resume"
SPEC = small("fedavg", run__clients=2, run__participation=1.0, run__rounds=1)


def begun(number, word=None):
    """What submits a run of this number, whose app has left word at once."""

    def submit(self, config):
        self.number = number
        if word is not None:
            self.word.write_text(json.dumps(word))

    return submit


@pytest.fixture
def site(tmp_path, monkeypatch):
    """A deployment, and whether its app stops when it is told to: "stops", "finishes"
    or "hangs".
    """
    folder = init(tmp_path / "site", SPEC, ("a", "b"), "127.0.0.1:9092")
    (folder / "runs").mkdir()
    monkeypatch.setattr(submit.Submitted, "submit", begun("12"))
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
        while not (stop := stop_of(folder, "12")).exists():
            time.sleep(0.01)
        stop.unlink()
        word = {"error": error, "interrupted": error == STOPPED}
        ended_of(folder, "12").write_text(json.dumps(word))

    threading.Thread(target=wait, daemon=True).start()


def test_ctrl_c_waits_for_the_round(site, monkeypatch, capsys):
    pressing(monkeypatch, after=1)
    app(site, STOPPED)
    with pytest.raises(Interrupted, match=STOPPED):
        submit.submit(site, site / "runs" / "1", lambda record: None)
    assert "ending this round" in capsys.readouterr().err
    assert not stop_of(site, "12").exists()


def test_a_second_ctrl_c_before_the_first_round_names_no_run_to_resume(site, monkeypatch):
    pressing(monkeypatch, after=1, times=2)
    with pytest.raises(Interrupted, match=r"then begin again: fedkin deploy run \S+$"):
        submit.submit(site, site / "runs" / "1", lambda record: None)


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
    word = {"error": STOPPED, "interrupted": True}
    monkeypatch.setattr(submit.Submitted, "submit", begun("12", word))
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
    monkeypatch.setattr(stopping, "has_begun", lambda _: True)
    pressing(monkeypatch, after=1, times=2)
    with pytest.raises(Interrupted, match="stops after its round; then continue"):
        submit.submit(site, site / "runs" / "1", lambda record: None)
    assert stop_of(site, "12").exists()


def test_a_resume_does_not_take_the_word_from_an_app_that_is_still_ending(site):
    out = run(SPEC, site / "runs" / "1")
    stop_of(site, "12").touch()
    with (
        checkpoint.alone(out),
        pytest.raises(FedkinError, match="being written by another process"),
    ):
        submit.submit(site, out, lambda record: None)
    assert stop_of(site, "12").exists()


def test_a_second_run_is_refused_while_the_last_one_goes_on(site, monkeypatch):
    """Its word would be taken for the second one's, and the second one would take its stop away."""
    status = ["running"]
    monkeypatch.setattr(submit.Submitted, "status", lambda self: status[0])
    pressing(monkeypatch, after=1, times=2)
    with pytest.raises(Interrupted, match="stops after its round"):
        submit.submit(site, site / "runs" / "1", lambda record: None)
    fine = {"error": None, "interrupted": False}
    monkeypatch.setattr(submit.Submitted, "submit", begun("13", fine))
    for going in ("running", "starting", "pending"):
        status[0] = going
        with pytest.raises(FedkinError) as told:
            submit.submit(site, site / "runs" / "2", lambda record: None)
        assert str(told.value).startswith(f"run 1 of {site} still goes on: wait for its end, or ")
        assert f"touch {site / 'stop-12'}" in str(told.value)
        assert "flwr stop 12 deployment" in str(told.value)
    assert stop_of(site, "12").exists()
    assert not ended_of(site, "13").exists()
    ended_of(site, "12").write_text(json.dumps({"error": STOPPED, "interrupted": True}))
    assert submit.submit(site, site / "runs" / "2", lambda record: None)
    assert json.loads((site / SUBMITTED).read_text()) == {"run": "2", "flower": "13"}
    assert not stop_of(site, "12").exists()
    assert not ended_of(site, "12").exists()


@pytest.mark.parametrize("status", ["finished:failed", "finished:completed", ""])
def test_a_run_whose_app_left_no_word_is_over_where_the_superlink_says_so(
    status, site, monkeypatch
):
    monkeypatch.setattr(submit.Submitted, "status", lambda self: status)
    (site / SUBMITTED).write_text('{"run": "1", "flower": "12"}')
    fine = {"error": None, "interrupted": False}
    monkeypatch.setattr(submit.Submitted, "submit", begun("13", fine))
    assert submit.submit(site, site / "runs" / "1", lambda record: None)


def test_the_word_of_another_run_is_nobodys(site, monkeypatch):
    ended_of(site, "11").write_text(json.dumps({"error": None, "interrupted": False}))
    (site / "ended.json").write_text(json.dumps({"error": None, "interrupted": False}))
    why = {"error": "why", "interrupted": False}
    monkeypatch.setattr(submit.Submitted, "submit", begun("12", why))
    with pytest.raises(FedkinError, match=r"^why$"):
        submit.submit(site, site / "runs" / "1", lambda record: None)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"run": 1}', "3"])
def test_a_damaged_note_of_the_last_run_is_said(text, site):
    (site / SUBMITTED).write_text(text)
    with pytest.raises(FedkinError, match=r"submitted\.json cannot be read: .*; remove it once"):
        submit.submit(site, site / "runs" / "1", lambda record: None)


def test_who_is_waited_for_is_said_once(site, monkeypatch, caplog):
    words, waiting = [["b"], ["b"], ["a", "b"], [], ["a", "b"]], Waiting(waiting_of(site, "12"), 2)

    def alive(self):
        if words:
            waiting.tell(words.pop(0))
        else:
            ended_of(site, "12").write_text(json.dumps({"error": None, "interrupted": False}))

    real = submit.Submitted.over
    monkeypatch.setattr(submit.Submitted, "over", lambda self: [alive(self), real(self)][1])
    monkeypatch.setattr("fedkin.runs.follow.PAUSE", 0.0)
    caplog.set_level("INFO", "fedkin")
    submit.submit(site, site / "runs" / "1", lambda record: None)
    a_and_b = "waiting for a, b (2 of 2 nodes)"
    said = [one.getMessage() for one in caplog.records if "waiting" in one.getMessage()]
    assert said == ["waiting for b (1 of 2 nodes)", a_and_b, a_and_b]


@pytest.mark.parametrize("own", [True, False])
def test_data_of_the_nodes_are_not_looked_for_here(own, tmp_path, monkeypatch, capsys):
    """With files of their own [data] name is a title, though it may look like a file's, and no
    partition divided them.
    """
    table = SPEC.data.model_copy(update={"name": "patients.csv", "label": "sick"})
    named = SPEC.model_copy(update={"data": table})
    monkeypatch.setattr("fedkin.flower.operator.site.resolved", lambda spec, method: spec)
    folder = init(tmp_path / "site", named, ("a", "b"), "127.0.0.1:9092", own_data=own)
    asked, seen = [], []
    monkeypatch.setattr(
        "fedkin.doctor.data_checks.data_notes", lambda spec: [asked.append(spec), []][1]
    )
    monkeypatch.setattr("fedkin.cli.talk.closing.closing", lambda folder, out: seen.append(folder))

    def work(folder, out, progress):
        progress(Record(1, "round", [0], [], {}, {}, {}, {}, {"total": 1.0}))
        return out

    monkeypatch.setattr(submit, "submit", work)
    deploy.run(folder)
    assert (len(asked), seen) == (0 if own else 1, [folder / "runs" / "1"])
    seen[0].mkdir()
    deploy.run(folder, resume=True)
    assert (len(asked), seen[1]) == (0 if own else 1, seen[0])
    shown = capsys.readouterr()
    divided = "· the nodes' own data ·" if own else f"· {SPEC.split.name} "
    assert (shown.out + shown.err).count(divided) == 2


def test_two_terminals_begin_no_run_at_once(site):
    held = pytest.raises(FedkinError, match="a run or a join is being begun in another")
    with FileLock(site / "submit.lock"), held:
        submit.submit(site, site / "runs" / "1", lambda record: None)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGHUP])
def test_a_terminal_that_ends_while_a_run_is_begun_leaves_its_note(number, site, monkeypatch):
    """Else it would go on, and nobody would know of it."""

    def ended(*_):
        raise KeyboardInterrupt

    def begun(self, config):
        signal.raise_signal(number)
        self.number = "12"

    monkeypatch.setattr(submit.Submitted, "submit", begun)
    before = signal.signal(number, ended)
    try:
        with pytest.raises(KeyboardInterrupt):
            submit.submit(site, site / "runs" / "1", lambda record: None)
    finally:
        signal.signal(number, before)
    assert json.loads((site / SUBMITTED).read_text()) == {"run": "1", "flower": "12"}


def test_the_client_app_refuses_what_is_too_large_for_its_node():
    with pytest.raises(Refused, match="message of 1001 bytes, more than the 1000 allowed"):
        unpack(pack([bytes(1001)]), 1000)


@pytest.mark.parametrize("own_data", [True, False])
def test_a_run_is_printed_as_any_other(own_data, tmp_path, monkeypatch, caplog):
    spec = small("ditto", run__clients=len(NAMES), run__rounds=1)
    fleet = tables(tmp_path) if own_data else Fleet(tmp_path, spec)
    fleet.out = fleet.folder / "runs" / "1"
    monkeypatch.setattr(submit, "submit", lambda folder, out, progress: fleet.run())
    monkeypatch.setattr(deploy, "ends_with_connection", lambda: own_data)
    done = CliRunner().invoke(deploy.app, ["run", str(fleet.folder), "--json"])
    assert ("when this SSH connection breaks, the run ends" in caplog.text) is own_data
    found = json.loads(done.stdout)
    assert found["folder"] == str(fleet.out)
    assert not list(Draft202012Validator(schemas()["run"]).iter_errors(found))
