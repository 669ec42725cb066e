"""Folders of pictures, LEAF's JSON, data sets saved by Hugging Face: what is in the files arrives,
faults are told.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fedkin.core.errors import FedkinError
from fedkin.data.sources import load
from fedkin.experiment.run import experiment
from tests.cli.command import fedkin


def write_pictures(folder: Path, clients: int = 2) -> Path:
    """CLIENT/CLASS/n.png: 4×5 grey pictures whose first pixel counts them."""
    Image = pytest.importorskip("PIL.Image")
    number = 0
    for client in range(clients):
        for label in ("cat", "dog"):
            place = folder / f"phone{client}" / label
            place.mkdir(parents=True)
            for at in range(3):
                pixels = np.full((4, 5), number, dtype=np.uint8)
                Image.fromarray(pixels).save(place / f"{at}.png")
                number += 1
    return folder


def test_pictures(tmp_path: Path) -> None:
    folder = write_pictures(tmp_path / "photos")
    (folder / "README.txt").write_text("mine")
    (folder / "phone9").mkdir()
    source = load(f"{folder}/")
    assert source.x.shape == (12, 1, 4, 5)
    assert source.x[:, 0, 0, 0].tolist() == list(range(12))
    assert source.y.tolist() == [0, 0, 0, 1, 1, 1] * 2
    assert source.class_names == ("cat", "dog")
    assert source.client is not None
    assert source.client.tolist() == ["phone0"] * 6 + ["phone1"] * 6
    assert source.said == (
        "1 file is not of the form CLIENT/CLASS/picture and left out: README.txt",
        "1 folder has no pictures, so no client: phone9",
    )
    assert load(f"{folder}/", colour="rgb", size=[2, 3]).x.shape == (12, 3, 2, 3)


def test_faults_of_pictures_name_the_file(tmp_path: Path) -> None:
    Image = pytest.importorskip("PIL.Image")
    folder = write_pictures(tmp_path / "photos")
    odd = folder / "phone1" / "dog" / "2.png"
    whole = odd.read_bytes()
    odd.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(FedkinError, match=r"dog/2\.png is no readable picture"):
        load(f"{folder}/")
    Image.fromarray(np.zeros((9, 9), dtype=np.uint8)).save(odd)
    with pytest.raises(FedkinError, match=r"2\.png has 9×9 pixels and .* has 4×5.*data\.size"):
        load(f"{folder}/")
    flat = tmp_path / "flat" / "cat"
    flat.mkdir(parents=True)
    Image.fromarray(np.zeros((9, 9), dtype=np.uint8)).save(flat / "1.png")
    with pytest.raises(FedkinError, match=r"no pictures of the form CLIENT/CLASS/picture"):
        load(f"{tmp_path / 'flat'}/")


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
        (leaf({"ann": ([[1, 2]], [None])}), "NoneType"),
        (leaf({"ann": ([], [])}), "holds no samples"),
        (
            '{"users": ["ann"], "user_data": {"bob": {"x": [], "y": []}}}',
            "user 'ann' is not in both",
        ),
        ('{"speech": ["a"]}', "needs users and user_data"),
        ("[" * 100_000, "cannot be read"),
    ],
)
def test_faults_of_leaf_are_told(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "t.json").write_text(text)
    with pytest.raises(FedkinError, match=words) as error:
        load(str(tmp_path / "t.json"))
    assert "\n" not in str(error.value)


def write_saved(
    folder: Path, columns: dict[str, Any], features: dict[str, Any], pieces: int = 1
) -> None:
    """What ``datasets.Dataset.save_to_disk`` writes."""
    arrow = pytest.importorskip("pyarrow")
    folder.mkdir(parents=True)
    files = [f"data-{at:05}-of-{pieces:05}.arrow" for at in range(pieces)]
    table, size = arrow.table(columns), -(-len(next(iter(columns.values()))) // pieces)
    for at, file in enumerate(files):
        with (folder / file).open("wb") as sink, arrow.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table.slice(at * size, size))
    (folder / "state.json").write_text(
        json.dumps({"_data_files": [{"filename": file} for file in files]})
    )
    (folder / "dataset_info.json").write_text(json.dumps({"features": features}))


def test_a_saved_data_set(tmp_path: Path) -> None:
    features = {
        "label": {"names": ["neg", "pos"], "_type": "ClassLabel"},
        "text": {"dtype": "string", "_type": "Value"},
    }
    texts = ["so good", "so bad", "good", "bad bad"]
    for part, size in (("train", 4), ("test", 2)):
        columns = {
            "text": texts[:size],
            "user": ["u", "v", "u", "v"][:size],
            "label": [1, 0, 1, 0][:size],
        }
        write_saved(tmp_path / "reviews" / part, columns, features, pieces=2)
    (tmp_path / "reviews" / "dataset_dict.json").write_text('{"splits": ["train", "test"]}')
    source = load(f"{tmp_path / 'reviews'}/", client="user", text=["text"])
    assert source.y.tolist() == [1, 0, 1, 0, 1, 0]
    assert source.class_names == ("neg", "pos")
    assert source.official_test is not None
    assert source.official_test.tolist() == [False] * 4 + [True] * 2
    assert source.columns is not None
    assert source.columns.columns[0].values == ("bad bad", "good", "so bad", "so good")
    done = fedkin(
        "data", "check", f"{tmp_path / 'reviews'}/:client=user", "--set", "data.text=text"
    )
    assert "2 test samples are training samples too" in done.output


def test_a_saved_data_set_of_pictures(tmp_path: Path) -> None:
    pytest.importorskip("PIL")
    files = sorted((write_pictures(tmp_path / "photos")).glob("*/*/*"))
    columns = {
        "image": [{"bytes": file.read_bytes(), "path": None} for file in files],
        "label": [0, 0, 0, 1, 1, 1] * 2,
        "who": ["a"] * 6 + ["b"] * 6,
    }
    features = {
        "image": {"_type": "Image"},
        "label": {"names": ["cat", "dog"], "_type": "ClassLabel"},
    }
    write_saved(tmp_path / "saved", columns, features)
    source = load(f"{tmp_path / 'saved'}/", client="who")
    np.testing.assert_array_equal(source.x, load(f"{tmp_path / 'photos'}/").x)
    assert source.class_names == ("cat", "dog")
    (tmp_path / "saved" / "data-00000-of-00001.arrow").write_bytes(b"broken")
    with pytest.raises(FedkinError, match="is damaged"):
        load(f"{tmp_path / 'saved'}/", client="who")


def test_the_hub_is_asked_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    arrow = pytest.importorskip("pyarrow")

    class Rows:
        def __init__(self, values: dict[str, Any]) -> None:
            self.data, self.features = arrow.table(values), {"label": type("Value", (), {})()}

    asked = []

    class Hub:
        @staticmethod
        def load_dataset(name: str) -> dict[str, Rows]:
            asked.append(name)
            if name == "nobody/nothing":
                raise FileNotFoundError("it does not exist\nand more")
            return {
                "train": Rows({"a": [1, 2], "label": [0, 1]}),
                "test": Rows({"a": [3], "label": [1]}),
            }

    monkeypatch.setitem(__import__("sys").modules, "datasets", Hub)
    source = load("hf:me/mine", label="label")
    assert (asked, source.x.tolist()) == (["me/mine"], [[1], [2], [3]])
    with pytest.raises(FedkinError, match="hf:nobody/nothing cannot be had: it does not exist"):
        load("hf:nobody/nothing")
    monkeypatch.setitem(__import__("sys").modules, "datasets", None)
    with pytest.raises(FedkinError, match=r"install fedkin\[hf\]"):
        load("hf:me/mine")


def test_an_empty_folder_is_told(tmp_path: Path) -> None:
    with pytest.raises(FedkinError, match="holds nothing that fedkin reads"):
        load(f"{tmp_path}/")
