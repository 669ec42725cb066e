"""[privacy] in whole runs: what is accounted, what is kept, what a resumed round repeats."""

import json
import stat
from functools import partial

import pytest

from fedkin.core.errors import FedkinError
from fedkin.core.rng import seeded
from fedkin.engine.round.federation import participants
from fedkin.engine.transports import processes
from fedkin.experiment.heading import head
from fedkin.experiment.progress import Tally, line
from fedkin.experiment.resume import resume
from fedkin.experiment.run import run
from fedkin.report.summary import summary
from fedkin.runs.database import read_only
from fedkin.runs.spec import parse
from fedkin.setup.accountant import Mechanism, affordable_rounds, epsilon
from fedkin.setup.build import assemble
from fedkin.setup.method_transforms import with_secret
from tests.engine.small import FORKED, content, outcome
from tests.experiment.privacy_examples import library

PRIVACY = {"noise": 1.0, "clip": 0.5, "delta": 1e-5}


def spec(method="fedavg", where="server", rounds=3, **privacy):
    given = content(method, run__participation=1.0, run__rounds=rounds)
    return parse({**given, "privacy": {**PRIVACY, "where": where, **privacy}})[0]


def test_a_budget_ends_a_run_at_its_last_affordable_round(tmp_path):
    mechanism = Mechanism(1.0, 1.0, 1e-5)
    budget = (epsilon(mechanism, 2) + epsilon(mechanism, 3)) / 2
    assert affordable_rounds(partial(epsilon, mechanism), budget, 9) == 2
    found = summary(run(spec(rounds=9, budget=budget), tmp_path / "run"))
    assert (found["rounds"], found["finished"]) == (2, True)
    assert found["privacy"]["epsilon"] == epsilon(mechanism, 2) <= budget
    assert found["privacy"]["rounds"] == 2


class Stop(Exception):
    pass


@pytest.mark.certifies("client_noise", "prediction_noise", "votes", "law")
@pytest.mark.parametrize(
    ("method", "where", "more"),
    [
        ("scaffold", "server", {}),
        ("fedavg", "server", {"clip": {"quantile": 0.5}}),
        ("ditto", "client", {}),
        ("comet", "client", {}),
        ("ds_fl", "server", {}),
    ],
)
def test_a_resumed_round_repeats_its_noise_whatever_the_engine(
    method, where, more, tmp_path, monkeypatch
):
    seed = {"where": where, "seeded": True, **more}
    plain = outcome(run(spec(method, **seed), tmp_path / "plain"))
    monkeypatch.setattr(processes, "subprocess", FORKED)
    asked = spec(method, **seed).model_dump(exclude_none=True)
    asked["engine"] = {"name": "processes", "workers": 2, "state": "disk", "compile": "trace"}
    assert outcome(run(parse(asked)[0], tmp_path / "two")) == plain

    def stop(record):
        if record.round == 2:
            raise Stop

    with pytest.raises(Stop):
        run(spec(method, **seed), tmp_path / "stopped", progress=stop)
    assert outcome(resume(tmp_path / "stopped")) == plain


@pytest.mark.rotating
@pytest.mark.parametrize("engine", ["inprocess", "processes"])
@pytest.mark.parametrize(
    ("privacy", "splits"),
    [
        ({}, {"train", "val", "test"}),  # the server is trusted
        ({"where": "client"}, {"val", "test"}),
        ({"unit": "sample"}, {"val", "test"}),
        ({"where": "distributed", "secure_aggregation": True}, {"val", "test"}),
    ],
    ids=["server", "client", "sample", "distributed"],
)
def test_training_scores_stay_at_home_where_epsilon_holds_against_the_server(
    privacy, splits, engine, tmp_path, monkeypatch
):
    monkeypatch.setattr(processes, "subprocess", FORKED)
    asked = spec("ditto", **privacy, seeded=True).model_dump(exclude_none=True)
    asked["engine"] = {"name": engine, "compile": "trace"}
    folder = run(parse(asked)[0], tmp_path / "run")
    with read_only(folder) as database:
        rows = database.rows("SELECT DISTINCT view, split FROM metrics")
    assert set(rows) == {(view, split) for view in ("personal", "global") for split in splits}
    assert summary(folder)["finished"]


def test_the_secret_is_nobody_elses_and_the_seed_gives_no_noise_away(tmp_path):
    def stop(record):
        if record.round == 1:
            raise Stop

    first, again = tmp_path / "first", tmp_path / "again"
    run(spec(), again)
    with pytest.raises(Stop):
        run(spec(), first, progress=stop)
    file = first / "secret"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert len(file.read_bytes()) == 32
    assert file.read_bytes() != (again / "secret").read_bytes()
    kept = file.read_bytes()
    file.chmod(0o644)
    with pytest.raises(FedkinError, match="can be read by others"):
        resume(first)
    file.unlink()
    with pytest.raises(FedkinError, match="secret is gone: without it a resumed round"):
        resume(first)
    file.write_bytes(kept[:7])
    file.chmod(0o600)
    with pytest.raises(FedkinError, match="is damaged"):
        resume(first)
    file.write_bytes(kept)
    resume(first)
    assert outcome(first)["fingerprint"] != outcome(again)["fingerprint"]  # one seed, two secrets


def test_each_client_takes_part_by_itself_with_the_chance_that_is_accounted():
    given = {**content("fedavg", run__participation=0.25), "privacy": PRIVACY}
    federation = with_secret(assemble(parse(given)[0]).federation, seeded(1))
    drawn = [participants(None, federation, number) for number in range(1, 2001)]
    assert federation.min_replies == 0
    assert {len(who) for who in drawn} >= {0, 1, 2, 3}
    for client in range(6):
        share = sum(client in who for who in drawn) / len(drawn)
        assert share == pytest.approx(0.25, abs=5 * (0.25 * 0.75 / 2000) ** 0.5)
    both = sum(0 in who and 5 in who for who in drawn) / len(drawn)
    assert both == pytest.approx(0.0625, abs=5 * (0.0625 * 0.9375 / 2000) ** 0.5)


def test_a_round_that_nobody_is_drawn_for_is_a_round(tmp_path):
    given = {**content("fedavg", run__participation=0.01), "privacy": {**PRIVACY, "seeded": True}}
    folder = run(parse(given)[0], tmp_path / "run")
    with read_only(folder) as database:
        rows = database.rows("SELECT participants FROM rounds WHERE phase = 'round'")
    assert [json.loads(who) for (who,) in rows] == [[], [], []]


def test_what_privacy_cost_so_far_is_shown_and_kept(tmp_path):
    tally, lines = Tally(spec(), head(spec())), []

    def hear(record):
        tally.add(record)
        lines.append(line(tally))

    folder = run(spec(), tmp_path / "run", progress=hear)
    mechanism = Mechanism(1.0, 1.0, 1e-5)
    assert f"ε {epsilon(mechanism, 1):.3g}" in lines[1]
    assert f"ε {epsilon(mechanism, 3):.3g}" in lines[3]
    found = summary(folder)
    assert found["extras"]["epsilon"] == {"federation": epsilon(mechanism, 3)}
    assert found["privacy"]["epsilon"] == epsilon(mechanism, 3)
    with read_only(folder) as database:
        said = database.facts()["said"]
    assert any(one.startswith("privacy: epsilon = ") for one in said)


@pytest.mark.rotating
def test_noise_at_the_client_costs_each_its_own_rounds(tmp_path):
    given = {**content("fedavg"), "privacy": {**PRIVACY, "where": "client"}}
    folder = run(parse(given)[0], tmp_path / "run")
    told = summary(folder)["extras"]["epsilon"]
    with read_only(folder) as database:
        rows = database.rows("SELECT participants FROM rounds WHERE phase = 'round'")
    counts = [sum(k in json.loads(who) for (who,) in rows) for k in range(6)]
    assert len(set(counts)) > 1
    mechanism = Mechanism(1.0, 1.0, 1e-5)
    for value, count in zip(told.values(), counts, strict=True):
        assert value >= library(1.0, 1.0, 1e-5, count) - 1e-9 if count else value == 0
        assert value <= epsilon(mechanism, 3)


def test_noise_that_protects_nobody_says_so_loudly(tmp_path):
    loud = spec(seeded=True)
    assert "NOT PRIVATE" in head(loud)
    folder = run(loud, tmp_path / "run")
    assert not (folder / "secret").exists()
    with read_only(folder) as database:
        assert any("NOT PRIVATE" in one for one in database.facts()["said"])
