"""What a node writes of what it was asked, where the disk is full."""

import re

import pytest

pytest.importorskip("flwr")

from fedkin.engine.store import StoreError
from fedkin.flower.envelope import Base, Place, Refused, Request, Step
from fedkin.flower.node.limits import ASKED, Asked
from fedkin.runs.spec import parse
from tests.engine.small import content, small
from tests.flower.rogue import full


def test_a_full_disk_is_told_and_leaves_no_half_line(tmp_path):
    """Files may have 16 bytes: the first line fits, of the second one a part would."""
    asked = Asked(tmp_path)
    asked._append(["a 1 b"])
    with pytest.raises(StoreError, match="cannot be written"):
        full(lambda: asked._append(["local 2 " + "c" * 64]))
    assert (tmp_path / ASKED).read_bytes() == b"a 1 b\n"
    asked._append(["local 2 d"])
    assert (tmp_path / ASKED).read_bytes() == b"a 1 b\nlocal 2 d\n"


SPEC = small("fedavg", run__rounds=3)
RUN = "0123456789abcdef"


def asking(op, round, *, joined=None, base=0, keep=0, client=0, **changed):
    place = Place(client=client, clients=4, classes=10, architecture="mlr", joined=joined)
    told = {"version": "", "experiment": "", "run": RUN, "name": "", "place": place, "keep": keep}
    steps = (Step(op=op, round=round),)
    return Request(**{**told, "base": Base(round=base), "steps": steps, **changed})


@pytest.mark.parametrize(
    ("op", "round", "told", "fine"),
    [
        ("introduce", 0, {}, True),
        ("local", 0, {}, False),
        ("local", 1, {}, True),
        ("local", 2, {"base": 2}, False),
        ("local", 3, {"base": 2}, True),
        ("local", 4, {}, False),
        ("evaluate", 3, {"base": 3}, True),
        ("evaluate", 2, {"base": 3}, True),
        ("evaluate", 4, {}, False),
        ("finish", 4, {"base": 3}, True),
        ("finish", 4, {"base": 4}, False),
        ("finish", 5, {"base": 3}, False),
        ("evaluate_all", 4, {"base": 4}, True),
        ("evaluate_all", 0, {}, True),
        ("evaluate_all", 5, {"base": 4}, False),
        ("score_reveal", 4, {}, True),
        ("score_reveal", 5, {}, False),
        ("reveal", 4, {}, False),
        ("local", 6, {"joined": 7}, False),
        ("local", 7, {"joined": 7}, True),
        ("local", 12, {"joined": 7, "base": 11}, True),
        ("local", 13, {"joined": 7, "base": 11}, False),
        ("evaluate", 6, {"joined": 7}, False),
        ("evaluate_all", 6, {"joined": 7}, True),
        ("evaluate_all", 13, {"joined": 7}, False),
    ],
)
def test_rounds_are_those_of_the_run_or_of_a_newcomers_join(op, round, told, fine, tmp_path):
    asked, request = Asked(tmp_path / RUN), asking(op, round, **told)
    if fine:
        asked.check(SPEC, request, b"")
        assert (tmp_path / RUN / ASKED).read_text().startswith(f"{op} {round} ")
        return
    with pytest.raises(Refused, match=f"^{op} {round} is no round of this run, which has 3$"):
        asked.check(SPEC, request, b"")
    assert not (tmp_path / RUN).exists()


def test_states_are_kept_up_to_its_own(tmp_path):
    asked = Asked(tmp_path / RUN)
    asked.check(SPEC, asking("local", 3, base=2, keep=2), b"")
    with pytest.raises(Refused, match="before round 3 are still needed: its own is of 2"):
        asked.check(SPEC, asking("local", 3, base=2, keep=3), b"other")


@pytest.mark.parametrize(
    ("op", "most"), [("local", 10), ("reveal", 1), ("score_keys", 1), ("score_reveal", 1)]
)
def test_a_step_is_asked_with_so_many_contents_also_after_a_restart(op, most, tmp_path):
    asked, times = Asked(tmp_path / RUN), "once" if most == 1 else f"{most} times"
    for number in range(most):
        asked.check(SPEC, asking(op, 1), bytes([number]))
        asked.check(SPEC, asking(op, 1), bytes([number]))  # a copy is no other content
    for again in (asked, Asked(tmp_path / RUN)):
        asked.check(SPEC, asking(op, 1), bytes([most - 1]))
        for request in (asking(op, 1), asking(op, 1, client=1)):
            with pytest.raises(Refused, match=f"^{op} 1 was asked {times} already, with dif"):
                again.check(SPEC, request, b"other")
    asked.check(SPEC, asking(op, 2), b"other")
    assert len((tmp_path / RUN / ASKED).read_text().splitlines()) == most + 1


@pytest.mark.parametrize(
    ("privacy", "most"),
    [
        ({"where": "client"}, 1),
        ({"where": "distributed", "secure_aggregation": True}, 1),
        ({"unit": "sample"}, 1),
        ({"where": "server"}, 10),
    ],
)
def test_a_nodes_noise_of_a_round_covers_one_message(privacy, most, tmp_path):
    """Its noise is a function of the round: the difference of two messages would have none."""
    noised = {"noise": 1.0, "clip": 1.0, "delta": 1e-5, **privacy}
    spec = parse({**content("fedavg", run__rounds=3), "privacy": noised})[0]
    asked = Asked(tmp_path / RUN)
    for number in range(most):
        asked.check(spec, asking("local", 1), bytes([number]))
        asked.check(spec, asking("local", 1), bytes([number]))  # asked again: the same answer
    with pytest.raises(Refused, match=r"^local 1 was asked .* already, with different messages"):
        asked.check(spec, asking("local", 1), b"other")
    asked.check(spec, asking("local", 2), b"other")
    asked.check(spec, asking("evaluate", 2), b"other")


def test_a_run_that_is_over_answers_what_it_was_asked(tmp_path):
    asked = Asked(tmp_path / RUN)
    asked.check(SPEC, asking("local", 1), b"one")
    assert not asked.done
    asked.finish()
    asked.finish()
    for again in (asked, Asked(tmp_path / RUN)):
        assert again.done
        again.check(SPEC, asking("local", 1), b"one")
        with pytest.raises(Refused, match="finished on this node: remove asked from its folder"):
            again.check(SPEC, asking("local", 1), b"two")
    assert (tmp_path / RUN / ASKED).read_text().splitlines()[1:] == ["done"]


def test_a_run_that_is_over_tells_its_last_scores_again(tmp_path):
    """With other keys; it reveals them for the survivors of before alone."""
    asked = Asked(tmp_path / RUN)
    asked.check(SPEC, asking("score_reveal", 4), b"0, 1, 3")
    asked.finish()
    for keys in (b"one", b"two"):
        asked.check(SPEC, asking("score_shares", 4), keys)
    asked.check(SPEC, asking("score_reveal", 4), b"0, 1, 3")
    with pytest.raises(Refused, match="score_reveal 4 was asked once already"):
        asked.check(SPEC, asking("score_reveal", 4), b"0, 1, 2")
    with pytest.raises(Refused, match="finished on this node"):
        asked.check(SPEC, asking("shares", 3), b"one")
    for number in range(8):
        asked.check(SPEC, asking("score_shares", 4), bytes([number]))
    with pytest.raises(Refused, match="score_shares 4 was asked 10 times already"):
        asked.check(SPEC, asking("score_shares", 4), b"more")


def test_a_step_is_known_by_the_state_that_it_begins_from(tmp_path):
    """A server that was killed asks one by one for what it had asked for together."""
    asked = Asked(tmp_path / RUN)
    steps = (Step(op="local", round=1), Step(op="evaluate", round=1))
    asked.check(SPEC, asking("local", 1, steps=steps), b"one")
    asked.finish()
    asked.check(SPEC, asking("evaluate", 1, base=1), b"one")
    with pytest.raises(Refused, match="finished"):
        asked.check(SPEC, asking("evaluate", 1), b"one")


def test_a_node_holds_two_hundred_runs(tmp_path):
    for number in range(199):
        (tmp_path / f"{number:016x}").mkdir()
    (tmp_path / "flower").mkdir()
    Asked(tmp_path / RUN).check(SPEC, asking("local", 1), b"")
    other = "f" * 20
    with pytest.raises(Refused, match="this node holds 200 runs"):
        Asked(tmp_path / other).check(SPEC, asking("local", 1, run=other), b"")
    Asked(tmp_path / RUN).check(SPEC, asking("local", 1), b"another")
    with pytest.raises(Refused, match="names its run"):
        Asked(tmp_path / RUN).check(SPEC, asking("local", 1, run=""), b"")


def test_what_was_asked_is_on_the_disk_before_it_is_done(tmp_path, monkeypatch):
    """A line is a step and half a digest; a host that was started again knows those of before."""
    synced = []
    monkeypatch.setattr("fedkin.flower.node.limits.os.fsync", synced.append)
    Asked(tmp_path / "deep" / RUN).check(SPEC, asking("local", 1), b"one")
    assert len(synced) == 1
    (line,) = (tmp_path / "deep" / RUN / ASKED).read_text().splitlines()
    assert re.fullmatch("local 1 [0-9a-f]{32}", line)


def test_a_newcomer_with_other_data_is_asked_anew(tmp_path):
    """But for what is asked once: two sums of one round tell an update, whatever the data are."""
    one, two = "11" * 32, "22" * 32
    last = [("local", bytes([number])) for number in range(10)] + [("reveal", b"a")]
    for data in (one, two, one):
        for op, sent in last if data == one else [*last[:10], ("local", b"\x09")]:
            Asked(tmp_path / RUN, data).check(SPEC, asking(op, 1), sent)
        for asked in (Asked(tmp_path / RUN, data), Asked(tmp_path / RUN)):
            with pytest.raises(Refused, match="local 1 was asked 10 times already"):
                asked.check(SPEC, asking("local", 1), b"more")
            with pytest.raises(Refused, match="reveal 1 was asked once already"):
                asked.check(SPEC, asking("reveal", 1), b"more")
    lines = (tmp_path / RUN / ASKED).read_text().splitlines()
    assert [line for line in lines if "data" in line] == [
        f"data {one}",
        f"data {two}",
        f"data {one}",
    ]
    assert len(lines) == 3 + 30 + 1


def test_what_was_asked_before_data_were_written_down_counts(tmp_path):
    for number in range(10):
        Asked(tmp_path / RUN).check(SPEC, asking("local", 1), bytes([number]))
    asked = Asked(tmp_path / RUN, "11" * 32)
    asked.check(SPEC, asking("local", 1), b"\x00")
    with pytest.raises(Refused, match="local 1 was asked 10 times already"):
        asked.check(SPEC, asking("local", 1), b"more")
    Asked(tmp_path / RUN, "22" * 32).check(SPEC, asking("local", 2), b"new")
    with pytest.raises(Refused, match="local 1 was asked 10 times already"):
        Asked(tmp_path / RUN, "22" * 32).check(SPEC, asking("local", 1), b"more")
