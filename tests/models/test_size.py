"""How large a model would be: as it is once made, and a sentence where nobody has the memory."""

import time

import pytest
import torch

from fedkin.core.errors import FedkinError
from fedkin.core.rng import Key
from fedkin.models import size
from fedkin.models.build import MODELS, build
from fedkin.models.size import bytes_of, check_fits
from tests.models.test_build import SHAPES, inputs_of

DNN = MODELS["dnn"]


@pytest.mark.parametrize("name", MODELS)
def test_a_model_has_the_size_that_was_foretold(name, monkeypatch) -> None:
    monkeypatch.setattr(size, "OBJECT", 0)
    arguments = {"shape": SHAPES[name][0], "classes": 10}
    made = MODELS[name](**arguments)
    tensors = (*made.parameters(), *made.buffers())
    assert bytes_of(MODELS[name], arguments) == sum(one.nbytes for one in tensors)


def test_layers_that_are_not_laid_out_are_counted(monkeypatch) -> None:
    monkeypatch.setattr(size, "OBJECT", 0)
    for name in ("lstm", "transformer_lm"):
        arguments = {"shape": (12,), "classes": 10, "layers": 9, "width": 8}
        made = MODELS[name](**arguments)
        tensors = (*made.parameters(), *made.buffers())
        assert bytes_of(MODELS[name], arguments) == sum(one.nbytes for one in tensors)


@pytest.mark.parametrize(
    ("name", "options", "instead"),
    [
        ("dnn", {"hidden": 10**9}, "try dnn:hidden=128, its default"),
        ("dnn", {"hidden": 10**18}, "try dnn:hidden=128, its default"),
        ("dnn", {"hidden": 10**30}, "try dnn:hidden=128, its default"),
        ("dnn_adapter", {"hidden": 64, "adapter": 10**11}, "try dnn_adapter:adapter=16"),
        ("lstm", {"layers": 10**9, "width": 1}, "try lstm:layers=2"),
        ("transformer_lm", {"layers": 10**12}, "try transformer_lm:layers=4"),
        ("lstm", {"embedding": 2**40}, "try lstm:embedding=8"),
    ],
)
def test_a_model_beyond_the_machine_is_refused_at_once(name, options, instead) -> None:
    began = time.monotonic()
    with pytest.raises(FedkinError) as refused:
        build(name, SHAPES[name][0], 10, Key(0), "categorical", inputs_of(name), **options)
    assert time.monotonic() - began < 20
    key = max(options, key=options.__getitem__)
    said = str(refused.value)
    assert said.startswith(f"model {name!r} with {key}={options[key]} is too large: in training it")
    assert "of memory at least, and this machine has" in said
    assert said.endswith((instead, f"{instead}, its default"))


def test_what_needs_all_of_the_memory_is_the_last_that_fits(monkeypatch) -> None:
    arguments = {"shape": (1000,), "classes": 1, "hidden": 1000}
    needed = 3 * (4 * (1000 * 1000 + 1000 + 1000) + 1024)  # the last bias is an object, too
    monkeypatch.setattr(size, "memory", lambda: needed)
    assert check_fits("dnn", DNN, arguments) is None
    monkeypatch.setattr(size, "memory", lambda: needed - 1)
    with pytest.raises(FedkinError, match="with hidden=1000 is too large"):
        check_fits("dnn", DNN, arguments)


def test_samples_that_make_a_model_too_large_are_named(monkeypatch) -> None:
    monkeypatch.setattr(size, "memory", lambda: 1 << 20)
    with pytest.raises(FedkinError, match=r"have shape \[9000\]: give smaller ones, or try mlr"):
        check_fits("dnn", DNN, {"shape": (9000,), "classes": 2, "hidden": 64})


def test_what_is_wrong_otherwise_is_told_by_who_makes_the_model() -> None:
    def broken(shape: tuple[int, ...], hidden: int = 1) -> torch.nn.Module:
        raise RuntimeError("no weights")

    assert check_fits("broken", broken, {"shape": (2,), "hidden": 5}) is None


def test_nobodys_random_numbers_are_drawn() -> None:
    before = torch.get_rng_state()
    bytes_of(MODELS["transformer_lm"], {"shape": (12,), "classes": 10})
    assert torch.equal(before, torch.get_rng_state())
