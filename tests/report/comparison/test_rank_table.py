"""Experiments in the order of their scores, with ties."""

from types import SimpleNamespace

import pytest

from fedkin.report.comparison.rank_table import rank_table, ranked
from fedkin.report.comparison.run_row import FINISHED, ComparedRun


class Same:
    """Which client data: equal names are the same."""

    def __init__(self, name):
        self.name = name

    def same(self, other):
        return self.name == other.name


def run(method, values, seed=0, data="digits", measure="accuracy"):
    row = {"run": f"{method}{seed}", "method": method, "seed": seed, "state": FINISHED}
    return ComparedRun(row, Same(data), method, method, measure, dict(enumerate(values)))


GOOD = [0.80 + 0.01 * (k % 4) for k in range(12)]
SAME = [0.80 + 0.01 * ((k + 2) % 4) for k in range(12)]
BAD = [0.40 + 0.02 * (k % 3) for k in range(12)]


def table(*seen, measure="accuracy"):
    return rank_table(SimpleNamespace(seen=list(seen), measure=measure))


def test_who_cannot_be_told_apart_shares_a_rank() -> None:
    found = table(run("local", BAD), run("ditto", GOOD), run("apfl", SAME))
    assert [(row[0], row[1]) for row in found.rows] == [
        ("1=", "ditto"),
        ("1=", "apfl"),
        ("3", "local"),
    ]
    assert found.rows[2][3] == "42.00 %"
    assert found.title == "Ranks by final personal test accuracy"
    assert [len(row) for row in found.rows] == [len(found.columns)] * 3


def test_where_less_is_better_the_order_turns() -> None:
    seen = [run(name, v, measure="rmse") for name, v in (("local", BAD), ("ditto", GOOD))]
    assert [row[1] for row in table(*seen, measure="rmse").rows] == ["local", "ditto"]


def test_only_the_same_data_and_measure_are_ranked() -> None:
    other = run("apfl", GOOD, data="mnist")
    wrong = run("fedavg", GOOD, measure="auc")
    found = table(run("local", BAD), run("ditto", GOOD), other, wrong)
    assert [row[1] for row in found.rows] == ["ditto", "local"]
    turned = table(wrong, other, run("local", BAD), run("ditto", GOOD))  # in any order
    assert turned.rows == found.rows
    assert table(run("local", BAD), other).rows == []  # one alone has no rank
    assert table(run("local", BAD)).rows == []
    assert table().rows == []


def test_seeds_of_one_experiment_are_one_row() -> None:
    twice = [run("ditto", GOOD), run("ditto", SAME, seed=1)]
    found = table(*twice, run("local", BAD), run("local", BAD, seed=1))
    assert [row[1] for row in found.rows] == ["ditto", "local"]
    assert "…" in found.rows[0][-1]
    one = table(twice[0], run("local", BAD))
    assert one.rows[0][-1] == "–"  # one seed has no interval over seeds


def test_every_seed_counts_the_same_however_many_clients_it_has() -> None:
    """ditto leads by the mean over seeds that is shown, 70 to 60 %; over all 44 clients apfl would,
    60 to 54 %, and not by chance. Intervals are of the mean that is shown.
    """
    few, many = [0.0] * 4, [0.0] * 40
    seen = [
        run(method, [score + one for one in apart], seed)
        for method, scores in (("apfl", (0.6, 0.6)), ("ditto", (0.9, 0.5)))
        for seed, (score, apart) in enumerate(zip(scores, (few, many), strict=True))
    ]
    rows, _ = ranked(SimpleNamespace(seen=seen, measure="accuracy"))
    assert [(row["method"], round(row["mean"], 2)) for row in rows] == [
        ("ditto", 0.7),
        ("apfl", 0.6),
    ]
    for row in rows:
        assert row["low"] - 1e-9 <= row["mean"] <= row["high"] + 1e-9


def test_seeds_that_disagree_share_a_rank_though_their_clients_agree() -> None:
    """ditto is better by 20 points under one seed and worse by 10 under the other. Of natural
    clients each is the same person under both, and better by 5 in the mean; other seeds may yet
    have it worse.
    """
    seen = [
        run(method, [0.5 + gain + 0.001 * k for k in range(40)], seed)
        for method, gains in (("apfl", (0.0, 0.0)), ("ditto", (0.2, -0.1)))
        for seed, gain in enumerate(gains)
    ]
    assert [row[:2] for row in table(*seen).rows] == [["1=", "ditto"], ["1=", "apfl"]]
    names = {k: f"person {k}" for k in range(40)}
    persons = [one._replace(persons=names) for one in seen]
    assert [row[:2] for row in table(*persons).rows] == [["1=", "ditto"], ["1=", "apfl"]]


@pytest.mark.parametrize(
    ("first", "second", "mean", "half"),
    [
        # a counts 1/3 + 1 and has (0.59 / 3 + 0.55) / (4/3) = 0.56; b and c count 1/3. These are as
        # good as 2 equal persons, 4 / (16/9 + 1/9 + 1/9): t of 1 degree of freedom is 12.706. The
        # shares are 2/3, 1/6, 1/6, and the squared distances of one variance to their mean 1/6,
        # 7/6, 7/6 of it: the error is 0.005 √(4/9 · 6 + 1/36 · 6/7 + 25/36 · 6/7) = √(23/7) / 200
        ({"a": 0.59, "b": 0.56, "c": 0.53}, {"a": 0.55}, 0.555, 12.7062 * (23 / 7) ** 0.5 / 200),
        # as many in both, and others: a counts twice as much as b and c
        ({"a": 0.56, "b": 0.54}, {"a": 0.58, "c": 0.52}, 0.55, None),
    ],
)
def test_a_person_counts_once_for_every_seed_that_it_is_in(first, second, mean, half) -> None:
    """The interval is of the mean that is shown: of 0.56 and 0.55, and of 0.55 and 0.55."""
    seen = [
        run(method, values.values(), seed)._replace(persons=dict(enumerate(values)))
        for method in ("apfl", "ditto")
        for seed, values in enumerate((first, second))
    ]
    for row in ranked(SimpleNamespace(seen=seen, measure="accuracy"))[0]:
        assert row["mean"] == pytest.approx(mean)
        assert (row["low"] + row["high"]) / 2 == pytest.approx(mean)
        if half is not None:
            assert row["high"] - row["mean"] == pytest.approx(half, rel=1e-4)


def test_a_seed_without_any_score_is_no_zero() -> None:
    found = table(run("local", BAD), run("ditto", GOOD), run("ditto", [], seed=1))
    assert [(row[1], row[3]) for row in found.rows] == [("ditto", "81.50 %"), ("local", "42.00 %")]


def test_experiments_are_ranked_on_the_seeds_that_all_of_them_have() -> None:
    """comet loses to ditto under the seed of both; ditto's unlucky one is no reason to lead."""
    ditto = [run("ditto", GOOD), run("ditto", [v - 0.3 for v in GOOD], seed=1)]
    comet = [run("comet", [v - 0.05 for v in GOOD])]
    found = table(*comet, *ditto)
    assert [(row[0], row[1], row[3]) for row in found.rows] == [
        ("1", "ditto", "81.50 %"),
        ("2", "comet", "76.50 %"),
    ]
    assert found.rows[0][-1] == "–"  # one seed of two is left
    assert found.caption.endswith("; of seed 0 alone, which all have")
    assert "all have" not in table(*comet, ditto[0]).caption
    apart = table(*comet, ditto[1])
    assert [row[:2] for row in apart.rows] == [["–", "comet"], ["–", "ditto"]]
    assert apart.caption.endswith("; –: no two have a seed in common, so none has a rank")


def test_without_a_seed_in_common_with_the_others_there_is_no_rank() -> None:
    """apfl leads by its mean, and has no pair with anybody."""
    lucky = run("apfl", [v + 0.1 for v in GOOD], seed=1)
    found = table(lucky, run("local", BAD), run("ditto", GOOD), run("fedavg", SAME))
    assert [row[:2] for row in found.rows] == [
        ["1=", "ditto"],
        ["1=", "fedavg"],
        ["3", "local"],
        ["–", "apfl"],
    ]
    assert found.rows[-1][3] == "91.50 %"
    assert found.caption.endswith("; of seed 0 alone; –: no run of it, so no rank")


def test_without_a_seed_of_all_those_of_the_commonest_are_ranked() -> None:
    """Seed 1 is that of three: comet's seed 0 is in no mean, and apfl's 2 in no rank."""
    comet = [run("comet", [v - 0.3 for v in GOOD]), run("comet", GOOD, seed=1)]
    others = [run("local", BAD, seed=1), run("ditto", SAME, seed=1), run("apfl", GOOD, seed=2)]
    found = table(*comet, *others)
    assert [row[:2] for row in found.rows] == [
        ["1=", "comet"],
        ["1=", "ditto"],
        ["3", "local"],
        ["–", "apfl"],
    ]
    assert found.rows[0][3] == "81.50 %"
