"""Saved data sets of Hugging Face, and its hub."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fedkin.core.errors import FedkinError
from fedkin.data.sources import load
from tests.cli.command import fedkin
from tests.data.formats.user_files_examples import write_pictures


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


def _saved_pictures(tmp_path: Path, part: str, names: list[str], labels: list[Any]) -> None:
    files = sorted((tmp_path / "photos").glob("*/*/*"))
    columns = {
        "image": [{"bytes": file.read_bytes(), "path": None} for file in files],
        "label": labels,
        "who": ["a"] * 6 + ["b"] * 6,
        "visit": [at // 2 for at in range(12)],
    }
    named = {"label": {"names": names, "_type": "ClassLabel"}} if names else {}
    write_saved(tmp_path / "two" / part, columns, {"image": {"_type": "Image"}, **named})
    (tmp_path / "two" / "dataset_dict.json").write_text('{"splits": ["train", "test"]}')


def test_each_part_of_a_saved_data_set_names_its_own_classes(tmp_path: Path) -> None:
    pytest.importorskip("PIL")
    write_pictures(tmp_path / "photos")
    _saved_pictures(tmp_path, "train", ["cat", "dog"], [0, 1] * 6)
    _saved_pictures(tmp_path, "test", ["dog", "cat"], [1, 0] * 6)
    source = load(f"{tmp_path / 'two'}/", client="who")
    assert source.class_names == ("cat", "dog")
    assert source.y.tolist() == [0, 1] * 12


def test_keys_of_a_saved_data_set_of_pictures(tmp_path: Path) -> None:
    pytest.importorskip("PIL")
    write_pictures(tmp_path / "photos")
    for part in ("train", "test"):
        _saved_pictures(tmp_path, part, [], [0.5, 1, 10, 2] * 3)
    folder = f"{tmp_path / 'two'}/"
    source = load(folder, client="who", group="visit", about="who", drop="visit")
    assert (source.task, source.group) == ("regression", "visit")
    assert source.truth["visit"].tolist() == [at // 2 for at in range(12)] * 2
    assert source.truth["who"].tolist() == (["a"] * 6 + ["b"] * 6) * 2
    assert load(folder, task="classification").class_names == ("0.5", "1.0", "2.0", "10.0")
    for keys, said in (
        ({"text": "who"}, r"two holds images, and data\.text is for tables"),
        ({"scale": "none"}, r"data\.scale is for tables"),
        ({"unlabeled": "drop"}, r"data\.unlabeled is for tables"),
        ({"duplicates": "drop"}, r"data\.duplicates is for tables"),
        ({"drop": "image"}, r"data\.drop leaves out 'image', which holds the images"),
        ({"group": "visits"}, r"no group column 'visits': did you mean 'visit'"),
        ({"task": "guess"}, r"task='guess' is not known"),
    ):
        with pytest.raises(FedkinError, match=said):
            load(folder, **keys)  # type: ignore[arg-type]


def test_a_saved_table_takes_the_keys_that_its_checks_prescribe(tmp_path: Path) -> None:
    features = {"label": {"names": ["neg", "pos"], "_type": "ClassLabel"}}
    for part, ages, labels in (
        ("train", [1, -9, 2, 2, 5], [1, 0, 1, 1, -1]),
        ("test", [3, 4, 6], [0, 1, -1]),
    ):
        site = ["a", "A ", "b", "b", "b"][: len(ages)]
        columns = {"age": ages, "site": site, "label": labels}
        write_saved(tmp_path / "saved" / part, columns, features)
    (tmp_path / "saved" / "dataset_dict.json").write_text('{"splits": ["train", "test"]}')
    folder = f"{tmp_path / 'saved'}/"
    with pytest.raises(FedkinError, match=r"data\.unlabeled=drop"):
        load(folder)
    source = load(
        folder, unlabeled="drop", duplicates="drop", missing={"age": [-9]}, unify=["site"]
    )
    assert source.official_test is not None
    assert source.official_test.tolist() == [False, False, False, True, True]
    assert np.nan_to_num(source.x[:, 0], nan=-1).tolist() == [1, -1, 2, 3, 4]
    assert source.columns is not None
    assert source.columns.columns[1].values == ("a", "b")


def test_the_other_columns_of_images_are_told(tmp_path: Path) -> None:
    pytest.importorskip("PIL")
    files = sorted((write_pictures(tmp_path / "photos")).glob("*/*/*"))
    cells = [{"bytes": file.read_bytes(), "path": None} for file in files]
    columns = {"image": cells, "mask": cells[::-1], "label": [0, 1] * 6}
    features = {"image": {"_type": "Image"}, "mask": {"_type": "Image"}}
    write_saved(tmp_path / "saved", columns, features)
    source = load(f"{tmp_path / 'saved'}/")
    assert source.said[-1] == (
        'of the columns of images image, mask the first is taken: data.drop=["image"] takes the '
        "next"
    )
    other = load(f"{tmp_path / 'saved'}/", drop=["image"])
    np.testing.assert_array_equal(other.x, source.x[::-1])
    assert not other.said


def test_the_hub_is_asked_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    arrow = pytest.importorskip("pyarrow")

    class Rows:
        def __init__(self, values: dict[str, Any]) -> None:
            self.data, self.features = arrow.table(values), {"label": type("Value", (), {})()}

    asked = []

    class Hub:
        @staticmethod
        def load_dataset(path: str, name: str | None) -> dict[str, Rows]:
            asked.append((path, name))
            if path == "nobody/nothing":
                raise FileNotFoundError("it does not exist\nand more")
            return {
                "train": Rows({"a": [1, 2], "label": [0, 1]}),
                "test": Rows({"a": [3], "label": [1]}),
            }

    monkeypatch.setitem(__import__("sys").modules, "datasets", Hub)
    source = load("hf:me/mine", label="label")
    assert (asked, source.x.tolist()) == ([("me/mine", None)], [[1], [2], [3]])
    part = load("hf:me/mine", label="label", configuration="small")
    assert (asked[1:], part.name) == ([("me/mine", "small")], "me-mine-small")
    with pytest.raises(FedkinError, match=r"configuration"):
        load("hf:me/mine", configuration=3)
    with pytest.raises(FedkinError, match=r"did you mean 'configuration'"):
        load("hf:me/mine", configurations="small")
    with pytest.raises(FedkinError, match="hf:nobody/nothing cannot be had: it does not exist"):
        load("hf:nobody/nothing")
    monkeypatch.setitem(__import__("sys").modules, "datasets", None)
    with pytest.raises(FedkinError, match=r"the extra hf: in fedkin's checkout"):
        load("hf:me/mine")
