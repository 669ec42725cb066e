"""A public set of one's own: read as the private table is, and its labels are the
private classes.
"""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fedkin.core.errors import FedkinError
from fedkin.core.rng import Key
from fedkin.data.formats.user_files import read_own
from fedkin.data.population import Population
from fedkin.data.population_builder import build
from fedkin.data.public import Public
from fedkin.data.source import Source
from fedkin.runs.spec import parse
from fedkin.setup.population import population_of
from tests.cli.command import ran
from tests.data.formats.test_hugging_face import write_saved

HEAD = "code;hospital;age;ward;dose;outcome"
KEYS = {
    "client": "hospital",
    "label": "outcome",
    "separator": ";",
    "drop": ["code"],
    "categorical": ["ward"],
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Forty patients of two hospitals; wards are called 01 and 02."""
    rows = [f"p{i};{'ns'[i % 2]};{20 + i};0{1 + i % 2};{i / 4};{'xy'[i % 2]}" for i in range(40)]
    (tmp_path / "t.csv").write_text("\n".join([HEAD, *rows]))
    return tmp_path


def drawn(folder: Path, *rows: str, labeled: bool = False, **data: Any) -> Population:
    (folder / "pub.csv").write_text("\n".join(rows))
    public = {"source": str(folder / "pub.csv"), "samples": len(rows) - 1, "labeled": labeled}
    content = {"data": {"name": str(folder / "t.csv"), **KEYS, **data}, "public": public}
    return population_of(parse(content)[0], wanted=True)


@pytest.mark.parametrize(
    "rows",
    [
        ["age;ward;dose", "30;02;1.5", "50;01;2"],
        ["age;ward;dose;outcome", "30;02;1.5;", "50;01;2;who knows"],  # nobody reads labels
        [
            "hospital;age;ward;outcome;dose;code",
            "elsewhere;30;02;x;1.5;p1",
            "elsewhere;50;01;y;2;p2",
        ],
    ],
)
def test_what_models_do_not_see_may_be_there_or_not(rows: list[str], folder: Path) -> None:
    found = drawn(folder, *rows)
    assert found.public is not None
    assert found.public_y is None
    assert found.encoding is not None
    assert found.encoding.outputs == ["age", "ward = 01", "ward = 02", "dose"]
    assert found.public[:, 1:3].tolist() == [[0, 1], [1, 0]]


def test_a_column_that_says_a_clients_model_is_not_missed(folder: Path) -> None:
    assert (
        drawn(folder, "age;ward;dose;code", "30;02;1.5;p1", drop=[], about=["code"]).public
        is not None
    )
    assert drawn(folder, "age;ward;dose", "30;02;1.5", drop=[], about=["code"]).public is not None


def test_labels_are_the_private_classes(folder: Path) -> None:
    found = drawn(folder, "age;ward;dose;outcome", "30;02;1.5;y", "50;01;2;y", labeled=True)
    assert found.public_y is not None
    assert found.public_y.tolist() == [
        1,
        1,
    ]  # by itself the file has one class, which would be number 0


def test_labels_that_are_none_of_them(folder: Path) -> None:
    head = "age;ward;dose"
    with pytest.raises(
        FedkinError,
        match=r"public label 'z' of pub is none of the classes of t \(x, y\): leave out",
    ):
        drawn(folder, f"{head};outcome", "30;02;1.5;y", "50;01;2;z", labeled=True)
    with pytest.raises(
        FedkinError, match=r"pub\.csv has no column 'outcome', the label of the private table \("
    ):
        drawn(folder, head, "30;02;1.5", labeled=True)
    with pytest.raises(FedkinError, match=r"line 2: column 'outcome' is empty"):
        drawn(folder, f"{head};outcome", "30;02;1.5;", labeled=True)
    (folder / "t.csv").write_text(
        (folder / "t.csv").read_text().replace(";x", ";0.5").replace(";y", ";2")
    )
    found = drawn(
        folder, f"{head};outcome", "30;02;1.5;3", labeled=True
    )  # no fraction, but targets of regression
    assert found.public_y is not None
    assert found.public_y.tolist() == [3.0]


@pytest.mark.parametrize(
    ("ours", "theirs", "numbers"),
    [
        (("cat", "dog", "owl"), ("dog", "owl"), [1, 2]),
        ((), ("1", "2"), [1, 2]),  # names that are numbers, and numbers
        ((), ("cat", "dog"), [0, 1]),  # nothing says which is which: as they are numbered
        (("cat", "dog", "owl"), (), [0, 1]),
    ],
)
def test_names_say_which_class_is_which(
    ours: tuple[str, ...], theirs: tuple[str, ...], numbers: list[int]
) -> None:
    rows = np.arange(30, dtype=np.float32)[:, None]
    source = Source("own", rows, np.arange(30) % 3, 3, class_names=ours)
    other = Source("other", rows[:2], np.arange(2), 2, class_names=theirs)
    found = build(source, "iid", 2, Key(0), public=Public(2, other, labeled=True))
    assert found.public_y is not None
    assert found.public_y.tolist() == numbers


def test_a_class_without_a_row_is_no_stranger() -> None:
    rows = np.arange(30, dtype=np.float32)[:, None]
    source = Source("own", rows, np.arange(30) % 2, 2, class_names=("0", "1"))
    other = Source("other", rows[:2], np.array([1, 1]), 3, class_names=("0", "1", "A"))
    found = build(source, "iid", 2, Key(0), public=Public(2, other, labeled=True))
    assert found.public_y is not None
    assert found.public_y.tolist() == [1, 1]


def test_a_saved_data_set_without_labels(tmp_path: Path) -> None:
    write_saved(tmp_path / "saved", {"age": [1, 2], "who": ["a", "b"]}, {})
    found = read_own(f"{tmp_path / 'saved'}/", None, {"client": "who", "label": "ill"}, "unlabeled")
    assert found.columns is not None
    assert [column.name for column in found.columns.columns] == ["age"]


def test_as_it_is_typed(tmp_path: Path) -> None:
    rows = [f"{'ns'[i % 2]},{i},{'xy'[i % 3 % 2]}" for i in range(60)]
    (tmp_path / "t.csv").write_text("\n".join(["hospital,age,outcome", *rows]))
    (tmp_path / "pub.csv").write_text("age\n" + "\n".join(map(str, range(30))))
    data = [
        "--data",
        f"{tmp_path / 't.csv'}:client=hospital,label=outcome",
        "--clients",
        "2",
        "--model",
        "mlr",
    ]
    ran(
        tmp_path / "run",
        *data,
        "--method",
        "comet:clusters=2",
        "--public",
        f"{tmp_path / 'pub.csv'}:20",
    )


def test_labels_of_their_own_come_after_the_private_ones() -> None:
    rows = np.arange(30, dtype=np.float32)[:, None]
    source = Source("own", rows, np.arange(30) % 3, 3, class_names=("cat", "dog", "owl"))
    other = Source("other", rows[:4], np.array([1, 0, 1, 4]), 5)
    found = build(source, "iid", 2, Key(0), public=Public(4, other, labeled=True, own=True))
    assert found.public_y is not None
    assert found.public_y.tolist() == [4, 3, 4, 7]
    assert found.classes == 8
    assert found.class_names == ("cat", "dog", "owl", *(f"public {k}" for k in range(5)))
    assert int(found.y.max()) == 2


@pytest.mark.parametrize(
    ("public", "told"),
    [
        (Public(2, own=True), "set public.labeled = true too"),
        (Public(2, labeled=True, own=True), "a held-out public set has the private labels"),
    ],
)
def test_labels_of_their_own_need_labels_and_another_source(public: Public, told: str) -> None:
    source = Source("own", np.arange(30, dtype=np.float32)[:, None], np.arange(30) % 3, 3)
    with pytest.raises(FedkinError, match=told):
        build(source, "iid", 2, Key(0), public=public)
