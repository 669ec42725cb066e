"""Code of one's own that a search may run."""

from pathlib import Path

import pytest

from fedkin.runs.spec import Spec
from fedkin.setup.user_code import permit
from fedkin.sweep.space import changed, space_of
from fedkin.sweep.user_code import user_code

NET = """
from torch import nn
class Net(nn.Linear):
    def __init__(self, shape, classes):
        super().__init__(64, classes)
"""


def test_code_of_any_value_of_the_space_is_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "net_of_a_search.py"
    file.write_text(NET)
    monkeypatch.syspath_prepend(tmp_path)
    space = space_of(["model.name=mlr, net_of_a_search:Net", "train.lr=0.1, 0.2"])
    permit(changed(Spec(), {"model.name": "net_of_a_search:Net"}))
    first = user_code(Spec(), space)
    assert list(first) == ["net_of_a_search:Net"]
    file.write_text(f"{NET}# another\n")
    assert user_code(Spec(), space) != first
    assert user_code(Spec(), space_of(["train.lr=0.1"])) == {}
