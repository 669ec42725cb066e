"""LEAF's JSON files."""

import json
from pathlib import Path
from typing import Any

import pytest

from fedkin.core.errors import FedkinError
from fedkin.data.sources import load
from fedkin.experiment.run import experiment


def leaf(users: dict[str, tuple[list[Any], list[Any]]]) -> str:
    data = {name: {"x": x, "y": y} for name, (x, y) in users.items()}
    return json.dumps(
        {
            "users": list(users),
            "num_samples": [len(y) for _, y in users.values()],
            "user_data": data,
        }
    )


def test_leaf(tmp_path: Path) -> None:
    for part in ("train", "test"):
        (tmp_path / part).mkdir()
    (tmp_path / "train" / "a.json").write_text(
        leaf({"ann": ([[0.0, 0.5], [1.0, 0]], [3, 0]), "bob": ([], [])})
    )
    (tmp_path / "train" / "b.json").write_text(leaf({"cem": ([[0.25, 1]], [1])}))
    (tmp_path / "test" / "a.json").write_text(leaf({"ann": ([[0.75, 0]], [2])}))
    source = load(f"{tmp_path}/")
    assert source.x.tolist() == [[0, 0.5], [1, 0], [0.25, 1], [0.75, 0]]
    assert source.y.tolist() == [3, 0, 1, 2]
    assert source.client is not None
    assert source.client.tolist() == ["ann", "ann", "cem", "ann"]
    assert source.official_test is not None
    assert source.official_test.tolist() == [False, False, False, True]
    assert source.said == ("1 user has no samples, so no client: bob",)
    assert load(f"{tmp_path}/", shape=[1, 2, 1]).x.shape == (4, 1, 2, 1)


def test_whole_numbers_are_classes_however_they_are_written(tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    path.write_text(leaf({"ann": ([[1], [2], [3]], [1.0, 0, 2.0])}))
    source = load(str(path))
    assert (source.task, source.classes, source.y.tolist()) == ("classification", 3, [1, 0, 2])
    numbers = load(str(path), task="regression")
    assert (numbers.task, numbers.y.tolist()) == ("regression", [1, 0, 2])
    path.write_text(leaf({"ann": ([[1], [2]], [1.0, 0.5])}))
    assert load(str(path)).task == "regression"
    with pytest.raises(FedkinError, match=r"y holds 0\.5, which is no class"):
        load(str(path), task="classification")


def test_a_user_who_stands_twice_is_refused(tmp_path: Path) -> None:
    one = '"a": {"x": [[1]], "y": [0]}'
    (tmp_path / "t.json").write_text(f'{{"users": ["a"], "user_data": {{{one}, {one}}}}}')
    with pytest.raises(FedkinError, match="'a' stands twice in one object"):
        load(str(tmp_path / "t.json"))


def test_users_are_the_clients_unless_a_split_is_named(tmp_path: Path) -> None:
    (tmp_path / "t.json").write_text(leaf({"ann": ([[1, 2]], [1])}))
    assert experiment({"data": {"name": str(tmp_path / "t.json")}}).split.name == "natural"
    assert experiment({"data": {"name": f"{tmp_path}/"}}).split.name == "natural"
    assert (
        experiment({"data": {"name": f"{tmp_path}/"}, "split": {"name": "iid"}}).split.name == "iid"
    )
    assert experiment({"data": {"name": "digits"}}).split.name == "dirichlet"


def test_leafs_characters(tmp_path: Path) -> None:
    (tmp_path / "t.json").write_text(leaf({"hal": (["abca", "bcab"], ["b", "c"])}))
    source = load(str(tmp_path / "t.json"))
    assert source.class_names == ("a", "b", "c")
    assert source.x.tolist() == [[0, 1, 2, 0], [1, 2, 0, 1]]
    assert source.y.tolist() == [1, 2]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (leaf({"ann": ([[1, 2]], [1])})[:-9], "cut short"),
        (leaf({"ann": ([[1, 2]], [1, 2])}), "user 'ann' has 1 x and 2 y"),
        (leaf({"ann": ([[1, 2], [1]], [1, 2])}), "user 'ann'"),
        (leaf({"ann": ([[1, 2]], [1]), "bob": ([[1]], [0])}), "samples of user 'bob'"),
        (leaf({"ann": ([[1, 2]], [-1])}), "number the classes from 0"),
        (leaf({"ann": ([[1, 2]], [10**30])}), "number the classes from 0"),
        (leaf({"ann": ([[1], [2]], [0.5, 10**400])}), "y holds a whole number that is too large"),
        (leaf({"ann": ([[1, 2]], [None])}), "NoneType"),
        (leaf({"ann": ([], [])}), "holds no samples"),
        (
            '{"users": ["ann"], "user_data": {"bob": {"x": [], "y": []}}}',
            "user 'ann' is not in both",
        ),
        ('{"speech": ["a"]}', "needs users and user_data"),
        ('{"a": ' + "[" * 100_000, "cannot be read"),
    ],
)
def test_faults_of_leaf_are_told(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "t.json").write_text(text)
    with pytest.raises(FedkinError, match=words) as error:
        load(str(tmp_path / "t.json"))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("begin", ["[", "\ufeff\n ["])
@pytest.mark.parametrize("keys", [{}, {"client": "site", "label": "ill"}])
def test_records_are_told_apart_from_it(begin: str, keys: dict[str, str], tmp_path: Path) -> None:
    path = tmp_path / "patients.json"
    path.write_text(f'{begin}{{"age": 40, "site": "a", "ill": 1}}]', encoding="utf-8")
    with pytest.raises(FedkinError, match=r"patients\.json holds a list, .*as \.csv, a row each"):
        load(str(path), **keys)
