"""A node's own files."""

import numpy as np
import pytest

from fedkin.core.errors import FedkinError
from fedkin.flower.envelope import Place
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
