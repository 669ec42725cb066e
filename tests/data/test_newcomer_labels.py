"""A newcomer's classes are those of the run, whichever of them its own file holds."""

from pathlib import Path

import numpy as np

from fedkin.core.rng import Key
from fedkin.newcomers.samples import TableLayout, read_newcomer
from tests import awkward


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
