"""What is asked of Flower's programs for a run or a join, and what is made of their answers."""

import json

import pytest

pytest.importorskip("flwr")

from fedkin.core.errors import FedkinError
from fedkin.experiment.training import Interrupted
from fedkin.flower.config import DEPLOYMENT, Deployment, ended_of, load
from fedkin.flower.operator import joining, submit
from fedkin.flower.operator.command_line import AWAY
from fedkin.flower.operator.site import add, init
from tests.engine.small import small
from tests.flower.operator.programs import HERE

SPEC = small("fedavg", run__clients=2, run__participation=1.0)
NAMES = ("north", "south")


@pytest.fixture
def site(tmp_path):
    folder = init(tmp_path / "site", SPEC, NAMES, "127.0.0.1:9092")
    add(folder, "late")
    return folder


def submitted(site):
    return submit.Submitted(site, load(Deployment, site, DEPLOYMENT))


def test_a_run_is_submitted_with_what_the_app_has_to_know(site, programs):
    flower = submitted(site)
    programs.answers = [(0, 'a word before {"run-id": 12}', "")]
    flower.submit({"out": 'a "b"', "join": ""})
    assert flower.number == "12"
    assert programs.asked == [
        [str(HERE / "flwr"), "run", str(site / "app"), "deployment", "--run-config",
         'out=\'a "b"\' join=""', "--format", "json"]
    ]  # fmt: skip
    assert programs.homes == [str(site / "flower")]
    for code, out in ((1, "{}"), (0, "")):
        programs.answers = [(code, out, "x" * 500)]
        with pytest.raises(FedkinError) as told:
            flower.submit({})
        assert str(told.value) == f"flwr run failed: {'x' * 400}"


def refused(why):
    """How Flower 1.41 says that it failed, with exit code 0."""
    return (0, json.dumps({"success": False, "error-message": why}, indent=2), "")


@pytest.mark.parametrize(
    "ask",
    [
        lambda site: joining.join(site, "late", None, None),
        lambda site: submit.submit(site, site / "runs" / "1", lambda record: None),
    ],
)
def test_a_superlink_that_does_not_answer_is_named(ask, site, programs):
    (site / "runs" / "1").mkdir(parents=True)
    programs.answers = [
        refused(
            "\nConnection to the SuperLink is unavailable. Please check your network connection "
            "and 'address' in the SuperLink connection configuration."
        )
    ]
    with pytest.raises(FedkinError) as told:
        ask(site)
    assert str(told.value) == (
        f"the SuperLink at 127.0.0.1:9092 does not answer: start it ({site / 'start-superlink'}), "
        "or look into its output"
    )
    assert not (site / "submitted.json").exists()


def test_what_flower_says_went_wrong_is_passed_on(site, programs):
    programs.answers = [refused("The app is larger than\nallowed.")]
    with pytest.raises(FedkinError, match=r"^flwr run failed: The app is larger than allowed\.$"):
        submitted(site).submit({})


def test_the_superlink_is_asked_of_a_run_that_is_quiet(site, programs, monkeypatch):
    now = [1000.0]
    monkeypatch.setattr(submit.time, "monotonic", lambda: now[0])
    flower = submitted(site)
    flower.number = "12"
    now[0] += 20
    assert not flower.over()
    assert not programs.asked
    now[0] += 0.5
    programs.answers = [(0, '{"runs": [{"status": "running"}, {"status": "finished"}]}', "")]
    assert not flower.over()
    assert programs.asked == [
        [str(HERE / "flwr"), "ls", "deployment", "--run-id", "12", "--format", "json"]
    ]
    now[0] += 20
    assert not flower.over()
    assert len(programs.asked) == 1
    for answer in ((1, "{}", ""), (0, '{"runs": []}', ""), (0, "{", ""), (0, "{}", "")):
        programs.answers = [answer]
        assert flower.status() == ""
    now[0] += 0.5
    programs.answers = [(0, '{"runs": [{"status": "finished:failed"}]}', "")]
    assert flower.over()
    with pytest.raises(FedkinError, match=r"without a word \(Flower run 12: finished:failed\); hi"):
        flower.check("hint")
    flower._status = ""
    with pytest.raises(FedkinError, match=r"Flower run 12: the SuperLink does not answer, or does"):
        flower.check("hint")
    ended_of(site, "12").write_text("{}")
    flower._status = ""
    assert flower.over()
    assert not programs.answers


def test_a_superlink_and_a_server_app_that_are_both_gone_are_not_waited_for(
    site, programs, monkeypatch
):
    now = [1000.0]
    monkeypatch.setattr(submit.time, "monotonic", lambda: now[0])
    flower = submitted(site)
    flower.number = "12"

    def looks(*answers):
        found = []
        for answer in answers:
            now[0] += submit.LOOK + 1
            programs.answers = [answer]
            found.append(flower.over())
        return found

    away, works = (1, "", AWAY), (0, '{"runs": [{"status": "running"}]}', "")
    assert looks(*[away] * 8, works, *[away] * 8) == [False] * 17  # it was being started again
    assert looks(away) == [True]
    with pytest.raises(FedkinError, match=r"Flower run 12: the SuperLink does not answer, or"):
        flower.check("hint")
    flower.alive()  # a round was committed
    assert looks(*[away] * 8) == [False] * 8
    assert looks(away) == [True]


def test_the_word_that_an_app_left_is_passed_on(site):
    flower = submitted(site)
    flower.number = "12"

    def left(error, interrupted):
        ended_of(site, "12").write_text(json.dumps({"error": error, "interrupted": interrupted}))

    left(None, False)
    flower.check("hint")
    left("why", False)
    for asked in (False, True):
        with pytest.raises(FedkinError, match=r"^why$"):
            flower.check("hint", asked)
    left("why", True)
    with pytest.raises(FedkinError, match=r"not from here .*: why$"):
        flower.check("hint")
    with pytest.raises(Interrupted, match=r"^why$"):
        flower.check("hint", asked=True)


def test_a_run_is_followed_and_begun_with_what_the_app_needs(site, told, monkeypatch):
    seen, alive = [], []
    ended_of(site, "11").write_text("of another run")

    monkeypatch.setattr(submit.Submitted, "alive", lambda self: alive.append(1))
    monkeypatch.setattr(submit, "follow", lambda out, over: iter([1, 2]) if over() else iter([]))
    warned = []
    monkeypatch.setattr(submit, "warn_of", warned.append)
    assert submit.submit(site, site / "runs" / "1", seen.append) == site / "runs" / "1"
    assert told == [{"deployment": str(site), "out": str(site / "runs" / "1")}]
    assert seen == [1, 2]
    assert alive == [1, 1]
    assert warned == [site]


def test_a_run_of_a_folder_that_is_no_deployment_is_not_prepared(tmp_path):
    with pytest.raises(FedkinError, match=r"deployment\.toml cannot be read"):
        submit.prepared(tmp_path, False)
    assert not (tmp_path / "runs").exists()
