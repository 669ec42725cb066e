"""Suites are data: fedkin's own are whole, and every mistake in one's own is one sentence."""

import re
from typing import Any

import pytest

from fedkin.bench.row import read_rows
from fedkin.bench.suite import BASELINES, committed, names, parsed, suite
from fedkin.core.errors import FedkinError
from fedkin.methods import METHODS
from tests.bench.tiny import CONTENT, tiny


@pytest.mark.parametrize("name", names())
def test_fedkins_own_suites_have_every_method_and_both_baselines_first(name: str) -> None:
    found = suite(name)
    assert found.all_methods[:2] == BASELINES
    assert set(found.all_methods) == set(METHODS)
    assert all(one.spec.get("public") for one in found.settings.values())


def test_a_suite_without_methods_has_all_and_baselines_are_always_there() -> None:
    assert tiny(methods=["ditto"]).all_methods == ("local", "fedavg", "ditto")
    assert len(tiny(methods=[]).all_methods) == len(METHODS)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"trials": 0}, "tiny: trials: input should be greater than or equal to 1"),
        ({"rates": []}, "tiny: rates: name at least one"),
        ({"budgets": []}, "tiny: budgets: name at least one"),
        ({"seeds": [-1]}, "tiny: seeds.0: input should be greater than or equal to 0"),
        ({"seeds": [3, 4, 3]}, "tiny: seeds: 3 is there twice: name each once"),
        ({"budgets": ["time"]}, "tiny: budgets.0: input should be 'rounds', 'bytes' or 'compute'"),
        ({"methods": ["dito"]}, "tiny: methods: unknown method 'dito': did you mean 'ditto'?"),
        ({"stretch": 0.5}, "tiny: stretch: input should be greater than or equal to 1"),
        ({"settings": {}}, "tiny: settings: name at least one"),
        ({"extra": 1}, "tiny: extra: extra inputs are not permitted"),
        ({"searches": {"dito": {}}}, "tiny: searches: unknown method 'dito': did you mean 'ditto'"),
        (
            {"searches": {"ditto": {"own": [{"lan": 1}]}}},
            "tiny: searches: unknown ditto hyper-parameter 'lan': did you mean 'lam'",
        ),
        ({"searches": {"ditto": {}, "Ditto": {}}}, "tiny: searches: ditto is there twice"),
    ],
)
def test_a_mistake_is_one_sentence(change: dict[str, Any], said: str) -> None:
    with pytest.raises(FedkinError, match=re.escape(said)) as told:
        parsed({**CONTENT, **change}, "tiny")
    assert "\n" not in str(told.value)


@pytest.mark.parametrize("label", ["../../../esc", "..", ".", "a/b", "", "a" * 101, "a b", "ä"])
def test_a_label_is_the_name_of_a_folder_inside_it(label: str) -> None:
    settings = {label: CONTENT["settings"]["digits"]}
    with pytest.raises(
        FedkinError, match=r"tiny: settings: .* is no label: write at most 100"
    ) as told:
        parsed({**CONTENT, "settings": settings}, "tiny")
    assert "\n" not in str(told.value)


def test_a_setting_is_checked_like_an_experiment() -> None:
    spec = CONTENT["settings"]["digits"]["spec"]
    for change, said in [
        ({"run": {"rounds": 0}}, "run.rounds: input should be greater than or equal to 1"),
        ({"method": {"name": "fedavg"}}, "settings.a.spec.method is the suite's to choose"),
        ({"engine": {"name": "ray"}}, "settings.a.spec.engine.name: a run of the bench is one"),
        ({"engine": {"workers": 2}}, "a.spec.engine.workers: a run of the bench is one process;"),
    ]:
        settings = {"a": {"title": "A", "spec": {**spec, **change}}}
        with pytest.raises(FedkinError, match=re.escape(said)):
            parsed({**CONTENT, "settings": settings}, "tiny")


def test_an_experiment_is_no_suite() -> None:
    experiment = {"data": {"name": "digits"}, "run": {"clients": 5}}
    with pytest.raises(FedkinError, match=r"^mine\.toml is an experiment, not a suite: give it to"):
        parsed(experiment, "mine.toml")


def test_an_unknown_suite_names_the_nearest() -> None:
    with pytest.raises(FedkinError, match="did you mean 'small'"):
        suite("smal")


def test_fedkin_has_rows_of_its_suites_and_of_no_other() -> None:
    small = committed("small")
    assert small is not None
    assert {row.suite for row in read_rows(small)} == {"small"}
    assert committed("full") is None
    assert committed("../leaderboard/small") is None
