"""The verdict: right on data whose answer is known, the same whatever is asked about."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from benchmarks import verdicts
from benchmarks.made_verdicts import SETS
from fedkin.core.rng import Key
from fedkin.data.population_builder import build
from fedkin.data.source import Source
from fedkin.doctor.candidates import candidates
from fedkin.doctor.features import too_many_classes
from fedkin.doctor.verdict import DRAWS, Gain, _drawn, examined, losers, verdict
from tests.cli.command import fedkin

ROOT = Path(__file__).parents[2]
BY_NAME = {made.name: made for made in SETS}


def test_half_of_the_made_sets_must_not_help() -> None:
    assert [made.helps for made in SETS] == [True] * 10 + [False] * 10
    assert len(BY_NAME) == 20


@pytest.mark.rotating
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
        first = candidates(found, population.names, told["federate"])
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


def test_who_loses_is_named_where_its_own_rows_say_so() -> None:
    by_client = {0: (0.1, 0.01), 3: (-0.2, 0.05), 4: (-0.2, 0.15), 5: (0.0, 0.0)}
    assert losers(Gain(-0.1, 0.1, by_client, 0.5, 0.6)) == [3]


@pytest.mark.parametrize(("name", "chance"), [("accuracy", 0.5), ("auc", 0.5)])
def test_a_constant_is_guessed_without_the_row_that_it_is_asked_of(
    name: str, chance: float
) -> None:
    """Of labels by chance nothing can be guessed, however few rows a client has."""
    rng = np.random.default_rng(0)
    source = Source(
        name="chance",
        x=rng.normal(size=(600, 3)).astype(np.float32),
        y=rng.integers(0, 2, 600),
        classes=2,
        client=np.repeat(np.arange(120), 5),
    )
    found = examined(build(source, "natural", None, Key(seed=0)), name)
    assert found is not None
    assert found.constant == pytest.approx(chance, abs=0.06)


def test_one_client_has_no_verdict() -> None:
    population = BY_NAME["own concepts"].make(0)
    assert examined(population.only([0]), "accuracy") is None


def test_too_many_classes_have_no_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    population = BY_NAME["own concepts"].make(0)
    assert not too_many_classes(population)
    monkeypatch.setattr("fedkin.doctor.verdict.cross_validate", pytest.fail)
    many = replace(population, classes=1 + 30_000 // population.clients)
    assert examined(many, "accuracy") is None
    assert too_many_classes(many).startswith(f"there is no verdict for {many.classes:,} classes, ")
    rows = sum(map(len, (*many.train, *many.val)))
    few = replace(population.only([0, 1]), classes=10_000_000 // rows)
    assert not too_many_classes(few)


@pytest.mark.rotating
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
    assert " to try first" in shown.lower()
    assert ("Begin with local" in shown) is not told[0]["verdict"]["federate"]


def test_rows_that_belong_together_are_drawn_together() -> None:
    group = np.repeat([7, 3, 5], [2, 1, 4])
    drawn = _drawn(7, group, 0)
    assert len(drawn) == DRAWS
    for rows in drawn:
        counts = np.bincount(rows, minlength=7)
        assert all(len(set(counts[group == one])) == 1 for one in (3, 5, 7))
        assert sum(counts[np.array([0, 2, 3])]) == 3  # as many groups as there are
    alone = _drawn(4, None, 0)
    assert np.array_equal(alone, _drawn(4, np.ones(4, np.int64), 0))
    assert {len(rows) for rows in alone} == {4}
    # eight copies of each row leave as much open as the rows themselves
    values = np.random.default_rng(1).normal(size=50)
    spread = [
        np.std([np.repeat(values, 8)[rows].mean() for rows in _drawn(400, group, 0)])
        for group in (None, np.repeat(np.arange(50), 8))
    ]
    assert spread[1] > 2 * spread[0]


def test_the_page_has_the_verdicts_that_are_kept() -> None:
    kept = verdicts.known()
    assert [(one.name, one.seed) for one in kept] == [
        (made.name, seed) for seed in range(verdicts.SEEDS) for made in SETS
    ]
    assert verdicts.table(kept) in (ROOT / "docs/doctor.md").read_text(encoding="utf-8")


def test_a_kept_verdict_is_what_the_doctor_says_today() -> None:
    """Two of the quickest, one of each answer; numbers may differ in the last digits elsewhere."""
    kept = {(one.name, one.seed): one for one in verdicts.known()}
    for name in ("numbers, one concept", "own concepts"):
        now, then = verdicts.judged(BY_NAME[name], 1), kept[name, 1]
        assert (now.federate, now.way) == (then.federate, then.way)
        assert now.gain == pytest.approx(then.gain, abs=2e-3)
