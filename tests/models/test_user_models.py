"""A model of the user's own."""

import sys
import textwrap

import pytest
import torch

from fedkin.core.errors import FedkinError
from fedkin.core.rng import Key
from fedkin.models.build import build
from fedkin.models.user_models import allow

GREY, COLOUR, ROW, WINDOW = (1, 28, 28), (3, 32, 32), (60,), (12,)


MINE = """
    import torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self, shape, classes, width=4):
            super().__init__()
            self.a, self.b = nn.Linear(shape[0], width), nn.Linear(width, classes)
        def forward(self, x):
            return self.b(torch.relu(self.a(x)))

    class Fixed(nn.Linear):
        def __init__(self):
            super().__init__(60, 5)

    def make(classes) -> nn.Module:
        return nn.Linear(60, classes)

    class Raises(nn.Module):
        def __init__(self, shape):
            raise RuntimeError("no weights\\nin this file")

    class Wide(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = nn.Linear(60, 9)
        def forward(self, x):
            return self.a(x)

    class Pair(Wide):
        def forward(self, x):
            return self.a(x), x

    class Empty(nn.Module):
        def forward(self, x):
            return x[:, :5]

    class Demands(nn.Module):
        def __init__(self, vocabulary):
            super().__init__()

    def text(shape, classes) -> nn.Module:
        return "a model"

    def unsaid(shape, classes):
        raise AssertionError("it was called")

    class Other:
        def __init__(self, shape):
            raise AssertionError("it was called")

    number = 3
"""


@pytest.fixture
def mine(tmp_path, monkeypatch):
    package = tmp_path / "fedkin_mine_of_a_user"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "nets.py").write_text(textwrap.dedent(MINE))
    (package / "broken.py").write_text("import a_module_that_is_not_there\n")
    (package / "typo.py").write_text("class Net(:\n")
    monkeypatch.syspath_prepend(tmp_path)
    yield "fedkin_mine_of_a_user"
    for name in [name for name in sys.modules if name.startswith("fedkin_mine_of_a_user")]:
        del sys.modules[name]


@pytest.mark.parametrize("name", ["Net", "Fixed", "make"])
def test_a_users_module(name, mine):
    allow([f"{mine}.nets:{name}"])
    model = build(f"{mine}.nets:{name}", ROW, 5, Key(0))
    assert model.outputs(model.initial, torch.rand(3, 60)).shape == (3, 5)


def test_a_users_options(mine):
    allow([f"{mine}.nets:Net"])
    assert build(f"{mine}.nets:Net", ROW, 5, Key(0), width=9).initial["a.weight"].shape == (9, 60)


@pytest.mark.parametrize(
    ("path", "sentence"),
    [
        ("nowhere.nets:Net", "cannot be imported: ModuleNotFoundError: No module named 'nowhere'"),
        ("{mine}.nets:Nte", "cannot be imported: .*has no 'Nte': did you mean 'Net'"),
        ("{mine}.nets:", "cannot be imported"),
        (
            "{mine}.broken:Net",
            "cannot be imported: ModuleNotFoundError: No module named 'a_module_that_is_not_there'",
        ),
        ("{mine}.typo:Net", "cannot be imported"),
        (":Net", "cannot be imported"),
        ("{mine}.nets:number", "is not called: it is not a class of a torch.nn.Module"),
        ("{mine}.nets:unsaid", "is not called: .* whose declared result"),
        ("{mine}.nets:Other", "is not called: it is not a class of a torch.nn.Module"),
        ("{mine}.nets:text", "is a str: neither a torch.nn.Module nor a learner"),
        ("{mine}.nets:Raises", "cannot be built: RuntimeError: no weights"),
        ("{mine}.nets:Demands", "vocabulary"),
        ("{mine}.nets:Empty", "has no parameters"),
        ("{mine}.nets:Wide", r"must return \[batch, 5\], for a batch of 2 it returned \[2, 9\]"),
        ("{mine}.nets:Pair", r"must return \[batch, 5\], for a batch of 2 it returned tuple"),
    ],
)
def test_a_users_mistakes(path, sentence, mine):
    allow([path.format(mine=mine)])
    with pytest.raises(FedkinError, match=sentence) as caught:
        build(path.format(mine=mine), ROW, 5, Key(0))
    assert "\n" not in str(caught.value)


def test_a_users_module_with_the_wrong_shape(mine):
    allow([f"{mine}.nets:Fixed"])
    with pytest.raises(FedkinError, match=r"cannot take samples of shape \[1, 28, 28\]") as caught:
        build(f"{mine}.nets:Fixed", GREY, 5, Key(0))
    assert "\n" not in str(caught.value)
