"""Rows that come after training: read as the run's own, and what training never saw is counted and
said.
"""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from fedkin.core.errors import FedkinError
from fedkin.core.rng import Key
from fedkin.data.population import Population
from fedkin.data.population_builder import build
from fedkin.data.sources import load
from fedkin.data.tables.new_rows import encoded, read_later
from fedkin.newcomers.samples import TableLayout, read_newcomer
from tests import awkward

TOLD = TableLayout("label", "site", {}, (0.6, 0.2, 0.2))


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Population:
    """Numbers without gaps, words with some, a column of many words, and labels by name."""
    path = tmp_path_factory.mktemp("later") / "all.csv"
    rows = [
        f"{'ab'[i % 2]},{i % 40},{('x', 'y', '')[i % 3]},{'pq'[i % 2]},{('ill', 'well')[i % 2]}"
        for i in range(80)
    ]
    path.write_text("\n".join(["site,age,ward,kind,label", *rows]))
    return build(load(str(path), client="site"), "natural", None, Key(0))


def described_by(trained: Population, path: Path, *lines: str) -> list[str]:
    path.write_text("\n".join(lines) + "\n")
    assert trained.encoding is not None
    return list(encoded(read_later(path, trained.encoding, {}, []), trained.encoding, ["label"])[1])


def test_rows_like_those_of_training_need_no_word(trained: Population, tmp_path: Path) -> None:
    assert (
        described_by(trained, tmp_path / "x.csv", "kind,age,ward,label", "p,3,x,ill", "q,39,,well")
        == []
    )


def test_what_training_never_saw_is_counted(trained: Population, tmp_path: Path) -> None:
    file = tmp_path / "x.csv"
    lines = ["age,ward,kind,zip", "3,x,p,1", "4,z,p,1", "5,w,,1", "99999,x,q,1", ",x,q,1", ",,,1"]
    assert described_by(trained, file, *lines) == [
        "columns that the model does not use: zip",
        f"{file}, line 7 has no value in any column: what is said of such a row is said of nobody",
        f"column 'age': {file}, line 5 has a number more than 10 standard deviations from the "
        "training mean of "
        f"{trained.encoding.features[0].mean:.4g}, up to 99999",  # type: ignore[union-attr]
        f"column 'age': 2 rows (the first is {file}, line 6) have no value, as no training "
        "row had: its mean stands "
        "for it",
        f"column 'ward': 2 rows (the first is {file}, line 3) have a value that was never "
        "seen in training: 'w', 'z'",
        f"column 'kind': 2 rows (the first is {file}, line 4) have no value, as no training "
        "row had",
    ]


def test_a_newcomers_file_is_read_by_the_same_reader(trained: Population, tmp_path: Path) -> None:
    file = tmp_path / "mine.csv"
    file.write_text("age,ward,kind,label\n" + "".join(f"{i},z,p,ill\n" for i in range(20)))
    own = read_newcomer(file, trained, TOLD, Key(0))
    assert own.said == (
        f"column 'ward': 20 rows (the first is {file}, line 2) have a value that was never "
        "seen in training: 'z'",
    )
    assert trained.encoding is not None
    x, _ = encoded(read_later(file, trained.encoding, {}, []), trained.encoding, [])
    np.testing.assert_array_equal(own.x.numpy(), x)


@pytest.mark.parametrize(
    ("head", "row", "reason"),
    [
        ("age,ward,kind", "3,x,p", "lacks the column 'label': a newcomer learns from labels"),
        (
            "age,ward,kind,label",
            "3,x,p,NA",
            "fill it, or take rows without a label out of the file",
        ),
        (
            "age,ward,kind,label",
            "old,x,p,ill",
            "line 2: column 'age' holds 'old' (and 19 more like it), but the model",
        ),
        (
            "age,ward,kind,label,split,site",
            "3,x,p,ill,train,{i}",
            "holds 20 clients in column 'site'",
        ),
    ],
)
def test_a_newcomers_mistakes(
    head: str, row: str, reason: str, trained: Population, tmp_path: Path
) -> None:
    file = tmp_path / "mine.csv"
    file.write_text("\n".join([head, *(row.format(i=i) for i in range(20))]))
    with pytest.raises(FedkinError, match=r"mine\.csv") as caught:
        read_newcomer(file, trained, TOLD, Key(0))
    assert reason in str(caught.value)


def test_rows_without_a_label_are_left_out_as_in_the_run(
    trained: Population, tmp_path: Path
) -> None:
    file = tmp_path / "mine.csv"
    file.write_text(
        "age,ward,kind,label\n" + "".join(f"{i},x,p,{'' if i < 3 else 'ill'}\n" for i in range(20))
    )
    own = read_newcomer(file, trained, TOLD._replace(options={"unlabeled": "drop"}), Key(0))
    assert (len(own.y), own.said) == (17, ("3 of 20 rows have no label and are left out",))


def test_a_newcomers_file_that_is_none(trained: Population, tmp_path: Path) -> None:
    for name, said in (
        ("x.toml", "is none of the files that a newcomer brings: .npz, .csv"),
        ("", "is none of the files"),
    ):
        if name:
            (tmp_path / name).write_text("a = 1\n")
        with pytest.raises(FedkinError) as caught:
            read_newcomer(tmp_path / name, trained, TOLD, Key(0))
        assert said in str(caught.value)
    (tmp_path / "two.csv").write_text("age,ward,kind,label\n1,x,p,ill\n2,x,p,ill\n")
    with pytest.raises(
        FedkinError,
        match=r"two\.csv has 2 rows, and the run's split makes 3 parts of them: bring more",
    ):
        read_newcomer(tmp_path / "two.csv", trained, TOLD, Key(0))


def test_a_table_of_a_run_of_arrays_holds_one_newcomer(tmp_path: Path) -> None:
    """The run was given arrays, so that nothing says how a table is read; its classes are named by
    their numbers.
    """
    rng = np.random.default_rng(3)
    arrays = tmp_path / "run.npz"
    client = np.repeat(["e", "w", "n"], 11)
    np.savez(arrays, x=rng.normal(size=(33, 2)), y=np.arange(33) % 11, client=client)
    like = build(load(str(arrays)), "natural", None, Key(0))
    assert like.encoding is None
    path = tmp_path / "south.csv"
    rows = [f"{site},{k},{k / 2},{k % 11}" for k, site in enumerate("s" * 20)]
    path.write_text("\n".join(["site,a,b,label", *rows]))
    found = read_newcomer(path, like, TOLD, Key(1))
    assert found.x[:, 1].tolist() == [k / 2 for k in range(20)]
    assert found.y.tolist() == [k % 11 for k in range(20)]
    path.write_text("\n".join(["site,a,b,out", *rows]))
    with pytest.raises(FedkinError, match=r"lacks the column 'label'.* a sample has 2 numbers"):
        read_newcomer(path, like, TOLD, Key(1))
    path.write_text("\n".join(["site,a,b,label", *rows, "t,1,1,1", "u,1,1,1"]))
    with pytest.raises(FedkinError, match=r"holds 3 clients in column 'site': one newcomer"):
        read_newcomer(path, like, TOLD, Key(1))
    rows = [f"{row},{('train', 'val', '')[k % 3]}" for k, row in enumerate(rows)]
    path.write_text("\n".join(["site,a,b,label,split", *rows]))
    with pytest.raises(FedkinError, match=r"line 4: column 'split' is empty, as are 5 more: it sa"):
        read_newcomer(path, like, TOLD, Key(1))


def test_the_column_split_says_what_each_row_is_for(trained: Population, tmp_path: Path) -> None:
    """Training alone will do; in another order, and by other words, it is what the file says."""
    file = tmp_path / "mine.csv"
    rows = [f"{i},x,p,ill" for i in range(9)]

    def divided(*parts: str) -> Population:
        lines = [f"{row},{part}" for row, part in zip(rows, parts, strict=True)]
        file.write_text("\n".join(["age,ward,kind,label,split", *lines]))
        return read_newcomer(file, trained, TOLD, Key(0))

    alone = divided(*["train"] * 9)
    assert [len(rows[0]) for rows in (alone.train, alone.val, alone.test)] == [9, 0, 0]
    own = divided("test", "train", "val", "train", "test", "test", "train", "train", "val")
    assert own.train[0].tolist() == [1, 3, 6, 7]
    assert own.val[0].tolist() == [2, 8]
    assert own.test[0].tolist() == [0, 4, 5]
    with pytest.raises(FedkinError, match="column 'split' names no row train"):
        divided(*["test"] * 5, *["val"] * 4)
    with pytest.raises(FedkinError, match="column 'split' holds 'Train': it says train, val"):
        divided(*["test"] * 8, "Train")


def arrays(tmp_path: Path, **given: np.ndarray) -> Path:
    np.savez(tmp_path / "mine.npz", **given)  # type: ignore[arg-type]
    return tmp_path / "mine.npz"


def of_numbers(task: str, x: np.ndarray) -> Population:
    y = torch.zeros(len(x), dtype=torch.float32 if task == "regression" else torch.int64)
    return replace(
        awkward.population(), x=torch.from_numpy(x), y=y, task=task, classes=3, class_names=()
    )


def test_numbers_to_predict_stay_numbers(tmp_path: Path) -> None:
    like = of_numbers("regression", np.zeros((2, 2), dtype=np.float32))
    x = np.arange(20, dtype=np.float32).reshape(10, 2)
    y = np.linspace(-2, 7, 10)
    own = read_newcomer(arrays(tmp_path, x=x, y=y), like, TOLD, Key(3))
    assert own.y.tolist() == pytest.approx(y.tolist())
    assert own.x.tolist() == x.tolist()
    parts = np.concatenate([own.train[0], own.val[0], own.test[0]])
    assert sorted(parts) == list(range(10))
    assert [len(rows[0]) for rows in (own.train, own.val, own.test)] == [6, 2, 2]
    assert (own.name, own.names) == ("mine", ("mine",))
    file = tmp_path / "mine.csv"
    file.write_text("a,b,label\n" + "".join(f"{i},{-i},{i / 4}\n" for i in range(8)))
    own = read_newcomer(file, like, TOLD, Key(3))
    assert own.y.tolist() == [i / 4 for i in range(8)]
    assert own.x.tolist() == [[i, -i] for i in range(8)]


def test_arrays_that_are_divided_already(tmp_path: Path) -> None:
    like = of_numbers("classification", np.zeros((2, 2), dtype=np.float32))
    x = np.arange(12, dtype=np.float32).reshape(6, 2)
    given = {"x_train": x[:3], "x_test": x[3:5], "x_val": x[5:]}
    labels = {"y_train": [0, 2, 1], "y_test": [2, 0], "y_val": [1]}
    file = arrays(tmp_path, **given, **{name: np.array(y) for name, y in labels.items()})
    own = read_newcomer(file, like, TOLD, Key(3))
    for name, rows in (("train", own.train), ("val", own.val), ("test", own.test)):
        assert own.x[rows[0]].tolist() == given[f"x_{name}"].tolist()
        assert own.y[rows[0]].tolist() == labels[f"y_{name}"]


def test_classes_of_arrays_go_by_their_names(tmp_path: Path) -> None:
    like = of_numbers("classification", np.zeros((2, 2), dtype=np.float32))
    like = replace(like, class_names=("cat", "dog", "owl"))
    x, y = np.arange(16, dtype=np.float32).reshape(8, 2), np.arange(8) % 2
    theirs = np.array(["dog", "cat", "newt"])
    own = read_newcomer(arrays(tmp_path, x=x, y=y, names=theirs), like, TOLD, Key(3))
    assert own.y.tolist() == (1 - y).tolist()
    parts = {"x_train": x[:6], "y_train": y[:6], "x_test": x[6:], "y_test": y[6:]}
    own = read_newcomer(arrays(tmp_path, **parts, class_names=theirs), like, TOLD, Key(3))
    assert own.y.tolist() == (1 - y).tolist()
    with pytest.raises(FedkinError, match=r"'newt' is none of the run's classes \(cat, dog, owl\)"):
        read_newcomer(arrays(tmp_path, x=x, y=y + 1, names=theirs), like, TOLD, Key(3))
    nameless = replace(like, class_names=())
    own = read_newcomer(arrays(tmp_path, x=x, y=y, names=theirs), nameless, TOLD, Key(3))
    assert own.y.tolist() == y.tolist()
    digits = np.array(["2", "0"])
    own = read_newcomer(arrays(tmp_path, x=x, y=y, names=digits), nameless, TOLD, Key(3))
    assert own.y.tolist() == [2, 0] * 4


def test_arrays_that_nothing_reads(tmp_path: Path) -> None:
    like = of_numbers("classification", np.zeros((2, 2), dtype=np.float32))
    x, y = np.arange(16, dtype=np.float32).reshape(8, 2), np.arange(8) % 2
    for others in ({"x_test": x, "y_test": y}, {"x_val": x, "y_val": y}):
        with pytest.raises(FedkinError, match=f"has x, y and {', '.join(others)} beside them"):
            read_newcomer(arrays(tmp_path, x=x, y=y, **others), like, TOLD, Key(3))
    own = read_newcomer(arrays(tmp_path, x=x, y=y, weight=y), like, TOLD, Key(3))
    assert own.said == ("the array 'weight' is not read",)
    parts = {"x_train": x, "y_train": y, "x_val": x, "y_val": y}
    own = read_newcomer(arrays(tmp_path, **parts, weight=y), like, TOLD, Key(3))
    assert own.said == ("the array 'weight' is not read",)


def test_repeated_rows_are_left_out_as_in_the_run(trained: Population, tmp_path: Path) -> None:
    file = tmp_path / "mine.csv"
    lines = [f"{k},{i % 10},x,p,ill" for k, i in enumerate(range(20))]
    file.write_text("\n".join(["visit,age,ward,kind,label", *lines]) + "\n")
    told = TOLD._replace(options={"duplicates": "drop"})
    own = read_newcomer(file, trained, told, Key(0))
    assert len(own.y) == 10
    assert own.said[0] == "10 rows repeat an earlier one and are left out"
    assert len(read_newcomer(file, trained, TOLD, Key(0)).y) == 20


def test_samples_have_the_kind_of_the_runs(tmp_path: Path) -> None:
    """Rows of whole numbers may be the pixels of images."""
    like = of_numbers("classification", np.zeros((2, 1, 2, 2), dtype=np.uint8))
    rows = np.tile(np.array([[0.0, 255.0, 7.0, 1.0]], dtype=np.float32), (5, 1))
    y = np.array([0, 1, 2, 0, 1])
    own = read_newcomer(arrays(tmp_path, x=rows, y=y), like, TOLD, Key(3))
    assert own.x.dtype == torch.uint8
    assert own.x[0].tolist() == [[[0, 255], [7, 1]]]
    for value in (256.0, -1.0, 0.5):
        wrong = rows.copy()
        wrong[3, 2] = value
        with pytest.raises(
            FedkinError, match=r"samples are float32 \[4\], the model takes uint8 \[1, 2, 2\]"
        ):
            read_newcomer(arrays(tmp_path, x=wrong, y=y), like, TOLD, Key(3))
    with pytest.raises(FedkinError, match=r"have shape \[3\], those of the run \[1, 2, 2\]"):
        read_newcomer(arrays(tmp_path, x=rows[:, :3], y=y), like, TOLD, Key(3))
    floats = of_numbers("classification", np.zeros((2, 4), dtype=np.float32))
    with pytest.raises(FedkinError, match=r"uint8 \[4\], the model takes float32 \[4\]"):
        read_newcomer(arrays(tmp_path, x=rows.astype(np.uint8), y=y), floats, TOLD, Key(3))
    for labels in (y[:4], np.stack([y, y], 1)):
        with pytest.raises(FedkinError, match=r"x has 5 rows but y has shape .*one label a row"):
            read_newcomer(arrays(tmp_path, x=rows, y=labels), like, TOLD, Key(3))


@pytest.mark.parametrize(
    ("run", "file", "fits"),
    [
        ((9, 128), (128, 9), False),
        ((3, 8, 8), (8, 8, 3), False),
        ((192,), (8, 8, 3), False),
        ((9, 128), (1152,), True),
        ((1, 8, 8), (8, 8), True),
        ((8, 8), (8, 8, 1), True),
        ((9, 128), (9, 128), True),
    ],
)
def test_axes_of_another_order_are_not_guessed(
    run: tuple[int, ...], file: tuple[int, ...], fits: bool, tmp_path: Path
) -> None:
    like = of_numbers("classification", np.zeros((2, *run), dtype=np.float32))
    x = np.arange(6 * np.prod(file), dtype=np.float32).reshape(6, *file)
    path = arrays(tmp_path, x=x, y=np.arange(6) % 3)
    if fits:
        own = read_newcomer(path, like, TOLD, Key(3))
        np.testing.assert_array_equal(own.x.numpy(), x.reshape(6, *run))
        return
    with pytest.raises(FedkinError) as caught:
        read_newcomer(path, like, TOLD, Key(3))
    assert f"have shape {list(file)}, those of the run {list(run)}: give them in" in str(
        caught.value
    )


def test_as_many_rows_as_the_split_has_parts(tmp_path: Path) -> None:
    like = of_numbers("classification", np.zeros((2, 2), dtype=np.float32))
    for fractions, parts in (((0.6, 0.2, 0.2), 3), ((0.7, 0.0, 0.3), 2), ("comet", 3)):
        told = TOLD._replace(fractions=fractions)
        short = arrays(tmp_path, x=np.zeros((parts - 1, 2), np.float32), y=np.zeros(parts - 1, int))
        with pytest.raises(FedkinError, match=f"the run's split makes {parts} parts of them"):
            read_newcomer(short, like, told, Key(3))
    enough = arrays(tmp_path, x=np.zeros((2, 2), np.float32), y=np.zeros(2, int))
    own = read_newcomer(enough, like, TOLD._replace(fractions=(0.7, 0.0, 0.3)), Key(3))
    assert [len(rows[0]) for rows in (own.train, own.val, own.test)] == [1, 0, 1]


def test_a_list_of_gaps_is_for_what_the_model_sees(trained: Population, tmp_path: Path) -> None:
    file = tmp_path / "mine.csv"
    lines = [f"{-1 if i < 2 else i},x,p,{('ill', 'well')[i % 2]}" for i in range(20)]
    file.write_text("age,ward,kind,label\n" + "\n".join(lines) + "\n")
    told = TOLD._replace(options={"missing": [-1, "ill"]})
    own = read_newcomer(file, trained, told, Key(0))
    assert len(own.y) == 20  # "ill" is a class, and no gap
    assert any("2 rows" in said and "have no value" in said for said in own.said)


def test_rows_that_belong_together_stay_in_one_part(trained: Population, tmp_path: Path) -> None:
    file = tmp_path / "mine.csv"
    lines = [f"{i},x,p,ill,patient {i // 4}" for i in range(40)]
    file.write_text("age,ward,kind,label,pid\n" + "\n".join(lines) + "\n")
    own = read_newcomer(file, trained, TOLD._replace(group="pid"), Key(0))
    parts = [{int(row) // 4 for row in part[0]} for part in (own.train, own.val, own.test)]
    assert sum(map(len, parts)) == 10
    assert set.union(*parts) == set(range(10))
    assert not any("pid" in said for said in own.said)
    without = read_newcomer(file, trained, TOLD._replace(group="ward 2"), Key(0))
    assert any("lacks the column 'ward 2'" in said for said in without.said)
    few = tmp_path / "few.csv"
    few.write_text("age,ward,kind,label,pid\n" + "\n".join(lines[:8]) + "\n")
    with pytest.raises(FedkinError, match="has 2 groups of rows, and the run's split makes 3"):
        read_newcomer(few, trained, TOLD._replace(group="pid"), Key(0))
    same = "\n".join(f"{i // 4},x,p,ill" for i in range(40))
    file.write_text("age,ward,kind,label\n" + same + "\n")
    own = read_newcomer(file, trained, TOLD._replace(group="duplicates"), Key(0))
    parts = [{int(row) // 4 for row in part[0]} for part in (own.train, own.val, own.test)]
    assert sum(map(len, parts)) == 10


def groups_in(own: Population, group: np.ndarray) -> list[int]:
    """The groups of each part, which no other part may have."""
    parts = [set(group[rows[0]].tolist()) for rows in (own.train, own.val, own.test)]
    assert sum(map(len, parts)) == len(set(group.tolist()))
    return [len(part) for part in parts]


def test_arrays_that_belong_together_stay_in_one_part(tmp_path: Path) -> None:
    like = of_numbers("classification", np.zeros((2, 2), dtype=np.float32))
    told = TOLD._replace(group="bout")
    x, y = np.arange(80, dtype=np.float32).reshape(40, 2), np.arange(40) % 3
    bout = np.arange(40) // 4
    file = arrays(tmp_path, x=x, y=y, bout=bout)
    own = read_newcomer(file, like, told, Key(0))
    assert (groups_in(own, bout), own.said) == ([6, 2, 2], ())
    named = arrays(tmp_path, x=x, y=y, bout=np.array([f"b{k}" for k in bout]))
    assert groups_in(read_newcomer(named, like, told, Key(0)), bout) == [6, 2, 2]
    lacking = read_newcomer(arrays(tmp_path, x=x, y=y), like, told, Key(0))
    assert lacking.said == (
        f"{file} lacks the array 'bout': rows that belong together may be parted",
    )
    with pytest.raises(FedkinError, match=r"bout has shape \[39\] for 40 rows: give one entry a"):
        read_newcomer(arrays(tmp_path, x=x, y=y, bout=bout[1:]), like, told, Key(0))


def test_a_table_of_a_run_of_arrays_keeps_them_too(tmp_path: Path) -> None:
    like = of_numbers("classification", np.zeros((2, 2), dtype=np.float32))
    told = TOLD._replace(group="bout")
    file = tmp_path / "mine.csv"
    lines = [f"{i},{-i},{i % 3},{i // 4}" for i in range(40)]
    file.write_text("\n".join(["a,b,label,bout", *lines]))
    own = read_newcomer(file, like, told, Key(0))
    assert own.x.tolist() == [[i, -i] for i in range(40)]
    assert (groups_in(own, np.arange(40) // 4), own.said) == ([6, 2, 2], ())
    file.write_text("\n".join(["a,b,label", *(line.rpartition(",")[0] for line in lines)]))
    assert read_newcomer(file, like, told, Key(0)).said == (
        f"{file} lacks the column 'bout': rows that belong together may be parted",
    )


def test_labels_that_must_be_text_are_read_so(tmp_path: Path) -> None:
    """ "007" is a class beside "other"; a newcomer may hold such labels alone."""
    rows = [f"{'ab'[i % 2]},{i},{('007', 'other')[i // 2 % 2]}" for i in range(40)]
    (tmp_path / "all.csv").write_text("\n".join(["site,age,label", *rows]))
    run = build(load(str(tmp_path / "all.csv"), client="site"), "natural", None, Key(0))
    assert run.class_names == ("007", "other")
    (tmp_path / "mine.csv").write_text("\n".join(["age,label", *(f"{i},007" for i in range(9))]))
    assert read_newcomer(tmp_path / "mine.csv", run, TOLD, Key(0)).y.tolist() == [0] * 9


def test_labels_have_the_numbers_of_the_run(tmp_path: Path) -> None:
    """Its file begins with class 10, and lacks most classes: by itself it would be class 1."""
    labels = [10, 9, 10, 2, 9, 2, 10, 9, 2]
    rows = [f"{k}.5,1,2,3,4,{label}" for k, label in enumerate(labels)]
    path = tmp_path / "mine.csv"
    path.write_text("\n".join(["a,b,c,d,e,label", *rows]) + "\n", encoding="utf-8")
    told = TableLayout("label", None, {}, (0.6, 0.2, 0.2))
    own = read_newcomer(path, awkward.population(), told, Key(3))
    assert own.y.tolist() == labels
    assert own.classes == awkward.CLASSES
    parts = np.concatenate([own.train[0], own.val[0], own.test[0]])
    assert sorted(parts.tolist()) == list(range(len(labels)))


def test_an_empty_cell_of_the_division_is_no_part_and_of_the_client_nobody(
    trained: Population, tmp_path: Path
) -> None:
    path = tmp_path / "new.csv"
    rows = [f"{'' if k == 2 else 'H9'},{k},x,p,{('ill', 'well')[k % 2]}" for k in range(9)]
    path.write_text("\n".join(["site,age,ward,kind,label", *rows]))
    assert len(read_newcomer(path, trained, TOLD, Key(0)).x) == 9
    parts = ["train", "val", "", "test", *["train"] * 4, ""]
    rows = [f"{row},{part}" for row, part in zip(rows, parts, strict=True)]
    path.write_text("\n".join(["site,age,ward,kind,label,split", *rows]))
    with pytest.raises(FedkinError, match=r"line 4: column 'split' is empty, as are 1 more: it s"):
        read_newcomer(path, trained, TOLD, Key(0))
