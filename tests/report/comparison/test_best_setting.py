"""Of several settings of a method the one that is best on validation data."""

import pytest

from fedkin.report.comparison.best_setting import COLUMNS, best
from fedkin.report.comparison.run_row import FINISHED, ComparedRun


def run(
    name,
    lam,
    seed,
    validation,
    state=FINISHED,
    method="ditto",
    measure="accuracy",
    each=None,
    samples=None,
):
    row = {"run": name, "method": method, "seed": seed, "state": state}
    hyper = {"lam": lam}
    if each is None:
        each = {k: (validation or 0) + 0.01 * k for k in range(9)}
    return ComparedRun(
        row,
        experiment=f"{method} {lam}",
        family=method,
        measure=measure,
        validation=validation,
        validated=each,
        samples=samples or dict.fromkeys(each, 10),
        hyper=hyper,
        tuned=hyper,
    )


RUNS = [
    run("a0", 0.1, 0, 0.5),
    run("a1", 0.1, 1, 0.6),
    run("b0", 0.5, 0, 0.7),
    run("b1", 0.5, 1, 0.8),
    run("b2", 0.5, 2, 0.0),  # a seed that the other has not
    run("c0", 9, 0, 0.1, method="fedavg"),
]


def test_the_mean_over_common_seeds_chooses() -> None:
    stay, rows, warnings = best(RUNS)
    assert [one.name for one in stay] == ["b0", "b1", "b2", "c0"]
    assert warnings == []
    assert [list(row) for row in rows] == [COLUMNS] * 2
    by = {row["chosen"]: row for row in rows}
    assert by[True]["validation"] == pytest.approx(0.75)
    assert by[False]["validation"] == pytest.approx(0.55)
    assert (by[True]["rank"], by[False]["rank"]) == (1, 2)
    assert by[True]["seeds"] == [0, 1]


def test_where_less_is_better_the_lowest_is_chosen() -> None:
    errors = [one._replace(measure="rmse") for one in RUNS[:4]]
    stay, _, _ = best(errors)
    assert [one.name for one in stay] == ["a0", "a1"]


def test_equal_settings_go_to_the_first() -> None:
    stay, rows, _ = best([run("b", 0.5, 0, 0.7), run("a", 0.1, 0, 0.7 + 1e-15)])
    assert [one.name for one in stay] == ["b"]
    assert [row["rank"] for row in rows] == [1, 1]
    assert [row["tie"] for row in rows] == [True, True]


def test_what_is_not_finished_is_shown_and_has_no_say() -> None:
    late = run("b0", 0.5, 0, 0.9, state="unfinished")
    stay, rows, _ = best([run("a0", 0.1, 0, 0.5), late])
    assert [one.name for one in stay] == ["a0", "b0"]
    assert rows == []


def test_where_nothing_rivals_it_is_said() -> None:
    other = run("b", 0.5, 0, 0.7)._replace(family="ditto of another model")
    stay, rows, warnings = best([run("a", 0.5, 0, 0.5), other])
    assert (len(stay), rows) == (2, [])
    assert warnings == [
        "--best: there is nothing to choose, for no two settings of a method differ in [method] "
        "and [train] alone"
    ]


@pytest.mark.parametrize(
    ("second", "why"),
    [
        (run("b", 0.5, 0, None), "a setting has no validation score"),
        (run("b", 0.5, 1, 0.7), "they have no seed in common"),
    ],
)
def test_without_a_comparison_nothing_is_chosen(second, why) -> None:
    stay, rows, warnings = best([run("a", 0.1, 0, 0.5), second])
    assert len(stay) == 2
    assert rows == []
    assert warnings == [f"ditto: no setting is chosen, for {why}"]


def test_a_setting_that_diverged_loses_and_all_that_did_choose_nothing() -> None:
    worse = run("b", 0.5, 0, float("inf"), measure="log_loss", each={})
    stay, rows, _ = best([run("a", 0.1, 0, 2.0, measure="log_loss"), worse])
    assert [one.name for one in stay] == ["a"]
    assert [row["validation"] for row in rows] == [2.0, None]
    assert [(row["rank"], row["tie"]) for row in rows] == [(1, False), (2, False)]
    both = [worse, worse._replace(experiment="ditto x", row={**worse.row, "run": "c"})]
    assert best(both)[2] == ["ditto: no setting is chosen, for clients diverged under every one"]


def test_ranks_are_of_the_number_that_chooses() -> None:
    """One client has most of the samples, and says otherwise than the many small ones."""
    samples = {0: 900} | dict.fromkeys(range(1, 11), 10)
    large = {0: 0.9} | dict.fromkeys(range(1, 11), 0.5)
    small = {0: 0.6} | dict.fromkeys(range(1, 11), 0.7)

    def of(name, lam, seed, each):
        mean = sum(each[k] * n for k, n in samples.items()) / 1000
        return run(name, lam, seed, mean, each=each, samples=samples)

    seen = [
        of(f"{name}{seed}", lam, seed, each)
        for name, lam, each in (("s", 1, small), ("l", 2, large))
        for seed in (0, 1)
    ]
    stay, rows, _ = best(seen)
    assert [one.name for one in stay] == ["l0", "l1"]
    by = {row["chosen"]: row for row in rows}
    assert by[True]["validation"] > by[False]["validation"]
    assert by[True]["rank"] == 1
    assert by[False]["rank"] >= by[True]["rank"]


def test_a_person_has_its_samples_of_each_seed() -> None:
    """Of 12 persons each has 9 samples in one seed, where setting 2 gains 0.1, and 1 in the other,
    where it loses 0.1: it gains 0.08 in both means, and for every person.
    """
    persons = {k: f"p{k}" for k in range(12)}
    seen = []
    for seed in (0, 1):
        samples = {k: 9 if k % 2 == seed else 1 for k in persons}
        gains = {k: 0.6 if n == 9 else 0.4 for k, n in samples.items()}
        for lam, mean, each in ((1, 0.5, dict.fromkeys(persons, 0.5)), (2, 0.58, gains)):
            one = run(f"{lam}-{seed}", lam, seed, mean, each=each, samples=samples)
            seen.append(one._replace(persons=persons))
    _, rows, _ = best(seen)
    assert [(row["rank"], row["tie"]) for row in rows] == [(2, False), (1, False)]
