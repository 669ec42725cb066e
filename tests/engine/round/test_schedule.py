"""Who does what in which round is the schedule's decision, and the coordinator obeys it."""

import pytest

from fedkin.core.errors import FedkinError
from fedkin.engine.coordinator import Coordinator
from fedkin.engine.round.federation import participants, participants_of
from fedkin.engine.round.panel import panel
from fedkin.engine.round.schedule import replies_for, synchronous
from fedkin.engine.transports.base import InProcess
from fedkin.experiment.local_backend import hosts
from fedkin.experiment.resume import resume
from fedkin.experiment.run import run
from fedkin.experiment.training import Engine
from fedkin.runs.database import read_only
from fedkin.setup.build import assemble
from fedkin.setup.hosts import host_of
from tests.engine.coordinated import Meddling
from tests.engine.small import outcome, small

# six clients, three rounds, four participants a round
TURNS = [[0, 1, 4, 5], [2, 3, 4, 5], [0, 1, 2, 3]]  # of rounds 1 to 3: the next four, from client 4


def round_robin(method, federation):
    """Clients take turns."""
    clients, m = sorted(federation.infos), participants_of(federation)

    def draw(number):
        return sorted(clients[(number * m + k) % len(clients)] for k in range(m))

    return synchronous(method, federation, draw)


def in_turns(spec, method):
    return assemble(spec, method)._replace(scheduling=round_robin)


def made(schedule, method="fedavg", change=None, **settings):
    parts = assemble(small(method, **settings))
    transport = InProcess(host_of(parts, sorted(parts.infos), None))
    transport = transport if change is None else Meddling(transport, change)
    return Coordinator(parts.method, parts.federation, transport, scheduling=schedule)


def decided(method="fedavg", **settings):
    parts = assemble(small(method, **settings))
    return parts, synchronous(parts.method, parts.federation)


def evaluated_in(record):
    return sorted(record.scores)


def test_participants_are_those_of_the_draw_from_the_seed():
    parts, schedule = decided()
    for number in range(5):
        assert schedule.participants(number) == participants(parts.method, parts.federation, number)


@pytest.mark.parametrize(
    ("method", "whose"), [("fedavg", []), ("comet", "drawn"), ("feddbe", list(range(6)))]
)
def test_the_method_says_who_is_introduced(method, whose):
    _, schedule = decided(method)
    assert schedule.introduced() == (schedule.participants(0) if whose == "drawn" else whose)


def test_whom_a_round_evaluates():
    everyone = list(range(6))
    _, schedule = decided()
    assert [schedule.evaluated(n, n == 3) for n in (1, 2, 3)] == [everyone] * 3
    _, schedule = decided(run__evaluate="panel:2")
    few = panel("panel:2", everyone, 3)
    assert [schedule.evaluated(n, n == 3) for n in (1, 2, 3)] == [few, few, everyone]
    _, schedule = decided(run__evaluate="participants")
    assert [schedule.evaluated(n, n == 3) for n in (1, 2, 3)] == [
        schedule.participants(n) for n in (1, 2, 3)
    ]


def test_rounds_between_two_evaluations_are_evaluated_by_nobody_but_the_last_is():
    _, schedule = decided(run__evaluate_every=2)
    asked = [len(schedule.evaluated(n, n == 5)) for n in (1, 2, 3, 4, 5)]
    assert asked == [0, 6, 0, 6, 6]


def test_so_many_replies_are_needed_as_run_asks_for():
    _, schedule = decided(run__min_replies=3)
    assert [schedule.replies_needed(n) for n in (0, 1, 2)] == [3, 3, 3]


def test_under_masks_every_stage_needs_as_many_replies_as_the_threshold_says():
    parts, schedule = decided(run__min_replies=2)
    hidden = parts.federation._replace(threshold=4, scoring=lambda number: 3 + number)

    def needed(federation, number=1):
        ops = ("local", "shares", "reveal", "evaluate", "count_agree", "score_keys", "finish")
        return [replies_for(op, number, schedule, federation) for op in ops]

    assert needed(parts.federation) == [2, 0, 0, 0, 0, 0, 0]
    assert needed(hidden) == [4, 4, 4, 4, 4, 4, 0]
    assert needed(hidden._replace(threshold=1), 2) == [2, 2, 2, 5, 5, 5, 0]


def test_the_coordinator_asks_whom_the_schedule_names():
    one = made(round_robin, run__evaluate="participants")
    one.setup()
    records = [one.round(n, n == 3) for n in (1, 2, 3)]
    assert [record.participants for record in records] == TURNS
    assert [evaluated_in(record) for record in records] == TURNS
    for record, who in zip(records, TURNS, strict=True):
        assert sorted({sent.client for sent in record.sent}) == who
    assert evaluated_in(one.finish(4)) == TURNS[-1]


def test_a_schedule_decides_who_is_introduced():
    def few(method, federation):
        return synchronous(method, federation)._replace(introduced=lambda: [1, 3])

    record = made(few, "comet").setup()
    assert record.participants == [1, 3]
    assert {sent.client for sent in record.sent} == {1, 3}


def test_a_schedule_decides_who_is_evaluated():
    def odd(method, federation):
        return synchronous(method, federation)._replace(
            evaluated=lambda number, last: [5] if last else [number] if number % 2 else []
        )

    one = made(odd)
    one.setup()
    assert [evaluated_in(one.round(n, n == 4)) for n in (1, 2, 3, 4)] == [[1], [], [3], [5]]
    assert evaluated_in(one.finish(5)) == [5]


def test_a_schedule_decides_which_rounds_count():
    """Clients 1 and 4 send nothing: four replies are enough for round 1 and too few for round 2."""

    def strict(method, federation):
        return synchronous(method, federation)._replace(
            replies_needed=lambda number: 4 if number == 1 else 5
        )

    one = made(strict, change=lambda answer: answer._replace(message=None), run__participation=1.0)
    one.setup()
    assert sorted(one.round(1).missing) == [1, 4]
    with pytest.raises(FedkinError, match="round 2: 4 usable replies, at least 5 needed"):
        one.round(2)


@pytest.mark.parametrize("method", ["ditto", "comet"])
def test_a_whole_run_follows_its_schedule_and_so_does_a_resumed_one(method, tmp_path):
    engine = Engine(in_turns, hosts)
    folder = run(small(method), tmp_path / "whole", engine=engine)
    with read_only(folder) as database:
        rows = database.rows("SELECT participants FROM rounds WHERE phase = 'round' ORDER BY round")
    assert [row[0] for row in rows] == [str(who) for who in TURNS]

    class Stop(Exception):
        pass

    def stopping(record):
        if record.round == 2:
            raise Stop

    with pytest.raises(Stop):
        run(small(method), tmp_path / "cut", engine=engine, progress=stopping)
    resume(tmp_path / "cut", engine=engine)
    assert outcome(tmp_path / "cut") == outcome(folder)


def test_privacy_counts_on_its_own_draw(tmp_path):
    noisy = {"privacy__clip": 1.0, "privacy__noise": 1.0, "privacy__delta": 1e-5}
    with pytest.raises(FedkinError, match="leave the other schedule out, or \\[privacy\\]"):
        run(small(**noisy), tmp_path / "run", engine=Engine(in_turns, hosts))
