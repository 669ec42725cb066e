"""A node's own files."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch

from fedkin.core.errors import FedkinError
from fedkin.flower.envelope import Facts, Place
from fedkin.flower.node import data
from tests.engine.small import small


def test_own_files(tmp_path):
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(9, 3)).astype(np.float32), np.array([0, 1, 2] * 3)
    np.savez(tmp_path / "a.npz", x_train=x[:5], y_train=y[:5], x_test=x[5:], y_test=y[5:])
    own = data.read(tmp_path / "a.npz")
    assert [len(own.rows(part)[0]) for part in ("train", "val", "test")] == [5, 0, 4]
    lines = ["a,b,c,label,split"]
    for k, part in enumerate(["test", "train", "val"] * 3):
        lines.append(",".join([*(repr(float(v)) for v in x[k]), str(y[k] + 3), part]))
    (tmp_path / "b.csv").write_text("\n".join(lines))
    table = data.read(tmp_path / "b.csv")
    assert table.part(0, "train")[0].numpy().tolist() == x[1::3].tolist()
    assert table.classes == 6  # labels keep their numbers, whichever of them a node holds
    facts = data.facts_of(own, 0)
    assert (facts.train, facts.val, facts.test, facts.shape, facts.classes) == (5, 0, 4, (3,), 3)
    np.savez(tmp_path / "c.npz", x_test=x, y_test=y)
    with pytest.raises(FedkinError, match="lacks x_train"):
        data.read(tmp_path / "c.npz")
    (tmp_path / "d.csv").write_text("a,label,split\n1,cat,train\n2,dog,test\n")
    with pytest.raises(FedkinError, match="number the classes alike"):
        data.read(tmp_path / "d.csv")
    cells = "".join(f"{k},{'17..5' if k == 17 else k + 0.5},train\n" for k in range(30))
    (tmp_path / "f.csv").write_text("a,label,split\n" + cells)
    with pytest.raises(FedkinError, match=r"line 19: .* holds '17\.\.5', which is not a number$"):
        data.read(tmp_path / "f.csv")
    (tmp_path / "e.csv").write_text("a,label,split\n1,0,train\n2,1,other\n")
    with pytest.raises(FedkinError, match="train, val or test"):
        data.read(tmp_path / "e.csv")


def test_a_place_fits_the_data_of_its_node(tmp_path):
    x, y = np.arange(27, dtype=np.float32).reshape(9, 3), np.array([0, 1, 2] * 3)
    np.savez(tmp_path / "a.npz", x_train=x[:5], y_train=y[:5], x_test=x[5:], y_test=y[5:])
    own, spec = data.read(tmp_path / "a.npz"), small("fedavg")
    for client, classes in ((2, 3), (1, 2)):
        with pytest.raises(FedkinError, match="does not fit the data of this node"):
            data.alone(spec, own, Place(client=client, clients=2, classes=classes, architecture=""))
    fitting = data.alone(spec, own, Place(client=1, clients=2, classes=4, architecture=""))
    assert [len(rows) for rows in fitting.rows("train")] == [0, 5]
    assert fitting.classes == 4


def test_the_digest_is_of_every_value_and_one_client_is_like_itself(tmp_path):
    x, y = np.arange(27, dtype=np.float32).reshape(9, 3), np.array([0, 1, 2] * 3)
    np.savez(tmp_path / "a.npz", x_train=x[:5], y_train=y[:5], x_test=x[5:], y_test=y[5:])
    facts = data.facts_of(data.read(tmp_path / "a.npz"), 0)
    assert data._usual(["north"], [facts]) == 0
    y[4] = 0  # one label of one training sample
    np.savez(tmp_path / "a.npz", x_train=x[:5], y_train=y[:5], x_test=x[5:], y_test=y[5:])
    assert data.facts_of(data.read(tmp_path / "a.npz"), 0).digest != facts.digest


def facts(**changed):
    told = {"train": 6, "val": 2, "test": 1, "shape": (3,), "dtype": "float32", "classes": 3,
            "task": "classification", "digest": ""}  # fmt: skip
    return Facts(**{**told, **changed})


def test_the_server_sees_sizes_and_no_sample():
    told = [facts(), facts(train=1, val=0, test=4, classes=5)]
    found = data.unseen(small("fedavg"), ["a", "b"], told)
    assert [len(rows) for rows in found.train] == [6, 1]
    assert [len(rows) for rows in found.val] == [2, 0]
    assert [len(rows) for rows in found.test] == [1, 4]
    every = np.concatenate([rows for k in range(2) for rows in
                            (found.train[k], found.val[k], found.test[k])])  # fmt: skip
    assert every.tolist() == list(range(14))
    assert {rows.dtype for rows in (*found.train, *found.val, *found.test)} == {np.dtype("int64")}
    assert (found.classes, found.task, found.names) == (5, "classification", ("a", "b"))
    assert tuple(found.x.shape) == (1, 3)
    assert not found.x.any()
    assert (str(found.x.dtype), str(found.y.dtype)) == ("torch.float32", "torch.int64")
    assert found.y.tolist() == [0] * 14
    numbers = facts(classes=0, task="regression")
    plain = data.unseen(small("fedavg"), ["a"], [numbers])
    assert (plain.classes, str(plain.y.dtype), plain.public) == (0, "torch.float32", None)
    assert plain.truth[data.COLUMNS].tolist() == []
    assert plain.truth[data.COLUMNS].dtype.kind == "U"  # of names, also where there are none


def test_columns_are_those_of_the_first_table():
    told = [facts(), facts(columns=("u", "v")), facts(columns=("u", "v"))]
    found = data.unseen(small("fedavg"), ["a", "b", "c"], told)
    assert found.truth[data.COLUMNS].tolist() == ["u", "v"]
    told[2] = facts(columns=("u", "w"))
    with pytest.raises(FedkinError, match="column 2 of c is 'w', of b 'v' "):
        data.unseen(small("fedavg"), ["a", "b", "c"], told)
    told[2] = facts(columns=("u",))
    with pytest.raises(FedkinError, match="column 2 of c is none, of b 'v' "):
        data.unseen(small("fedavg"), ["a", "b", "c"], told)


@pytest.mark.parametrize(
    ("classes", "fine"),
    [
        ((1000, 1), True),
        ((1001, 1), False),
        ((2000, 200), True),
        ((2001, 200), False),
        ((5000,), True),
        ((2001, 200, 2), False),
        ((2, 5000, 5000), True),
    ],
)
def test_one_node_alone_does_not_enlarge_everybodys_model(classes, fine):
    told, names = [facts(classes=number) for number in classes], list("abc")[: len(classes)]
    if fine:
        assert data._usual(names, told) == 0
        return
    said = f"^a says that its labels go up to {classes[0] - 1:,}, those of the others to "
    with pytest.raises(FedkinError, match=f"{said}{classes[1] - 1}: "):
        data._usual(names, told)


def test_the_usual_form_is_that_of_most_nodes_and_room_is_limited(monkeypatch):
    other = facts(shape=(4,))
    assert data._usual(list("abc"), [other, facts(), facts()]) == 1
    monkeypatch.setattr(data, "room", lambda: 27 * 40)
    assert data._usual(list("abc"), [facts()] * 3) == 0
    monkeypatch.setattr(data, "room", lambda: 27 * 40 - 1)
    with pytest.raises(FedkinError, match=r"hold 28 samples, b 10 of them: more than the 26 that"):
        data._usual(list("abc"), [facts(), facts(train=7), facts()])


def test_labels_that_are_no_whole_numbers_are_those_of_a_regression(tmp_path):
    x, y = np.arange(12, dtype=np.float32).reshape(4, 3), np.array([0.5, 1.5, -2.0, 3.0])
    np.savez(tmp_path / "a.npz", x_train=x[:2], y_train=y[:2], x_val=x[2:3], y_val=y[2:3],
             x_test=x[3:], y_test=y[3:])  # fmt: skip
    own = data.read(tmp_path / "a.npz")
    assert (own.task, own.classes, own.name, own.names) == ("regression", 0, "a.npz", ("own",))
    assert own.y.tolist() == [0.5, 1.5, -2.0, 3.0]
    assert [own.rows(part)[0].tolist() for part in ("train", "val", "test")] == [[0, 1], [2], [3]]
    assert own.encoding is None
    assert data.columns_of(own) == ()
    facts = data.facts_of(own, 0)
    assert (facts.task, facts.classes, facts.dtype, facts.columns) == (
        "regression", 0, "float32", ())  # fmt: skip


def test_a_table_is_in_the_order_of_its_parts_with_its_columns_as_they_are(tmp_path):
    rows = ["4,40,1,test", "1,10,0,train", "3,30,1,val", "2,20,2,train"]
    (tmp_path / "A.CSV").write_text("\n".join(["u,v,sort,split", *rows]))
    own = data.read(tmp_path / "A.CSV", "sort")
    assert own.x.tolist() == [[1, 10], [2, 20], [3, 30], [4, 40]]
    assert own.y.tolist() == [0, 2, 1, 1]
    assert [own.rows(part)[0].tolist() for part in ("train", "val", "test")] == [[0, 1], [2], [3]]
    assert data.facts_of(own, 0).columns == ("u", "v")
    (tmp_path / "b.csv").write_text("u,sort,split\n1,0,train\n2,1,zz\n3,1,other\n")
    with pytest.raises(FedkinError, match="column 'split' holds 'other': it says train, val or t"):
        data.read(tmp_path / "b.csv", "sort")
    (tmp_path / "b.csv").write_text("u,sort,split\n1,7,train\n2,x,test\n")
    with pytest.raises(FedkinError, match="number the classes alike on all nodes"):
        data.read(tmp_path / "b.csv", "sort")


def test_a_table_has_so_many_columns_with_names_of_so_many_letters(tmp_path, monkeypatch):
    (tmp_path / "a.csv").write_text("u,vwx,label,split\n1,2,0,train\n2,3,1,train\n")
    own = data.read(tmp_path / "a.csv")
    for columns, letters, fine in ((2, 3, True), (1, 3, False), (2, 2, False)):
        monkeypatch.setattr(data, "MOST_COLUMNS", columns)
        monkeypatch.setattr(data, "LONGEST", letters)
        if fine:
            assert data.facts_of(own, 0).columns == ("u", "vwx")
            continue
        with pytest.raises(
            FedkinError, match=f"at most {columns} columns, with names of {letters}"
        ):
            data.facts_of(own, 0)


def test_a_place_of_classes_says_nothing_of_numbers(tmp_path):
    x, y = np.arange(6, dtype=np.float32).reshape(2, 3), np.array([0.5, 1.5])
    np.savez(tmp_path / "a.npz", x_train=x, y_train=y)
    own = data.read(tmp_path / "a.npz")
    place = Place(client=0, clients=1, classes=0, architecture="")
    assert data.alone(small("fedavg"), own, place).classes == 0
    with pytest.raises(FedkinError, match="its place in the federation does not fit"):
        data.alone(small("fedavg"), own, place.model_copy(update={"client": 1}))


@pytest.mark.parametrize(
    ("what", "other"), [("shape", (4,)), ("dtype", "int64"), ("task", "regression")]
)
def test_data_of_another_form_are_told_beside_the_usual_one(what, other):
    told = [facts(), facts(**{what: other}), facts()]
    usual = getattr(facts(), what)
    with pytest.raises(FedkinError) as error:
        data.unseen(small("fedavg"), ["a", "b", "c"], told)
    assert str(error.value) == f"the data of b have {what} {other}, those of a {usual}"


def public(path, **settings):
    named = {"public__source": str(path), "public__samples": None, **settings}
    return small("comet", **named)


def test_a_public_set_comes_from_its_file_alike_everywhere(tmp_path, monkeypatch):
    path = tmp_path / "public.npz"
    x = np.arange(150, dtype=np.float32).reshape(50, 3)
    np.savez(path, x=x, y=np.arange(50) % 3)
    like = torch.zeros((4, 3))
    drawn, labels = data._public(public(path), like, 3, "classification")
    assert tuple(drawn.shape) == (5, 3)  # a tenth
    assert labels is None
    assert {tuple(row) for row in drawn.tolist()} < {tuple(row) for row in x.tolist()}
    again, _ = data._public(public(path), torch.ones((1, 3)), 3, "classification")
    assert again.equal(drawn)
    assert not data._public(public(path, run__seed=4), like, 3, "classification")[0].equal(drawn)
    some, known = data._public(
        public(path, public__samples=7, public__labeled=True), like, 3, "classification"
    )
    assert len(some) == 7
    assert known.tolist() == [int(row[0] / 3) % 3 for row in some.tolist()]
    monkeypatch.setattr(data, "MOST_PUBLIC", 2)
    assert len(data._public(public(path), like, 3, "classification")[0]) == 2


def test_who_needs_no_public_set_has_none_and_others_name_a_file(tmp_path):
    like = torch.zeros((1, 3))
    assert data._public(small("fedavg"), like, 3, "classification") == (None, None)
    for source in (None, "held-out"):
        spec = small("comet")
        spec = spec.model_copy(update={"public": spec.public.model_copy(update={"source": source})})
        with pytest.raises(
            FedkinError, match="cannot be held out of data that stay on their nodes"
        ):
            data._public(spec, like, 3, "classification")
    own = SimpleNamespace(source="a.npz", labels="own")
    with pytest.raises(FedkinError, match=r"set public\.labels to 'private'"):
        data._public(small("comet").model_copy(update={"public": own}), like, 3, "classification")


def test_nodes_together_hold_at_most_so_many_samples(monkeypatch):
    monkeypatch.setattr(data, "room", lambda: 1 << 60)
    told = [facts(train=100_000_000, val=0, test=0)] * 5
    assert data._usual(list("abcde"), told) == 0
    with pytest.raises(FedkinError, match="that they hold 500,000,001 samples, a 100,000,000 of t"):
        data._usual(list("abcdef"), [*told, facts(train=1, val=0, test=0)])


def test_a_nodes_file_is_checked_as_any_other(tmp_path):
    x = np.array([[1.0, np.nan], [2.0, 3.0]], dtype=np.float32)
    np.savez(tmp_path / "a.npz", x_train=x, y_train=np.arange(2))
    with pytest.raises(FedkinError, match=r"NaN|finite|nan"):
        data.read(tmp_path / "a.npz")
