"""What a node refuses to be asked, by what it wrote of what it was asked before."""

import re
import shutil

import pytest

pytest.importorskip("flwr")

from fedkin.engine.store import StoreError
from fedkin.flower.envelope import Base, Place, Refused, RemoteStep, Request
from fedkin.flower.node.protected_runs import BEGUN
from fedkin.flower.node.request_log import ASKED, RequestLog
from fedkin.runs.spec import parse
from tests.engine.small import content, small

SPEC = small("fedavg", run__rounds=3)
NOISE = {"noise": 1.0, "clip": 1.0, "delta": 1e-5}


def private(**privacy):
    return parse({**content("fedavg", run__rounds=3), "privacy": privacy})[0]


RUN = "0123456789abcdef"


def asking(op, round, *, joined=None, base=0, keep=0, client=0, **changed):
    place = Place(client=client, clients=4, classes=10, architecture="mlr", joined=joined)
    told = {"version": "", "experiment": "", "run": RUN, "name": "", "place": place, "keep": keep}
    steps = (RemoteStep(op=op, round=round),)
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
    asked, request = RequestLog(tmp_path / RUN), asking(op, round, **told)
    if fine:
        asked.check(SPEC, request, b"")
        assert (tmp_path / RUN / ASKED).read_text().startswith(f"{op} {round} ")
        return
    with pytest.raises(Refused, match=f"^{op} {round} is no round of this run, which has 3$"):
        asked.check(SPEC, request, b"")
    assert not (tmp_path / RUN).exists()


@pytest.mark.parametrize(
    ("round", "base", "before"),
    [(1, 0, ()), (0, 2, ()), (0, 0, (RemoteStep(op="local", round=1),))],
    ids=["of a round", "of a later state", "after work"],
)
def test_an_introduction_is_of_the_first_state_alone(round, base, before, tmp_path):
    """It has no noise: of a state that was trained it would tell what rounds hide."""
    asked = RequestLog(tmp_path / RUN)
    steps = (*before, RemoteStep(op="introduce", round=round))
    request = asking("introduce", round, base=base, steps=steps)
    with pytest.raises(Refused, match=f"^introduce {round} is no introduction, which comes before"):
        asked.check(SPEC, request, b"")
    assert not (tmp_path / RUN).exists()


def test_no_round_with_noise_follows_a_finish_which_has_none(tmp_path):
    spec = private(**NOISE)
    asked = RequestLog(tmp_path / RUN)
    asked.check(spec, asking("local", 1), b"")
    together = (RemoteStep(op="finish", round=2), RemoteStep(op="local", round=3))
    refused = "^local 3 is asked after the finish of round 2, which has no noise: begin another run"
    with pytest.raises(Refused, match=refused):
        asked.check(spec, asking("finish", 2, base=1, steps=together), b"")
    asked.check(spec, asking("finish", 2, base=1), b"")
    for again in (asked, RequestLog(tmp_path / RUN)):
        with pytest.raises(Refused, match=refused):
            again.check(spec, asking("local", 3, base=2), b"")
        again.check(spec, asking("evaluate_all", 2, base=2), b"")
    plain = RequestLog(tmp_path / "plain" / RUN)
    plain.check(SPEC, asking("finish", 2, base=1), b"")
    plain.check(SPEC, asking("local", 3, base=2), b"")


def test_states_are_kept_up_to_its_own(tmp_path):
    asked = RequestLog(tmp_path / RUN)
    asked.check(SPEC, asking("local", 3, base=2, keep=2), b"")
    with pytest.raises(Refused, match="before round 3 are still needed: its own is of 2"):
        asked.check(SPEC, asking("local", 3, base=2, keep=3), b"other")


@pytest.mark.parametrize(
    ("op", "most"), [("local", 10), ("reveal", 1), ("score_keys", 1), ("score_reveal", 1)]
)
def test_a_step_is_asked_with_so_many_contents_also_after_a_restart(op, most, tmp_path):
    asked, times = RequestLog(tmp_path / RUN), "once" if most == 1 else f"{most} times"
    for number in range(most):
        asked.check(SPEC, asking(op, 1), bytes([number]))
        asked.check(SPEC, asking(op, 1), bytes([number]))  # a copy is no other content
    for again in (asked, RequestLog(tmp_path / RUN)):
        asked.check(SPEC, asking(op, 1), bytes([most - 1]))
        for request in (asking(op, 1), asking(op, 1, client=1)):
            with pytest.raises(Refused, match=f"^{op} 1 was asked {times} already, with dif"):
                again.check(SPEC, request, b"other")
    asked.check(SPEC, asking(op, 2), b"other")
    assert len((tmp_path / RUN / ASKED).read_text().splitlines()) == most + 1


@pytest.mark.parametrize("first", ["", "count_", "score_"])
@pytest.mark.parametrize("privacy", [{}, {"where": "client"}])
def test_a_node_that_signs_its_survivors_reveals_for_those(first, privacy, tmp_path):
    """Of a round that its server does again the signatures are others; who survived is not."""
    spec = private(**NOISE, **privacy) if privacy else SPEC
    asked = RequestLog(tmp_path / RUN, signs=True)
    asked.check(spec, asking(f"{first}agree", 1), b"0, 1, 3")
    for number in range(10):
        asked.check(spec, asking(f"{first}agree", 1), b"0, 1, 3")
        asked.check(spec, asking(f"{first}reveal", 1), b"signatures %d" % number)
    for again in (asked, RequestLog(tmp_path / RUN, signs=True)):
        with pytest.raises(Refused, match=f"^{first}agree 1 was asked once already, with differ"):
            again.check(spec, asking(f"{first}agree", 1), b"0, 1, 2")
        with pytest.raises(Refused, match=f"^{first}reveal 1 was asked 10 times already, with d"):
            again.check(spec, asking(f"{first}reveal", 1), b"more")


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
    """Epsilon counts a round once."""
    spec = private(**NOISE, **privacy)
    asked = RequestLog(tmp_path / RUN)
    for number in range(most):
        asked.check(spec, asking("local", 1), bytes([number]))
        asked.check(spec, asking("local", 1), bytes([number]))  # asked again: the same answer
    with pytest.raises(Refused, match=r"^local 1 was asked .* already, with different messages"):
        asked.check(spec, asking("local", 1), b"other")
    asked.check(spec, asking("local", 2), b"other")
    asked.check(spec, asking("evaluate", 2), b"other")


def test_a_run_that_is_over_answers_what_it_was_asked(tmp_path):
    asked = RequestLog(tmp_path / RUN)
    asked.check(SPEC, asking("local", 1), b"one")
    assert not asked.done
    asked.finish()
    asked.finish()
    for again in (asked, RequestLog(tmp_path / RUN)):
        assert again.done
        again.check(SPEC, asking("local", 1), b"one")
        with pytest.raises(Refused, match="finished on this node: remove asked from its folder"):
            again.check(SPEC, asking("local", 1), b"two")
    assert (tmp_path / RUN / ASKED).read_text().splitlines()[1:] == ["done"]


def test_what_was_asked_and_cannot_be_read_is_named(tmp_path):
    """Never taken for a run of which nothing was asked."""
    (tmp_path / RUN / ASKED).mkdir(parents=True)
    with pytest.raises(StoreError, match=f"{RUN}/{ASKED} cannot be read: Is a directory$"):
        RequestLog(tmp_path / RUN)


def test_a_run_that_is_over_tells_its_last_scores_again(tmp_path):
    """With other keys; it reveals them for the survivors of before alone."""
    asked = RequestLog(tmp_path / RUN)
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
    asked = RequestLog(tmp_path / RUN)
    steps = (RemoteStep(op="local", round=1), RemoteStep(op="evaluate", round=1))
    asked.check(SPEC, asking("local", 1, steps=steps), b"one")
    asked.finish()
    asked.check(SPEC, asking("evaluate", 1, base=1), b"one")
    with pytest.raises(Refused, match="finished"):
        asked.check(SPEC, asking("evaluate", 1), b"one")


def test_a_node_holds_two_hundred_runs(tmp_path):
    for number in range(199):
        (tmp_path / f"{number:016x}").mkdir()
    (tmp_path / "flower").mkdir()
    RequestLog(tmp_path / RUN).check(SPEC, asking("local", 1), b"")
    other = "f" * 20
    with pytest.raises(Refused, match="this node holds 200 runs"):
        RequestLog(tmp_path / other).check(SPEC, asking("local", 1, run=other), b"")
    RequestLog(tmp_path / RUN).check(SPEC, asking("local", 1), b"another")
    with pytest.raises(Refused, match="names its run"):
        RequestLog(tmp_path / RUN).check(SPEC, asking("local", 1, run=""), b"")


def test_what_was_asked_is_on_the_disk_before_it_is_done(tmp_path, monkeypatch):
    """A line is a step and half a digest; a host that was started again knows those of before."""
    synced = []
    monkeypatch.setattr("fedkin.flower.node.lines.os.fsync", synced.append)
    RequestLog(tmp_path / "deep" / RUN).check(SPEC, asking("local", 1), b"one")
    assert len(synced) == 1
    (line,) = (tmp_path / "deep" / RUN / ASKED).read_text().splitlines()
    assert re.fullmatch("local 1 [0-9a-f]{32}", line)


def test_a_newcomer_with_other_data_is_asked_anew(tmp_path):
    """But for what is asked once: two sums of one round tell an update, whatever the data are."""
    one, two = "11" * 32, "22" * 32
    last = [("local", bytes([number])) for number in range(10)] + [("reveal", b"a")]
    for data in (one, two, one):
        for op, sent in last if data == one else [*last[:10], ("local", b"\x09")]:
            RequestLog(tmp_path / RUN, data).check(SPEC, asking(op, 1), sent)
        for asked in (RequestLog(tmp_path / RUN, data), RequestLog(tmp_path / RUN)):
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
        RequestLog(tmp_path / RUN).check(SPEC, asking("local", 1), bytes([number]))
    asked = RequestLog(tmp_path / RUN, "11" * 32)
    asked.check(SPEC, asking("local", 1), b"\x00")
    with pytest.raises(Refused, match="local 1 was asked 10 times already"):
        asked.check(SPEC, asking("local", 1), b"more")
    RequestLog(tmp_path / RUN, "22" * 32).check(SPEC, asking("local", 2), b"new")
    with pytest.raises(Refused, match="local 1 was asked 10 times already"):
        RequestLog(tmp_path / RUN, "22" * 32).check(SPEC, asking("local", 1), b"more")


def test_other_data_give_a_noised_round_no_second_message(tmp_path):
    """Nor does putting the old data back, as the node's reason says."""
    spec, one, two = private(**NOISE, where="client"), "11" * 32, "22" * 32
    RequestLog(tmp_path / RUN, one).check(spec, asking("local", 1), b"one")
    RequestLog(tmp_path / RUN, two).check(spec, asking("evaluate", 1), b"one")
    for data in (two, one):
        asked = RequestLog(tmp_path / RUN, data)
        asked.check(spec, asking("local", 1), b"one")
        with pytest.raises(Refused, match="local 1 was asked once already"):
            asked.check(spec, asking("local", 1), b"two")


HIDDEN = [
    private(**NOISE, where="client"),
    private(secure_aggregation=True),
    private(**NOISE, where="server"),
]


@pytest.mark.parametrize("spec", [*HIDDEN, SPEC], ids=["noise", "masks", "server", "plain"])
@pytest.mark.parametrize("whole", [True, False])
def test_a_protected_run_ends_where_what_it_was_asked_is_gone(spec, whole, tmp_path):
    """Who removes it must not make two answers of one round."""
    path = tmp_path / RUN
    RequestLog(path).check(spec, asking("local", 1), b"one")
    RequestLog(path).check(spec, asking("local", 2), b"one")
    shutil.rmtree(path) if whole else (path / ASKED).unlink()
    if spec is SPEC:
        RequestLog(path).check(spec, asking("local", 1), b"two")
        assert not (tmp_path / BEGUN).exists()
        return
    for sent in (b"one", b"two"):
        with pytest.raises(Refused, match="asked is gone, by which no round is told twice: begin"):
            RequestLog(path).check(spec, asking("local", 1), sent)
    other = "f" * 16
    RequestLog(tmp_path / other).check(spec, asking("local", 1, run=other), b"two")
    assert (tmp_path / BEGUN).read_text().split() == [RUN, other]


def test_a_newcomer_to_a_run_with_noise_at_the_server_loses_nothing_with_what_it_was_asked(
    tmp_path,
):
    """Its data are in no model of the run: nothing is counted for it."""
    path = tmp_path / RUN
    for sent in (b"one", b"two"):
        RequestLog(path).check(HIDDEN[-1], asking("local", 7, joined=7), sent)
        shutil.rmtree(path)
    assert not (tmp_path / BEGUN).exists()


@pytest.mark.parametrize("spec", HIDDEN)
def test_a_protected_run_that_is_over_is_not_opened_again(spec, tmp_path):
    asked = RequestLog(tmp_path / RUN)
    asked.check(spec, asking("local", 1), b"one")
    asked.finish()
    with pytest.raises(Refused, match="finished on this node: begin another run"):
        asked.check(spec, asking("local", 2), b"one")


@pytest.mark.parametrize("where", ["server", "client"])
def test_a_run_with_noise_does_not_go_back_behind_a_round_that_was_over(where, tmp_path):
    """Its server was put back: what it releases again is in no epsilon."""
    spec = private(**NOISE, where=where)
    for op, round, base in (("local", 1, 0), ("evaluate", 1, 1), ("local", 2, 1)):
        RequestLog(tmp_path / RUN).check(spec, asking(op, round, base=base), b"sent")
    before = (tmp_path / RUN / ASKED).read_text()
    for op, base in (("local", 0), ("evaluate", 1)):
        with pytest.raises(Refused, match=f"^{op} 1 is asked anew, and .* asked of round 2: the"):
            RequestLog(tmp_path / RUN).check(spec, asking(op, 1, base=base), b"another")
    assert (tmp_path / RUN / ASKED).read_text() == before
    # what was asked is answered again, and so is a round that the server was cut off in
    RequestLog(tmp_path / RUN).check(spec, asking("local", 1), b"sent")
    RequestLog(tmp_path / RUN).check(spec, asking("evaluate", 2, base=2), b"cut off")
    RequestLog(tmp_path / RUN).check(spec, asking("evaluate", 2, base=2), b"once more")
    for _ in range(2):  # without noise a server goes on from its last commit, some rounds before
        RequestLog(tmp_path / RUN).check(SPEC, asking("local", 1), b"another")


def test_the_last_round_is_asked_again_after_the_evaluation_that_travelled_with_it(tmp_path):
    spec = private(**NOISE, where="server")
    for op, round, base in (("local", 3, 2), ("evaluate", 3, 3), ("evaluate_all", 4, 3)):
        RequestLog(tmp_path / RUN).check(spec, asking(op, round, base=base), b"cut off")
    RequestLog(tmp_path / RUN).check(spec, asking("local", 3, base=2), b"once more")


def test_models_that_a_node_was_told_once_more_are_counted(tmp_path):
    """Each by the number of its messages, whether work or an evaluation brought them. The first
    model is nobody's.
    """
    asked = RequestLog(tmp_path / RUN)
    for op, round, messages in (
        ("introduce", 0, b"xyz"),
        ("local", 1, b"xyz"),
        ("evaluate", 0, b"xyz"),
        ("evaluate", 1, b"ab"),
        ("local", 2, b"ab"),
        ("local", 3, b"abc"),
        ("evaluate", 3, b"a"),
        ("finish", 4, b"ab"),
    ):
        for message in messages:
            asked.check(SPEC, asking(op, round), bytes([message]))
            asked.check(SPEC, asking(op, round), bytes([message]))
    assert asked.again() == RequestLog(tmp_path / RUN).again() == 1 + 2 + 1


def test_a_model_that_came_with_other_work_is_another_one_as_well(tmp_path):
    """An honest server sends one model of a round: evaluated, and worked with in the next one, it
    is the same message. A node that was away at the second evaluation gets the other model later.
    """
    for second, more in ((b"same", 0), (b"other", 1)):
        asked = RequestLog(tmp_path / second.decode() / RUN)
        asked.check(SPEC, asking("evaluate", 1, base=1), b"same")
        asked.check(SPEC, asking("local", 2, base=1), second)
        asked.check(SPEC, asking("evaluate", 2, base=2), b"two")
        asked.check(SPEC, asking("local", 3, base=2), b"two")
        assert asked.again() == more
        asked.check(SPEC, asking("evaluate", 3, base=3), b"last")
        asked.check(SPEC, asking("finish", 4, base=3), b"last" if second == b"same" else b"anew")
        asked.check(SPEC, asking("evaluate_all", 4, base=4), b"last")  # of another state
        assert asked.again() == 2 * more
    asked = RequestLog(tmp_path / "none" / RUN)  # of a method without a finish
    asked.check(SPEC, asking("evaluate", 3, base=3), b"last")
    asked.check(SPEC, asking("evaluate_all", 4, base=3), b"last")
    assert asked.again() == 0
    asked.check(SPEC, asking("evaluate_all", 4, base=3), b"other")
    asked.check(SPEC, asking("evaluate", 3, base=3), b"third")
    assert asked.again() == 2


def test_half_a_line_is_of_what_was_never_done(tmp_path):
    """As after a loss of power; what was written before and after it counts."""
    spec = private(**NOISE, where="client")
    RequestLog(tmp_path / RUN).check(spec, asking("local", 1), b"one")
    whole = (tmp_path / RUN / ASKED).read_bytes()
    for half in (b"local", b"local 2", b"local 2 0f3c9", b"local x y", b"\0\0\0", b"\xff 1 2"):
        (tmp_path / RUN / ASKED).write_bytes(whole + half)
        asked = RequestLog(tmp_path / RUN)
        asked.check(spec, asking("local", 2, base=1), b"two")
        for again in (asked, RequestLog(tmp_path / RUN)):
            assert again.again() == 0
            for round in (1, 2):
                with pytest.raises(Refused, match=f"local {round} .*(asked once|asked of round 2)"):
                    again.check(spec, asking("local", round, base=round - 1), b"three")
