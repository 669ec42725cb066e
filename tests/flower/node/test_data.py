"""A node's own files."""

import numpy as np
import pytest

from fedkin.core.errors import FedkinError
from fedkin.flower.node import data


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
