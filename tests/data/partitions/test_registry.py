"""Partitions: exact, seeded, with the sizes, classes and floors they promise."""

import time
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedkin.core.errors import FedkinError
from fedkin.data.partitions.dirichlet import fill
from fedkin.data.partitions.registry import PARTITIONS, parameters, partition
from fedkin.data.partitions.shares import round_columns, round_rows

LABELS = np.random.default_rng(5).permutation(np.repeat(np.arange(10), 300))
BY_LABEL = [name for name in PARTITIONS if name != "natural"]
SMALL: dict[str, dict[str, Any]] = {"two_class": {"low": 20, "high": 200}}
EXACT = {"iid", "dirichlet", "persfl_ds2", "persfl_ds3", "shards", "label_groups"}


def split(
    name: str, clients: int = 20, seed: int = 0, labels: np.ndarray = LABELS, **params: Any
) -> Any:
    return partition(
        name, labels, clients, np.random.default_rng(seed), **{**SMALL.get(name, {}), **params}
    )


def sizes(part: Any) -> np.ndarray:
    return np.array([len(rows) for rows in part.indices])


def distinct(part: Any, labels: np.ndarray = LABELS) -> np.ndarray:
    return np.array([len(np.unique(labels[rows])) for rows in part.indices])


@pytest.mark.parametrize("name", BY_LABEL)
@pytest.mark.parametrize("clients", [4, 10, 37])
def test_no_sample_twice_and_none_lost(name: str, clients: int) -> None:
    part = split(name, clients)
    rows = np.concatenate(part.indices)
    assert len(part.indices) == clients
    assert len(np.unique(rows)) == len(rows)
    assert rows.min() >= 0
    assert rows.max() < len(LABELS)
    assert all(r.dtype == np.int64 and (np.diff(r) > 0).all() for r in part.indices)
    if name in EXACT and not (
        name == "persfl_ds3" and clients < 5
    ):  # 4 clients hold 8 of the 10 classes
        assert len(rows) == len(LABELS)


@pytest.mark.parametrize("name", BY_LABEL)
def test_a_seed_decides_everything(name: str) -> None:
    one, same, other = split(name, seed=3), split(name, seed=3), split(name, seed=4)
    assert all(np.array_equal(a, b) for a, b in zip(one.indices, same.indices, strict=True))
    assert all(np.array_equal(one.truth[key], same.truth[key]) for key in one.truth)
    assert any(not np.array_equal(a, b) for a, b in zip(one.indices, other.indices, strict=True))


def test_iid_is_even_and_random() -> None:
    part = split("iid", 7)
    assert np.ptp(sizes(part)) <= 1
    counts = np.stack([np.bincount(LABELS[rows], minlength=10) for rows in part.indices])
    assert counts.min() > 15  # about 43 of every class


@given(
    clients=st.integers(1, 60),
    alpha=st.sampled_from([1e-3, 0.01, 0.1, 1.0, 100.0]),
    floor=st.integers(0, 12),
    over=st.sampled_from(["clients", "classes"]),
    counts=st.lists(st.integers(0, 90), min_size=1, max_size=12),
    seed=st.integers(0, 9),
)
@settings(max_examples=150, deadline=None)
def test_dirichlet_is_exact_and_keeps_the_floor(
    clients: int, alpha: float, floor: int, over: str, counts: list[int], seed: int
) -> None:
    labels = np.repeat(np.arange(len(counts)), counts)
    if len(labels) < max(clients, clients * floor, 1):
        return
    part = split("dirichlet", clients, seed, labels, alpha=alpha, floor=floor, over=over)
    rows = np.sort(np.concatenate(part.indices))
    np.testing.assert_array_equal(rows, np.arange(len(labels)))
    assert sizes(part).min() >= floor
    if over == "classes":
        assert np.ptp(sizes(part)) <= 1


def test_dirichlet_shares_follow_the_distribution() -> None:
    """Mean 1/K and variance (1/K)(1-1/K)/(K·alpha+1) of a share, over many draws."""
    clients, alpha = 5, 0.5
    labels = np.repeat(np.arange(40), 400)
    shares = []
    for seed in range(30):
        part = split("dirichlet", clients, seed, labels, alpha=alpha, floor=0)
        shares.append(
            np.stack([np.bincount(labels[rows], minlength=40) for rows in part.indices]) / 400
        )
    flat = np.stack(shares)
    assert flat.mean() == pytest.approx(1 / clients)
    assert flat.mean(axis=(0, 2)) == pytest.approx(
        np.full(clients, 0.2), abs=0.03
    )  # no client is preferred
    assert flat.var() == pytest.approx(0.2 * 0.8 / (clients * alpha + 1), rel=0.06)


def test_comets_setting_has_the_sizes_that_are_known_of_it() -> None:
    """Dir_100(0.01) on 10 classes of 6,000: about 40 clients empty, 17-20 above 1,000 (METHODS
    section 11).
    """
    labels = np.repeat(np.arange(10), 6000)
    drawn = np.stack(
        [sizes(split("dirichlet", 100, seed, labels, alpha=0.01, floor=0)) for seed in range(20)]
    )
    assert 35 <= (drawn == 0).sum(axis=1).mean() <= 44
    assert 14 <= (drawn > 1000).sum(axis=1).mean() <= 23
    kinds = np.concatenate(
        [distinct(split("dirichlet", 100, seed, labels, alpha=0.01), labels) for seed in range(5)]
    )
    assert np.mean(kinds <= 2) > 0.85  # the floor leaves clients as one-sided as they were


def test_filling_levels_the_largest_holders_and_touches_nobody_else() -> None:
    held = np.array([0, 3, 12, 40, 90, 95])
    owner = np.repeat(np.arange(6), held)
    labels = np.arange(len(owner)) % 4
    after = fill(owner, labels, 6, 10, np.random.default_rng(0))
    got = np.bincount(after, minlength=6)
    assert got.tolist()[:4] == [10, 10, 12, 40]
    assert sorted(got.tolist()[4:]) == [84, 84]  # 17 taken from 90 + 95 = 185, down to one level
    kept = after == owner
    assert kept[np.isin(owner, [0, 1, 2, 3])].all()


def test_filled_clients_come_from_runs_of_one_donor() -> None:
    labels = np.repeat(np.arange(5), 100)
    owner = np.repeat([0, 1], 250)
    after = fill(owner, labels, 12, 10, np.random.default_rng(0))
    kinds = [len(np.unique(labels[after == k])) for k in range(2, 12)]
    assert np.mean(kinds) < 2


def test_over_classes_mixture_is_met_where_there_is_enough() -> None:
    labels = np.repeat(np.arange(4), 1000)
    part = split("dirichlet", 8, 0, labels, alpha=100.0, over="classes")
    got = np.stack([np.bincount(labels[rows], minlength=4) for rows in part.indices]) / 500
    assert np.abs(got - part.truth["mixture"]).max() < 0.15
    one_sided = split("dirichlet", 8, 0, labels, alpha=0.001, over="classes")
    assert sizes(one_sided).tolist() == [500] * 8


@pytest.mark.parametrize("over", ["clients", "classes"])
def test_ten_thousand_clients_at_alpha_001(over: str) -> None:
    labels = np.random.default_rng(0).integers(0, 10, 60_000)
    start = time.perf_counter()
    part = split("dirichlet", 10_000, 0, labels, alpha=0.01, over=over, floor=5)
    seconds = time.perf_counter() - start
    print(f"10,000 clients over {over}: {seconds:.3f} s")
    assert sizes(part).min() >= 5
    assert sizes(part).sum() == 60_000
    assert seconds < 20  # 0.03 s on an idle core; a rejection loop would not come back


@pytest.mark.parametrize("alpha", [1e-12, 1e-6, 1e6])
def test_extreme_alpha(alpha: float) -> None:
    part = split("dirichlet", 30, alpha=alpha, floor=3)
    assert sizes(part).sum() == len(LABELS)
    assert sizes(part).min() >= 3


def test_persfl_ds1_same_total_four_classes_different_shares() -> None:
    for clients in (10, 25):
        part = split("persfl_ds1", clients)
        assert np.ptp(sizes(part)) == 0
        assert sizes(part).sum() > 0.9 * len(LABELS)
        assert (distinct(part) == 4).all()
        for rows, classes in zip(part.indices, part.truth["classes"], strict=True):
            np.testing.assert_array_equal(np.unique(LABELS[rows]), classes)
        spread = [
            np.ptp(np.bincount(LABELS[rows], minlength=10)[c])
            for rows, c in zip(part.indices, part.truth["classes"])
        ]
        assert np.mean(spread) > 10
        holders = np.bincount(part.truth["classes"].ravel(), minlength=10)
        assert np.ptp(holders) <= 1
    assert (distinct(split("persfl_ds1", 10, classes=7)) == 7).all()


def test_persfl_ds2_shares_every_class() -> None:
    part = split("persfl_ds2", 10)
    assert (distinct(part) >= 8).mean() > 0.8
    assert np.ptp(sizes(part)) > 20


def test_persfl_ds3_two_classes_lognormal_sizes() -> None:
    part = split("persfl_ds3", 10)
    assert (distinct(part) == 2).all()
    assert sizes(part).min() >= 10
    many = sizes(split("persfl_ds3", 40))
    assert many.max() > 20 * np.quantile(many, 0.1)
    with pytest.raises(FedkinError, match=r"class \d .*lower floor or clients"):
        split("persfl_ds3", 1000, floor=100)


@pytest.mark.parametrize("pairs", ["random", "balanced", "consecutive"])
def test_two_class(pairs: str) -> None:
    part = split("two_class", 40, low=40, high=500, pairs=pairs)
    assert (distinct(part) == 2).all()
    for rows, classes in zip(part.indices, part.truth["classes"], strict=True):
        np.testing.assert_array_equal(np.unique(LABELS[rows]), classes)
    if pairs == "consecutive":
        expected = [sorted([i % 10, (i + 1) % 10]) for i in range(40)]
        assert part.truth["classes"].tolist() == expected
    assert part.truth["asked"].min() >= 40
    assert part.truth["asked"].max() <= 500
    assert (sizes(part) <= part.truth["asked"]).all()


def test_two_class_scales_only_what_is_short() -> None:
    """Demand on a class shrinks to its pool by one factor for all its holders; others get what they
    asked for.
    """
    part = split(
        "two_class",
        10,
        low=200,
        high=200,
        pairs="consecutive",
        labels=np.repeat(np.arange(10), [100, *[300] * 9]),
    )
    labels = np.repeat(np.arange(10), [100, *[300] * 9])
    counts = np.stack([np.bincount(labels[rows], minlength=10) for rows in part.indices])
    assert counts[0, 0] == counts[9, 0] == 50
    assert (counts[1:9].sum(axis=1) == 200).all()
    alike = split(
        "two_class", 10, low=200, high=200, pairs="consecutive", labels=labels, scale="all"
    )
    assert sizes(alike).tolist() == [100] * 10


def test_two_class_sizes_are_uniform() -> None:
    asked = split("two_class", 3000, low=2, high=11, labels=np.repeat(np.arange(10), 9000)).truth[
        "asked"
    ]
    counts = np.bincount(asked, minlength=12)[2:]
    assert counts.min() > 230  # 300 each: both ends included
    assert counts.max() < 370


def test_label_groups_at_random() -> None:
    part = split("label_groups", 100)
    assert np.bincount(part.truth["group"]).tolist() == [25] * 4
    assert (np.diff(part.truth["group"]) >= 0).all()
    assert np.bincount(part.truth["class_group"]).tolist() == [3, 3, 2, 2]
    for rows, group in zip(part.indices, part.truth["group"], strict=True):
        assert set(part.truth["class_group"][LABELS[rows]]) == {group}
    for group in range(4):
        assert np.ptp(sizes(part)[part.truth["group"] == group]) <= 1


def test_label_groups_explicit() -> None:
    part = split("label_groups", 80, groups=[[2, 3, 4, 5, 6, 7], [1, 9], [0, 8]])
    assert np.bincount(part.truth["group"]).tolist() == [27, 27, 26]
    assert part.truth["class_group"].tolist() == [2, 1, 0, 0, 0, 0, 0, 0, 2, 1]
    some = split("label_groups", 4, groups=[[0], [1]])
    assert sizes(some).sum() == 600
    assert some.truth["class_group"][2] == -1


def test_shards() -> None:
    part = split("shards", 15, per_client=2)
    assert (distinct(part) <= 4).all()
    assert distinct(part).mean() < 3
    assert sizes(part).tolist() == [200] * 15


def test_natural() -> None:
    client = np.array(["b", "a", "c", "a", "b", "b"])
    part = partition("natural", np.arange(6), None, np.random.default_rng(0), client=client)
    assert [rows.tolist() for rows in part.indices] == [[1, 3], [0, 4, 5], [2]]
    assert part.truth["name"].tolist() == ["a", "b", "c"]
    fewer = partition("natural", np.arange(6), 2, np.random.default_rng(0), client=client)
    assert len(fewer.indices) == 2
    for rows, name in zip(fewer.indices, fewer.truth["name"], strict=True):
        assert (client[rows] == name).all()
        assert len(rows) == (client == name).sum()


@given(
    st.lists(st.integers(0, 50), min_size=1, max_size=6),
    st.integers(1, 8),
    st.integers(0, 20),
)
@settings(max_examples=60, deadline=None)
def test_rounding_is_exact(pools: list[int], clients: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    shares = rng.dirichlet(np.full(clients, 0.3), size=len(pools)).T
    columns = round_columns(shares, np.array(pools))
    assert columns.sum(axis=0).tolist() == pools
    assert columns.min() >= 0
    assert np.abs(columns - shares * pools).max() <= 1 + 1e-9
    total = np.array(pools)
    rows = round_rows(rng.dirichlet(np.full(5, 0.3), size=len(pools)) * total[:, None], total)
    assert rows.sum(axis=1).tolist() == pools
    assert rows.min() >= 0


@pytest.mark.parametrize(
    ("name", "clients", "params", "words"),
    [
        ("dirichlet", 10, {"alpha": 0}, "alpha=0 must be a number greater than 0"),
        ("dirichlet", 10, {"alpha": -1.0}, "alpha=-1.0"),
        ("dirichlet", 10, {"alpha": float("nan")}, "alpha=nan"),
        (
            "dirichlet",
            10,
            {"alpha": "0.1"},
            "alpha of dirichlet must be a number, not '0.1': its default is 0.1",
        ),
        ("dirichlet", 10, {"floor": -1}, "floor=-1"),
        ("dirichlet", 10, {"over": "samples"}, "'clients' or 'classes'"),
        ("dirichlet", 400, {"floor": 10}, "set floor to 7 or less"),
        ("dirichlet", 3001, {}, "3001 clients cannot share 3000 samples"),
        ("dirichlet", 10, {"alhpa": 1}, "did you mean 'alpha'"),
        ("iid", 0, {}, "clients=0"),
        ("iid", 2.5, {}, "clients=2.5"),
        ("iid", True, {}, "clients=True"),
        ("iid", 10, {"alpha": 1}, "unknown parameter of partition iid 'alpha'"),
        ("persfl_ds1", 10, {"classes": 11}, "classes=11 must be a whole number from 1 to 10"),
        ("persfl_ds1", 10, {"pairs": "any"}, "'random', 'balanced' or 'consecutive'"),
        ("persfl_ds1", 3000, {}, "fewer than one sample a class"),
        ("persfl_ds3", 10, {"sigma": 0}, "sigma=0"),
        ("two_class", 10, {"low": 50, "high": 40}, "low=50 is above high=40"),
        ("two_class", 10, {"low": 1}, "low=1"),
        ("two_class", 10, {"scale": "some"}, "'demand' or 'all'"),
        ("two_class", 2900, {"low": 2, "high": 900}, "too few samples for its clients"),
        ("shards", 10, {"per_client": 0}, "per_client=0"),
        ("label_groups", 3, {}, "3 clients cannot fill 4 groups"),
        ("label_groups", 10, {"groups": [3, 3, 3]}, "sum to 9, but there are 10 classes"),
        ("label_groups", 10, {"groups": [[0, 1], [1, 2]]}, "class 1 is in groups 0 and 1"),
        ("label_groups", 10, {"groups": [[0, 11]]}, "from 0 to 9"),
        ("label_groups", 10, {"groups": []}, "groups is empty"),
        ("label_groups", 10, {"groups": [[0], 1]}, "list of lists of whole numbers, not [[0], 1]"),
        ("label_groups", 10, {"groups": [[0], []]}, "group 1 is []"),
        (
            "label_groups",
            10,
            {"groups": 3},
            "groups of label_groups must be a list of whole numbers or a list of",
        ),
        ("natural", 3, {}, "needs client labels"),
        ("natural", 3, {"client": LABELS[:5]}, "5 client labels for 3000 samples"),
        ("natural", 11, {"client": LABELS}, "only 10 natural clients, not 11"),
        ("dirichlt", 10, {}, "did you mean 'dirichlet'"),
    ],
)
def test_every_mistake_has_its_sentence(
    name: str, clients: Any, params: dict[str, Any], words: str
) -> None:
    with pytest.raises(FedkinError) as error:
        partition(name, LABELS, clients, np.random.default_rng(0), **params)
    assert words in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("name", sorted(set(BY_LABEL) - {"iid"}))
def test_regression_targets_have_no_classes(name: str) -> None:
    with pytest.raises(FedkinError, match="use iid or natural"):
        partition(name, np.linspace(0, 1, 50), 5, np.random.default_rng(0))
    with pytest.raises(FedkinError, match="labels must be 0 or more"):
        partition(name, np.arange(50) - 1, 5, np.random.default_rng(0))


def test_parameters_are_listed_with_defaults() -> None:
    assert parameters("dirichlet") == {"alpha": 0.1, "over": "clients", "floor": 10}
    assert parameters("natural") == {}


@pytest.mark.parametrize("key", ["name", "labels", "clients", "rng"])
def test_a_key_that_is_called_like_an_argument_is_refused(key: str) -> None:
    with pytest.raises(FedkinError, match=f"^unknown parameter of partition dirichlet '{key}'"):
        partition("dirichlet", LABELS, 3, np.random.default_rng(0), **{"alpha": 1.0, key: 6})
