"""The verdict: right on data whose answer is known, the same whatever is asked about."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from benchmarks.made_verdicts import SETS
from fedkin.doctor.candidates import candidates
from fedkin.doctor.crossed import crossed
from fedkin.doctor.features import Rows, folds_of, groups_of, rows_of
from fedkin.doctor.fits import _Near, fits, pooled, products
from fedkin.doctor.verdict import Gain, examined, losers, verdict
from tests.cli.command import fedkin

BY_NAME = {made.name: made for made in SETS}


def test_half_of_the_made_sets_must_not_help() -> None:
    assert [made.helps for made in SETS] == [True] * 10 + [False] * 10
    assert len(BY_NAME) == 20


@pytest.mark.parametrize(
    ("name", "way"),
    [("two opposite groups", "grouped"), ("numbers, one concept", ""), ("own concepts", "")],
)
def test_the_verdict_is_that_of_the_maker(name: str, way: str) -> None:
    made = BY_NAME[name]
    population = made.make(0)
    found = examined(population, made.measure)
    assert found is not None
    told = verdict(found)
    assert told["federate"] is made.helps
    assert told["wrong"] < 0.05
    assert told["low"] < told["gain"] < told["high"]
    if way:
        assert max(found.chosen, key=lambda one: found.chosen[one]) == way
        first = candidates(found, population.names)
        assert first[0]["way"] == way
        assert len(first) == len({one["method"] for one in first}) == 3


def test_test_rows_have_no_say() -> None:
    population = BY_NAME["numbers, one concept"].make(1)
    spoiled = population.y.clone()
    spoiled[torch.from_numpy(np.concatenate(population.test))] = 1e6
    one, other = (
        verdict(found)
        for each in (population, replace(population, y=spoiled))
        if (found := examined(each, "rmse"))
    )
    assert one == other


def test_models_are_those_of_the_normal_equations() -> None:
    rng = np.random.default_rng(0)
    x, y, owner = rng.normal(size=(60, 3)), rng.normal(size=(60, 2)), np.arange(60) % 3
    p = products(x, y, owner, 3)
    where = rng.normal(size=(3, 3, 2))
    near = _Near(p, *np.linalg.eigh(p.xx))(where, 7.0)
    own = x[owner == 1]
    right = own.T @ y[owner == 1] + 7.0 * where[1]
    assert near[1] == pytest.approx(np.linalg.solve(own.T @ own + 7.0 * np.eye(3), right))
    everyone = pooled(p, np.ones(3))
    assert everyone == pytest.approx(np.linalg.solve(x.T @ x + np.eye(3), x.T @ y))
    settings = [(one.way, one.setting) for one in fits(p, 0)]
    assert len(settings) == len(set(settings))
    assert {way for way, _ in settings} == {"alone", "shared", "offset", "anchored"}  # too few


def test_a_row_is_never_predicted_by_a_model_that_has_seen_it() -> None:
    rng = np.random.default_rng(0)
    owner = np.repeat(np.arange(4), 30)
    x = np.concatenate([np.eye(120), np.ones((120, 1))], 1)  # every row has a number of its own
    rows = Rows((0, 1, 2, 3), owner, {"linear": x}, y := rng.normal(size=120), y[:, None])
    for scores in crossed(rows, 0, seeds=1).predicted.values():
        assert abs(np.corrcoef(scores[0, :, 0], y)[0, 1]) < 0.6  # who had seen it would know it


def test_folds_are_even_in_every_client_and_class() -> None:
    population = BY_NAME["one concept, 7 % positive"].make(0)
    rows = rows_of(population, 0)
    fold = folds_of(rows, 5, np.random.default_rng(0))
    for client in range(28):
        own = fold[rows.owner == client]
        assert np.ptp(np.bincount(own, minlength=5)) <= 1
        positive = own[rows.y[rows.owner == client] == 1]
        assert np.bincount(positive, minlength=5).max() <= -(-len(positive) // 5) + 1


def test_who_loses_is_named_where_its_own_rows_say_so() -> None:
    by_client = {0: (0.1, 0.01), 3: (-0.2, 0.05), 4: (-0.2, 0.15), 5: (0.0, 0.0)}
    assert losers(Gain(-0.1, 0.1, by_client, 0.5, 0.6)) == [3]


def test_one_client_has_no_verdict() -> None:
    population = BY_NAME["own concepts"].make(0)
    assert examined(population.only([0]), "accuracy") is None


def test_the_verdict_does_not_depend_on_the_method(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    rows = [
        f"s{k % 6},{u:.3f},{v:.3f},{int(u > v)}"
        for k, (u, v) in enumerate(rng.normal(size=(150, 2)))
    ]
    (tmp_path / "t.csv").write_text("\n".join(["site,u,v,label", *rows]))
    asked = ["doctor", "--data", f"{tmp_path / 't.csv'}:client=site", "--rounds", "0", "--json"]
    told = [json.loads(fedkin(*asked, "--method", name).stdout) for name in ("local", "comet")]
    assert told[0]["verdict"] == told[1]["verdict"]  # comet would hold a tenth of the rows out
    assert told[0]["data"] == told[1]["data"]
    assert told[0]["verdict"]["measure"] == "accuracy"
    other = json.loads(fedkin(*asked, "--measure", "log_loss").stdout)
    assert other["verdict"]["measure"] == "log_loss"
    shown = fedkin(*asked[:-1], "--method", "local").output
    assert "Verdict: " in shown
    assert "Three to try first" in shown


def test_a_model_of_one_layer_has_no_last_layer_of_its_own() -> None:
    population = BY_NAME["one concept, unlike labels"].make(0)
    found = examined(population, "accuracy")
    assert found is not None
    of_two, of_one = (
        [one["method"] for one in candidates(found, population.names, layers)] for layers in (2, 1)
    )
    assert "fedper" in of_two
    assert "fedper" not in of_one
    assert len(set(of_one)) == 3


def test_rows_that_belong_together_are_in_one_fold() -> None:
    """A recording's rows are alike: with some of them in every fold each client alone would look
    perfect.
    """
    population = BY_NAME["own concepts"].make(0)
    assert groups_of(population) is None
    bout, splits = np.arange(len(population.x)), (population.train, population.val, population.test)
    for rows in (part[client] for part in splits for client in range(population.clients)):
        bout[rows] = rows[0] + (np.arange(len(rows)) // 7) * 3
    mixed = bout % 5
    grouped = replace(population, truth={"noise": mixed, "bout": bout, "w": np.ones((12, 6))})
    found = groups_of(grouped)
    assert found is not None
    assert len(np.unique(found)) == len(np.unique(bout))
    rows = rows_of(grouped, 0)
    assert rows.group is not None
    fold = folds_of(rows, 5, np.random.default_rng(1))
    assert all(len(np.unique(fold[rows.group == one])) == 1 for one in np.unique(rows.group))
    for client in range(len(rows.clients)):
        own = fold[rows.owner == client]
        assert np.bincount(own, minlength=5).min() > len(own) // 10
