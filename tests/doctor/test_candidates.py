"""Which methods are named, and in which order."""

from benchmarks.made_verdicts import SETS
from fedkin.doctor.candidates import (
    METHODS,
    SIMPLEST,
    TUNED,
    candidates,
    in_order,
    left_out,
    split_name,
    split_names,
)
from fedkin.doctor.risky_methods import risky_for
from fedkin.doctor.verdict import Examined, Gain, examined

BY_NAME = {made.name: made for made in SETS}


def test_a_model_of_one_layer_has_no_last_layer_of_its_own() -> None:
    population = BY_NAME["one concept, unlike labels"].make(0)
    found = examined(population, "accuracy")
    assert found is not None
    of_two, of_one = (
        [one["method"] for one in candidates(found, population.names, True, layers)]
        for layers in (2, 1)
    )
    assert "fedper" in of_two
    assert "fedper" not in of_one
    assert len(set(of_one)) == 3


def gain(mean: float, error: float) -> Gain:
    return Gain(mean, error, {}, 0.0, 0.0)


def test_first_is_the_simplest_way_within_one_standard_error_of_the_best() -> None:
    ways = {
        "grouped": gain(0.078, 0.009),  # the best: 0.069 is as good
        "anchored": gain(0.070, 0.001),
        "offset": gain(0.071, 0.001),
        "shared": gain(0.068, 0.05),  # its own error does not count
    }
    assert in_order(ways) == ["anchored", "grouped", "offset", "shared"]


def test_the_best_way_stays_first_where_no_simpler_one_comes_near() -> None:
    ways = {"grouped": gain(0.053, 0.012), "shared": gain(-0.26, 0.02), "offset": gain(0.04, 0.1)}
    assert in_order(ways) == ["grouped", "offset", "shared"]
    assert in_order({}) == []


def of(ways: dict[str, Gain]) -> Examined:
    return Examined("accuracy", gain(0.05, 0.01), ways, {}, 0.005, None)


def test_a_way_that_surely_loses_is_not_advised() -> None:
    people = dict.fromkeys(range(20), (0.0, 1.0))
    grouped, anchored, shared = (
        Gain(mean, error, people, 0.0, 0.0)
        for mean, error in ((0.05, 0.01), (0.0, 0.01), (-0.2, 0.02))
    )
    found = of({"grouped": grouped, "anchored": anchored, "shared": shared})
    named = [one["way"] for one in candidates(found, [f"c{k}" for k in range(20)], False)]
    assert named == ["grouped", "anchored", "grouped"]
    alone = [one["way"] for one in candidates(of({"shared": shared}), ["c"] * 20, False)]
    assert alone == ["shared", "shared"]  # who federates all the same is told how


def sure(mean: float) -> Gain:
    return Gain(mean, 0.002, dict.fromkeys(range(20), (0.1, 1.0)), 0.0, 0.0)


def test_what_may_lose_on_such_data_is_not_recommended_unless_all_may() -> None:
    names = ["c"] * 20

    def named(first: str, federate: bool = True) -> list[str]:
        ways = {way: sure(0.06 if way == first else 0.05) for way in METHODS}
        return [one["method"] for one in candidates(of(ways), names, federate)]

    assert named("shared") == ["fedavg", "scaffold"]
    assert named("grouped") == ["ifca", "fedper", "hypcluster"]
    for way in ("anchored", "offset"):
        methods = {split_name(method)[0] for method in named(way)}
        assert len(methods) == 3
        assert methods <= set(risky_for(way))
    assert named("shared", federate=False)[0] == "fedavg"
    assert len(named("shared", federate=False)) == 3


def test_the_best_way_is_named_where_the_experiment_takes_none_of_its_methods() -> None:
    found = of({"grouped": gain(0.05, 0.01), "anchored": gain(0.0, 0.01)})
    assert left_out(found, 2, lambda method: method not in METHODS["grouped"]) == [
        "ifca",
        "hypcluster",
    ]
    assert left_out(found, 2, lambda method: method == "hypcluster") == []
    assert left_out(of({}), 2, lambda method: False) == []


def test_every_way_has_its_place_among_the_simple_ones() -> None:
    assert set(SIMPLEST) == set(METHODS)


def test_a_candidate_may_stand_among_other_methods() -> None:
    assert split_names(f"fedavg, {TUNED},ditto:lam=2, ifca,") == [
        "fedavg",
        TUNED,
        "ditto:lam=2",
        "ifca",
    ]
    assert split_names(",") == split_names("") == []
