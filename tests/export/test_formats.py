"""A personal model as the bytes of a file."""

import json
import logging
import warnings

import pytest
import torch
from safetensors.torch import load as from_safetensors
from torch import nn

from fedkin.core.errors import FedkinError
from fedkin.core.method import plain_prediction
from fedkin.core.model import from_module
from fedkin.core.tree import BUFFER
from fedkin.export import formats
from fedkin.export.formats import FORMATS, check_format, safetensors
from fedkin.export.personal import Personal, with_frozen
from tests.methods.federation import architecture

MODEL = architecture("mlr", dtype=torch.float32)
X = torch.arange(8.0).view(2, 4)
ABOUT = {"client": "Zürich", "rounds": 7}


def personal(model=MODEL):
    return Personal(model, model.initial, plain_prediction).eval()


def test_tensors_have_the_names_of_the_module() -> None:
    view = {**MODEL.initial, BUFFER + "mean": torch.ones(3)[::2], "turned": torch.ones(2, 3).T}
    found = safetensors(personal(), view, X, ABOUT)
    assert found.run is None  # no program is in it
    tensors = from_safetensors(found.content)
    assert tensors.keys() == {"weight", "bias", "mean", "turned"}
    assert torch.equal(tensors["weight"], MODEL.initial["weight"])
    assert tensors["turned"].shape == (3, 2)
    size = int.from_bytes(found.content[:8], "little")
    header = json.loads(found.content[8 : 8 + size])
    assert json.loads(header["__metadata__"]["card"]) == ABOUT


class Awkward(nn.Module):
    """A tied weight, a whole-number buffer that is kept, and a table that is not."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second, self.last = nn.Linear(4, 4), nn.Linear(4, 4), nn.Linear(4, 3)
        self.second.weight = self.first.weight
        self.norm = nn.BatchNorm1d(4)
        self.register_buffer("positions", torch.arange(5))
        self.register_buffer("turns", torch.ones(4), persistent=False)

    def forward(self, x):
        return self.last(self.norm(self.second(self.first(x * self.turns))))


@pytest.mark.parametrize("keep_buffers", [True, False])
def test_a_file_of_tensors_is_what_load_state_dict_takes(keep_buffers) -> None:
    model = from_module("awkward", Awkward(), keep_buffers=keep_buffers)
    view = {name: one + 1 for name, one in model.initial.items() if name != BUFFER + "turns"}
    view = {**model.initial, **view}
    found = from_safetensors(safetensors(personal(model), view, X, ABOUT).content)
    again = Awkward().eval()
    assert str(again.load_state_dict(found)) == "<All keys matched successfully>"
    assert found["second.weight"].equal(view["first.weight"])
    assert float(again.norm.running_mean[0]) == float(keep_buffers)
    torch.testing.assert_close(again(X), model.outputs(view, X))


def test_a_file_of_tensors_has_the_frozen_ones() -> None:
    whole = from_module("awkward", Awkward(), frozen=frozenset({"first.weight"}))
    model = whole.freezing({"first.weight": whole.initial["first.weight"]})
    held = with_frozen(model, model.initial)
    found = from_safetensors(safetensors(personal(model), held, X, ABOUT).content)
    assert found.keys() == Awkward().state_dict().keys()


def test_what_a_module_keeps_no_place_for_is_no_file_of_tensors() -> None:
    model = from_module("awkward", Awkward())
    moved = {**model.initial, BUFFER + "turns": torch.zeros(4)}
    with pytest.raises(FedkinError, match=r"'turns' of model 'awkward' changed .* --format pt2"):
        safetensors(personal(model), moved, X, ABOUT)


def test_one_sample_is_no_constant_of_a_program(monkeypatch) -> None:
    asked = []

    def export(module, example, dynamic_shapes, strict):
        asked.append((example[0], dynamic_shapes["x"], strict))
        return "a program"

    monkeypatch.setattr(torch.export, "export", export)
    for samples in (X[:1], torch.cat([X, X])):
        assert formats._program(personal(), samples) == "a program"
    assert [len(example) for example, *_ in asked] == [2, 2]
    assert torch.equal(asked[0][0], torch.cat([X[:1], X[:1]]))
    assert torch.equal(asked[1][0], X)
    assert all(sizes[0].__name__ == formats.SAMPLES and not strict for _, sizes, strict in asked)


def test_a_model_that_is_no_program_says_what_to_do(monkeypatch) -> None:
    def export(*_, **__):
        raise RuntimeError("it branches\non values")

    monkeypatch.setattr(torch.export, "export", export)
    said = r"cannot become a program of its own \(it branches\): export it with --format safeten"
    with pytest.raises(FedkinError, match=said):
        formats.pt2(personal(), MODEL.initial, X, ABOUT)


def test_what_torch_says_of_itself_is_not_heard(caplog) -> None:
    before = logging.root.manager.disable
    with formats._quiet():
        logging.getLogger("torch.onnx").warning("a deprecation")
        warnings.warn("another", stacklevel=1)  # as an error, it would end the test
    assert caplog.records == []
    assert logging.root.manager.disable == before
    assert list(FORMATS) == ["safetensors", "pt2", "onnx"]


def test_a_format_that_there_is_none_of_names_the_nearest() -> None:
    for name in FORMATS:
        check_format(name)
    with pytest.raises(FedkinError, match=r"unknown format 'onx': did you mean 'onnx'\?"):
        check_format("onx")
