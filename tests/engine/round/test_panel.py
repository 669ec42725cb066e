"""Whom an evaluation asks, and what is said of means over some of the clients."""

import math
import statistics

import numpy as np
import pytest

from fedkin.core.errors import FedkinError
from fedkin.engine.round.panel import panel
from fedkin.experiment.progress import Tally, line
from fedkin.experiment.run import experiment, run
from fedkin.report.comparison.compare import comparison
from fedkin.report.formatting import interval
from fedkin.report.page.report import write_report
from fedkin.report.summary import summary
from fedkin.runs.database import read_only
from tests.engine.small import small

FINISH = 4
SETTINGS = {"run__clients": 7, "run__participation": 0.4, "run__seed": 5}


def asked(folder):
    """round → the clients of its scores, and its participants."""
    with read_only(folder) as database:
        clients, participants = {}, {}
        for at, client in database.rows("SELECT DISTINCT round, client FROM metrics"):
            clients.setdefault(at, set()).add(client)
        for at, text in database.rows("SELECT round, participants FROM rounds"):
            participants[at] = set(map(int, text.strip("[]").split(", "))) if len(text) > 2 else {}
    return clients, participants


@pytest.fixture(scope="module")
def of_a_panel(tmp_path_factory):
    lines = []
    spec = small("ditto", run__evaluate="panel:3", **SETTINGS)
    tally = Tally(spec, "")

    def see(record):
        tally.add(record)
        lines.append((record, line(tally)))

    return run(spec, tmp_path_factory.mktemp("panel") / "run", progress=see), lines


def test_one_panel_is_asked_in_all_rounds_and_everybody_at_the_end(of_a_panel):
    found, _ = asked(of_a_panel[0])
    assert found[1] == found[2] == set(panel("panel:3", range(7), 5))
    assert len(found[1]) == 3
    assert found[3] == found[FINISH] == set(range(7))


def test_the_panel_is_drawn_from_the_seed():
    drawn = {tuple(panel("panel:3", range(40), seed)) for seed in range(20)}
    assert len(drawn) > 15
    assert panel("panel:3", reversed(range(40)), 4) == panel("panel:3", range(40), 4)
    often = np.bincount(np.concatenate([panel("panel:2", range(5), s) for s in range(2000)]))
    assert abs(often / 2000 - 0.4).max() < 4 * math.sqrt(0.4 * 0.6 / 2000)
    assert panel("all", [4, 2, 9], 0) == [2, 4, 9]


def test_the_participants_are_asked_to_the_end(tmp_path):
    folder = run(small("ditto", run__evaluate="participants", **SETTINGS), tmp_path / "run")
    found, participants = asked(folder)
    for at in (1, 2, 3):
        assert found[at] == participants[at]
        assert len(found[at]) == 3
    assert found[1] != found[2] or found[2] != found[3]
    assert found[FINISH] == participants[3]
    told = summary(folder)
    assert told["evaluated"] == {"who": "participants", "of": 7}
    for picks in told["headline"].values():
        assert all(pick["interval"] is not None for pick in picks.values())
    assert "participants of its round" in write_report(folder).read_text("utf-8")


def test_the_panel_is_told_of(of_a_panel):
    folder, _ = of_a_panel
    said = "a panel of 3 of 7 clients"
    assert said in write_report(folder).read_text("utf-8")
    best = summary(folder)["headline"]["personal"]["best_by_validation"]
    ends = interval("accuracy", best["interval"])
    (warning,) = [one for one in comparison([folder]).warnings if said in one]
    assert f"personal: {ends}" in warning


def test_progress_has_an_interval_while_a_panel_is_asked(of_a_panel):
    """1.96 standard errors, by the normal distribution."""
    for record, shown in of_a_panel[1]:
        if record.phase == "round":
            values = [v["personal"]["test"][1] for v in record.scores.values()]
            half = 1.959964 * statistics.stdev(values) / math.sqrt(len(values))
            assert (f"± {100 * half:.2f} personal" in shown) == (record.round < 3)


def test_everybody_is_asked_where_nothing_is_said(tmp_path):
    folder = run(small("fedavg", run__rounds=2), tmp_path / "run")
    assert all(len(clients) == 6 for clients in asked(folder)[0].values())
    told = summary(folder)
    assert told["evaluated"] is None
    assert "interval" not in told["headline"]["global"]["best_by_validation"]


@pytest.mark.parametrize(
    ("value", "nearest"),
    [
        ("panel:0", "panel:1"),
        ("panel", "panel:1"),
        ("panel:-3", "panel:1"),
        ("panel:2.5", "panel:1"),
        ("everyone", "all"),
        ("participant", "participants"),
        ("", "all"),
    ],
)
def test_an_unknown_choice_is_refused_with_the_nearest(value, nearest):
    with pytest.raises(FedkinError, match=rf"run\.evaluate: .*the nearest: {nearest}\), not "):
        experiment(run__evaluate=value)


def test_a_panel_of_more_clients_than_there_are(tmp_path):
    with pytest.raises(FedkinError, match=r"'panel:9', and there are 7 clients: set it to panel:7"):
        run(small("fedavg", run__evaluate="panel:9", **SETTINGS), tmp_path / "run")
