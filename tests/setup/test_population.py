"""From a specification to the data of all clients."""

import pytest

from fedkin.core.errors import FedkinError
from fedkin.runs.spec import parse
from fedkin.setup import population as module
from fedkin.setup.population import (
    division_is_given,
    population_of,
    rooted,
    shared_reading,
    source_of,
)
from tests.awkward import CLASSES, table


def spec(**sections):
    return parse(sections)[0]


@pytest.fixture
def own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table(tmp_path / "a.csv")
    return {"data": {"name": "a.csv", "client": "site", "drop": ["words"]}}


def test_paths_mean_the_same_in_any_folder(own, tmp_path) -> None:
    found = rooted(spec(**own, public={"source": "a.csv"}))
    assert found.data.name == found.public.source == str(tmp_path / "a.csv")
    gone = rooted(spec(data={"name": "gone.csv", "dir": "nowhere"}))
    assert (gone.data.name, gone.data.dir) == ("gone.csv", "nowhere")
    named = rooted(spec(data={"name": "digits", "dir": "."}))
    assert (named.data.name, named.data.dir) == ("digits", str(tmp_path))


def test_one_file_is_read_once_for_two_who_ask(own, monkeypatch) -> None:
    asked = spec(**own)
    with shared_reading():
        first = source_of(asked)
        again = source_of(asked)
        third = source_of(asked)  # two who ask: then it is let go
    assert again is first
    assert third is not first
    assert source_of(asked) is not first
    assert module._kept == []


def test_another_wish_is_another_source(own) -> None:
    with shared_reading():
        assert source_of(spec(**own)).x.shape[1] == 2
        other = {"data": {**own["data"], "drop": ["words", "u"]}}
        assert source_of(spec(**other)).x.shape[1] == 1


def test_a_column_that_says_a_clients_model_is_not_seen(own) -> None:
    source = source_of(spec(**own, model={"column": "u", "map": {"1": "mlr"}, "rule": "column"}))
    assert [column.name for column in source.columns.columns] == ["v"]


def test_a_scale_of_ones_own_leaves_columns_as_they_are(own) -> None:
    scaled = source_of(spec(**own, model={}))
    assert scaled.columns.scale == "standard"
    plain = spec(data={**own["data"], "mean": [1.0], "std": [2.0]})
    assert source_of(plain).columns.scale == "none"


def test_a_drawn_set_follows_the_runs_seed() -> None:
    toy = {"data": {"name": "linear_toy"}}
    one, two = (source_of(spec(**toy, run={"seed": seed})) for seed in (1, 2))
    assert (one.x != two.x).any()
    kept = {"data": {"name": "linear_toy", "seed": 1}}
    assert (source_of(spec(**kept, run={"seed": 2})).x == one.x).all()


def test_public_samples_are_a_tenth_unless_somebody_says(own) -> None:
    asked = {**own, "split": {"name": "natural"}}
    assert population_of(spec(**asked), wanted=False).public is None
    people = population_of(spec(**asked), wanted=True)
    rows = sum(len(part) for split in ("train", "val", "test") for part in people.rows(split))
    assert len(people.public) == (rows + len(people.public)) // 10
    few = population_of(spec(**asked, public={"samples": 7, "labeled": True}), wanted=True)
    assert (len(few.public), len(few.public_y)) == (7, 7)
    assert few.classes == CLASSES


def test_clients_that_nobody_named_are_asked_for(own) -> None:
    bare = {"data": {"name": "a.csv"}}
    with pytest.raises(FedkinError, match=r"column 'site' \(6 values\) looks like its clients"):
        population_of(spec(**bare), wanted=False)
    divided = spec(**bare, split={"name": "iid"}, run={"clients": 4})
    assert division_is_given(divided)
    assert population_of(divided, wanted=False).clients == 4
    assert not division_is_given(spec(**bare, split={"train": 0.5, "val": 0.2, "test": 0.3}))


@pytest.mark.parametrize("partition", ["iid", "dirichlet"])
def test_the_group_of_a_table_is_kept_together_under_every_partition(tmp_path, partition) -> None:
    rows = [f"{at * 0.5},{at % 2},{at // 6}" for at in range(240)]
    (tmp_path / "t.csv").write_text("\n".join(["x,label,patient", *rows]) + "\n")
    asked = {
        "data": {"name": str(tmp_path / "t.csv"), "group": "patient"},
        "run": {"clients": 3},
    }
    found = population_of(spec(**asked, split={"name": partition}), wanted=False)
    patients = found.truth["patient"]
    for parts in zip(found.train, found.val, found.test, strict=True):
        seen = [set(patients[part]) for part in parts]
        assert all(seen)
        assert not (seen[0] & seen[1] | seen[0] & seen[2] | seen[1] & seen[2])
    assert any(
        f"values of 'patient' have rows at several clients, as {partition}" in one
        for one in found.said
    )
    alone = spec(**asked, split={"name": partition, "group": "none"})
    parted = population_of(alone, wanted=False)
    both = zip(parted.train, parted.test, strict=True)
    assert any(set(patients[train]) & set(patients[test]) for train, test in both)
    assert not any("several clients" in one for one in parted.said)


def test_a_division_that_leaves_nothing_to_measure_is_refused() -> None:
    asked = spec(data={"name": "digits"}, split={"train": 1.0, "val": 0.0, "test": 0.0})
    with pytest.raises(FedkinError, match=r"nothing can be measured: set split\.test above 0"):
        population_of(asked, wanted=False)
