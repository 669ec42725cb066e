"""Every architecture on its shapes, parameter counts of the papers, and a user's own modules."""

import pytest
import torch

from fedkin.core.errors import FedkinError
from fedkin.core.family import FAMILIES
from fedkin.core.model import RAW, Batch, Inputs
from fedkin.core.ops import gradient
from fedkin.core.rng import Key
from fedkin.core.tree import leaves
from fedkin.methods.fedavg import sgd_step
from fedkin.models.build import MODELS, build
from fedkin.runtime.replay import Runtime
from tests.models.build_examples import count

GREY, COLOUR, ROW, WINDOW = (1, 28, 28), (3, 32, 32), (60,), (12,)
TOKENS = Inputs(tokens=True)
TEXTS = ("transformer_lm", "lstm")
LAYER = 4 * 64 * 64 + 4 * 64 + 2 * 4 * 64 * 64 + 5 * 64 + 2 * 2 * 64  # attention, net, two norms
SHAPES = {
    "mlr": [GREY, COLOUR, ROW, (1, 8, 8)],
    "dnn": [GREY, COLOUR, ROW, (1, 8, 8)],
    "dnn_adapter": [ROW, GREY],
    "glm": [ROW, GREY],
    "cnn_persfl": [GREY, COLOUR, (1, 16, 16)],
    "cnn_comet": [GREY, COLOUR, (3, 17, 20)],
    "cnn_cgpfl": [GREY, COLOUR],
    "vgg11": [COLOUR, (1, 32, 32)],
    "vgg13": [COLOUR],
    "resnet18": [COLOUR, GREY],
    "mobilenet_v2": [COLOUR, GREY],
    "transformer_lm": [WINDOW],
    "lstm": [WINDOW],
}
COUNTS = {  # (model, shape, classes) → parameters, by hand
    ("mlr", GREY, 10): 784 * 10 + 10,
    ("dnn", GREY, 10): 784 * 128 + 128 + 128 * 10 + 10,
    ("dnn_adapter", GREY, 10): 784 * 128 + 128 + 2 * 128 * 16 + 16 + 128 + 128 * 10 + 10,
    ("glm", ROW, 2): 61,
    ("cnn_persfl", COLOUR, 10): 456 + 2416 + 400 * 120 + 120 + 120 * 84 + 84 + 850,
    ("cnn_comet", COLOUR, 10): 456 + 2416 + 400 * 120 + 120 + 12100 + 8484 + 4250 + 510,
    ("cnn_cgpfl", GREY, 10): 832 + 51264 + 1024 * 512 + 512 + 5130,
    ("resnet18", COLOUR, 10): 11_173_962,
    ("resnet18", GREY, 62): 11_173_962 - 2 * 64 * 9 + 52 * 513,
    ("mobilenet_v2", COLOUR, 10): 2_236_682,  # 3.5 M for 1,000 classes, less 990 of them
    ("transformer_lm", WINDOW, 10): 12 * 64 + 12 * 64 + 4 * LAYER + 2 * 64 + 650,
    ("lstm", WINDOW, 10): 12 * 8 + 1024 * (8 + 256 + 2) + 1024 * (2 * 256 + 2) + 2570,
}


def inputs_of(name: str) -> Inputs:
    return TOKENS if name in TEXTS else RAW


@pytest.mark.parametrize(("case", "expected"), COUNTS.items(), ids=str)
def test_parameter_counts(case, expected):
    name, shape, classes = case
    family = "gaussian" if name == "glm" else "categorical"
    assert count(build(name, shape, classes, Key(0), family, inputs_of(name))) == expected


def test_the_papers_400_features():
    assert build("cnn_persfl", COLOUR, 10, Key(0)).initial["classifier.0.weight"].shape == (
        120,
        400,
    )


def test_every_model_is_here():
    assert set(SHAPES) == set(MODELS)


@pytest.mark.rotating
@pytest.mark.parametrize(
    ("name", "shape"),
    [(name, shape) for name, shapes in SHAPES.items() for shape in shapes],
    ids=str,
)
def test_forward_and_a_step(name, shape):
    family = "gaussian" if name == "glm" else "categorical"
    model = build(name, shape, 7, Key(1), family, inputs_of(name))
    high, kind = (9, torch.int16) if name in TEXTS else (256, torch.uint8)
    x = torch.randint(0, high, (4, *shape), dtype=kind, generator=torch.Generator().manual_seed(0))
    y = torch.tensor([0, 3, 6, 1]) if family == "categorical" else torch.rand(4)
    batch = Batch(x, y, torch.full((4,), 0.25))
    assert model.outputs(model.initial, x).shape == (4, 1 if name == "glm" else 7)
    moved = sgd_step(model, model.initial, batch, torch.tensor(1e-4 if name == "glm" else 0.01))
    assert model.loss(moved, batch) < model.loss(model.initial, batch)
    slopes = gradient(model.loss)(model.initial, batch)
    behind_zeros = ["adapter.down.weight", "adapter.down.bias"] if name == "dnn_adapter" else []
    assert [key for key, value in slopes.items() if not value.any()] == behind_zeros
    if kind == torch.uint8:
        assert model.outputs(model.initial, x.float() / 255).allclose(
            model.outputs(model.initial, x)
        )


@pytest.mark.rotating
@pytest.mark.parametrize("name", ["resnet18", "mobilenet_v2", "transformer_lm", "lstm"])
def test_a_recorded_step_is_the_plain_one(name):
    """compile = "trace" against "never", the reference."""
    shape = SHAPES[name][-1]
    model = build(name, shape, 7, Key(1), inputs=inputs_of(name))
    high, kind = (9, torch.int16) if name in TEXTS else (256, torch.uint8)
    x = torch.randint(0, high, (4, *shape), dtype=kind, generator=torch.Generator().manual_seed(0))
    arguments = (
        model.initial,
        Batch(x, torch.tensor([0, 3, 6, 1]), torch.full((4,), 0.25)),
        torch.tensor(0.05),
    )
    moved = {}
    for mode in ("never", "trace"):
        runtime = Runtime(mode)
        with torch.inference_mode():
            moved[mode] = runtime.prepare(sgd_step, model, arguments)(*leaves(arguments))
        assert runtime.said == []
    for one, other in zip(moved["never"], moved["trace"], strict=True):
        torch.testing.assert_close(one, other, atol=1e-5, rtol=1e-5)


def test_first_parameters_are_the_seeds():
    one, same, other = (build("dnn", ROW, 5, key) for key in (Key(3), Key(3), Key(4)))
    torch.manual_seed(99)
    third = build("dnn", ROW, 5, Key(3))
    assert all(torch.equal(one.initial[name], same.initial[name]) for name in one.initial)
    assert all(torch.equal(one.initial[name], third.initial[name]) for name in one.initial)
    assert not torch.equal(one.initial["1.weight"], other.initial["1.weight"])


def test_options():
    assert build("dnn", ROW, 5, Key(0), hidden=100).initial["1.weight"].shape == (100, 60)
    with pytest.raises(
        FedkinError, match="unknown option of model 'dnn' 'hiden': did you mean 'hidden'"
    ):
        build("dnn", ROW, 5, Key(0), hiden=100)
    with pytest.raises(FedkinError, match="unknown model 'vgg12': did you mean 'vgg1"):
        build("vgg12", COLOUR, 5, Key(0))
    with pytest.raises(FedkinError, match="unknown family 'gausian': did you mean 'gaussian'"):
        build("glm", ROW, 0, Key(0), "gausian")


@pytest.mark.parametrize(
    ("name", "shape", "sentence"),
    [
        ("cnn_persfl", ROW, "needs images"),
        ("cnn_comet", (1, 8, 8), "16×16 pixels or more"),
        ("cnn_cgpfl", (28, 28), "needs images"),
        ("resnet18", (1, 8, 8), "28×28 pixels or more"),
        ("mobilenet_v2", ROW, "28×28 pixels or more.*try dnn"),
        ("vgg11", GREY, "needs 32×32 images.*try dnn"),
        ("glm", ROW, r"must return \[batch, 5\], for a batch of 2 it returned \[2, 1\]"),
    ],
)
def test_wrong_shapes(name, shape, sentence):
    with pytest.raises(FedkinError, match=sentence) as caught:
        build(name, shape, 5, Key(0))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("family", FAMILIES)
def test_families(family):
    name = "mlr" if family == "categorical" else "glm"
    model = build(name, ROW, 2, Key(0), family)
    y = torch.tensor([0, 1, 1]) if model.family.classes else torch.tensor([0.0, 2.0, 1.0])
    batch = Batch(torch.rand(3, 60), y, torch.full((3,), 1 / 3))
    direct = model.family.nll(model.outputs(model.initial, batch.x), y)
    through_means = model.family.nll_of_mean(
        model.family.mean(model.outputs(model.initial, batch.x)), y
    )
    assert torch.allclose(direct, through_means, atol=1e-5)
