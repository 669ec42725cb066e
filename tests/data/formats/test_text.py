"""Texts as samples: which windows there are, what pads them, what is never a target, and that texts
stay whole.
"""

import builtins
import json
from pathlib import Path

import h5py
import numpy as np
import pytest
import torch

from fedkin.core.errors import FedkinError
from fedkin.core.model import Batch, Inputs
from fedkin.core.rng import Key
from fedkin.data.formats.text import windows
from fedkin.data.population import Population
from fedkin.data.population_builder import build
from fedkin.data.public import Public
from fedkin.data.sources import load
from fedkin.experiment.run import experiment, run
from fedkin.models.build import build as build_model
from fedkin.runs.database import read_only
from fedkin.setup.loaded_run import load as opened

LINES = [
    "the cat sat on the mat",
    "a dog and a cat",
    "so it goes",
    "on and on",
    "the end, said the dog",
    "no more",
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    roles = {f"Play | ROLE {k}": [LINES[(k + i) % 6] for i in range(5)] for k in range(4)}
    (tmp_path / "shakespeare.json").write_text(json.dumps(roles))
    return tmp_path


@pytest.fixture
def posts(tmp_path: Path) -> Path:
    """A file of the layout that TensorFlow Federated publishes: byte strings, the words with blanks
    between.
    """
    with h5py.File(tmp_path / "stackoverflow_train.h5", "w") as file:
        for user in range(5):
            group = file.create_group(f"examples/{user:08d}")
            texts = [LINES[(user + i) % 6].encode() for i in range(4 + user)]
            group.create_dataset("tokens", data=texts, dtype=h5py.special_dtype(vlen=bytes))
            group.create_dataset("score", data=np.arange(len(texts)))
    return tmp_path


def read(source, row: int) -> tuple[str, str]:
    """One sample as text: "_" is padding, "?" an unknown symbol."""
    symbols = [*source.class_names, "?", "_"]
    return "".join(symbols[t] for t in source.x[row]), symbols[source.y[row]]


# --- windows


def test_windows_by_hand():
    source = windows("toy", {"a": ["abca", "b", "ba"], "b": ["cab"]}, "text", length=3, least=1)
    assert source.class_names == ("a", "b", "c")  # 4, 4 and 2 times: ties in code-point order
    assert [read(source, i) for i in range(6)] == [
        ("__a", "b"), ("_ab", "c"), ("abc", "a"), ("__b", "a"), ("__c", "a"), ("_ca", "b"),
    ]  # fmt: skip
    assert source.client is not None
    assert source.client.tolist() == ["a"] * 4 + ["b"] * 2
    assert source.truth["text"].tolist() == [0, 0, 0, 2, 3, 3]
    assert source.group == "text"
    assert source.x.dtype == np.int16
    assert source.x.max() == source.classes + 1


def test_unknown_symbols_are_context_and_never_targets():
    source = windows("toy", {"a": ["aaxaab"]}, "text", length=2, vocabulary=2, least=1)
    assert source.class_names == ("a", "b")
    assert [read(source, i) for i in range(4)] == [
        ("_a", "a"),
        ("a?", "a"),
        ("?a", "a"),
        ("aa", "b"),
    ]
    assert source.classes == 2  # no output stands for "unknown", so that none can be predicted


def test_every_tenth_symbol():
    whole = windows("toy", {"a": ["abcdefghij" * 9]}, "text", length=4, least=1)
    some = windows("toy", {"a": ["abcdefghij" * 9]}, "text", length=4, stride=10, least=1)
    assert len(whole.x) == 89
    np.testing.assert_array_equal(some.x, whole.x[::10])
    np.testing.assert_array_equal(some.y, whole.y[::10])


def test_clients_with_too_few_texts_are_left_out():
    source = windows("toy", {"a": ["ab", "ab", "ab"], "b": ["ab", "a", "", "ab"]}, "text", length=3)
    assert source.client is not None
    assert set(source.client) == {"a"}
    with pytest.raises(FedkinError, match="no client has samples from 4 texts"):
        windows("toy", {"a": ["ab", "ab", "ab"], "b": []}, "text", length=3, least=4)


# --- data sets


def test_characters_of_roles(folder):
    source = load("shakespeare", folder, length=6, stride=1)
    assert source.x.shape[1:] == (6,)
    assert len(source.x) == sum(len(LINES[(k + i) % 6]) - 1 for k in range(4) for i in range(5))
    assert read(source, 0) == ("_____t", "h")
    assert set(source.class_names) == set("".join(LINES))
    assert load("shakespeare", folder).x.shape[1] == 80


def test_words_of_roles(folder):
    source = load("shakespeare", folder, task="word", stride=1, vocabulary=9)
    assert source.x.shape[1] == 20
    assert source.classes == 9
    every = load("shakespeare", folder, task="word", stride=1)
    assert "," in every.class_names
    assert "the" in every.class_names[:2]


def test_no_text_is_divided(folder):
    """The default of a natural partition; neighbouring windows share all symbols but one."""
    source = load("shakespeare", folder, length=6, stride=1)
    p = build(source, "natural", None, Key(3))
    text = source.truth["speech"]
    for k in range(p.clients):
        parts = [set(text[rows[k]]) for rows in (p.train, p.val, p.test)]
        assert all(parts)
        assert sum(map(len, parts)) == len(set.union(*parts)) == 5
    torn = build(source, "natural", None, Key(3), group="none")
    assert set(text[torn.train[0]]) & set(text[torn.test[0]])
    assert build(source, "iid", 3, Key(3)).clients == 3  # speeches are shared there anyway


def test_a_population_of_tokens(folder, tmp_path):
    source = load("shakespeare", folder, length=6, stride=1)
    p = build(source, "natural", None, Key(0), public=Public(20))
    p.save(tmp_path / "p")
    assert Population.load(tmp_path / "p").digest() == p.digest()
    assert p.public is not None
    assert p.public.dtype == torch.int16
    assert p.histogram("train").sum() == p.sizes("train").sum()
    with pytest.raises(FedkinError, match="have other numbers than those of"):
        build(source, "natural", None, Key(0), public=Public(20, source))
    wrong = source._replace(x=source.x + 1)
    with pytest.raises(FedkinError, match="then the unknown symbol and padding"):
        build(wrong, "natural", None, Key(0))


def test_posts_of_users(posts):
    source = load("stackoverflow", posts, length=5, users=3, posts=4)
    assert source.client is not None
    assert sorted(set(source.client)) == ["00000000", "00000001", "00000002"]
    assert len(np.unique(source.truth["post"])) == 12
    symbols = [*source.class_names, "?", "_"]
    assert [symbols[t] for t in source.x[4]] == ["the", "cat", "sat", "on", "the"]
    assert symbols[source.y[4]] == "mat"
    assert len(set(load("stackoverflow", posts, users=0).client)) == 5  # type: ignore[arg-type]
    assert build(source, "natural", None, Key(0)).clients == 3


def test_h5py_is_an_extra(posts, monkeypatch):
    plain = builtins.__import__

    def without(name, *rest, **more):
        if name == "h5py":
            raise ImportError(name)
        return plain(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(FedkinError, match=r"extra h5"):
        load("stackoverflow", posts)


@pytest.mark.parametrize(
    ("name", "options", "sentence"),
    [
        ("shakespeare", {"task": "line"}, "'char' or 'word', not 'line'"),
        ("shakespeare", {"length": -1}, "length=-1 must be a whole number of at least 1"),
        ("shakespeare", {"stride": 0}, "stride=0"),
        ("shakespeare", {"lenght": 4}, "did you mean 'length'"),
        ("stackoverflow", {}, "put stackoverflow_train.h5 into"),
    ],
)
def test_mistakes(folder, name, options, sentence):
    with pytest.raises(FedkinError, match=sentence) as error:
        load(name, folder, **options)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("content", ["{", "[1]", '{"a": "b"}', '{"a": [1]}'])
def test_damaged_json(folder, content):
    (folder / "shakespeare.json").write_text(content)
    with pytest.raises(FedkinError, match=r"shakespeare.json .*role"):
        load("shakespeare", folder)


def test_damaged_h5(posts):
    path = posts / "stackoverflow_train.h5"
    with h5py.File(path, "w") as file:
        file.create_group("others")
    with pytest.raises(FedkinError, match="lacks examples/USER/tokens"):
        load("stackoverflow", posts)
    path.write_bytes(b"no hdf5")
    with pytest.raises(FedkinError, match="damaged"):
        load("stackoverflow", posts)


@pytest.mark.parametrize("how", ["link of all", "link of one", "external", "virtual"])
def test_an_h5_reads_no_other_file(posts, tmp_path, how):
    path, other = posts / "stackoverflow_train.h5", tmp_path / "other.h5"
    path.rename(other)
    with h5py.File(path, "w") as file:
        if how == "link of all":
            file["examples"] = h5py.ExternalLink(other, "/examples")
        elif how == "link of one":
            file["examples/a"] = h5py.ExternalLink(other, "/examples/00000000")
        elif how == "external":
            name = "examples/a/tokens"
            file.create_dataset(name, shape=(8,), dtype="S9", external=[(other, 0, 72)])
        else:
            layout = h5py.VirtualLayout(shape=(4,), dtype="S9")
            layout[:] = h5py.VirtualSource(other, "/examples/a/tokens", shape=(4,))
            file.create_virtual_dataset("examples/a/tokens", layout)
    said = "is a link: save its data" if how.startswith("link") else "names other files"
    with pytest.raises(FedkinError, match=said):
        load("stackoverflow", posts)


# --- models on texts


def model_of(source, **options):
    options = {"width": 8, "layers": 2, "heads": 2, **options}
    shape = tuple(source.x.shape[1:])
    return build_model(
        "transformer_lm", shape, source.classes, Key(0), inputs=Inputs(tokens=True), **options
    )


def test_padding_weighs_nothing(folder):
    """Whatever the padding symbol's vector and whatever stands for padded rows: the same loss, no
    gradient.
    """
    source = load("shakespeare", folder, length=6, stride=1)
    model = model_of(source)
    padding = source.classes + 1
    rows = np.flatnonzero((source.x == padding).any(1))[:6]
    batch = Batch(
        torch.from_numpy(source.x[rows]), torch.from_numpy(source.y[rows]), torch.full((6,), 1 / 6)
    )
    other = {**model.initial, "symbols.weight": model.initial["symbols.weight"].clone()}
    other["symbols.weight"][padding] = 7.0
    torch.testing.assert_close(
        model.loss(other, batch), model.loss(model.initial, batch), rtol=0, atol=0
    )
    slope = torch.func.grad(model.loss)(model.initial, batch)
    assert slope["symbols.weight"][padding].abs().max() == 0
    assert slope["symbols.weight"][:padding].abs().max() > 0
    filled = batch._replace(
        weight=torch.tensor([0.25] * 4 + [0.0] * 2)
    )  # two rows fill the batch up
    x, y = (
        torch.cat([batch.x[:4], torch.full_like(batch.x[4:], padding)]),
        torch.cat([batch.y[:4], batch.y[:2]]),
    )
    spoiled = filled._replace(x=x, y=y)
    torch.testing.assert_close(
        model.loss(model.initial, spoiled), model.loss(model.initial, filled), rtol=0, atol=0
    )
    assert torch.isfinite(
        model.outputs(model.initial, torch.full((1, 6), padding))
    ).all()  # nothing but padding


def test_a_short_context_is_a_shorter_window(folder):
    """Padding on the left is as if the window were shorter: position vectors count from the
    window's end.
    """
    source = load("shakespeare", folder, length=6, stride=1)
    long, short = model_of(source), model_of(source._replace(x=source.x[:, -3:]))
    w = {name: value[-3:] if name == "places" else value for name, value in long.initial.items()}
    rows = np.flatnonzero(
        (source.x[:, :3] == source.classes + 1).all(1) & (source.x[:, 3] != source.classes + 1)
    )
    x = torch.from_numpy(source.x[rows])
    torch.testing.assert_close(long.outputs(long.initial, x), short.outputs(w, x[:, 3:]))


@pytest.mark.rotating
@pytest.mark.parametrize("method", ["fedavg", "comet", "pfedme"])
def test_a_run_on_roles(folder, tmp_path, method):
    """Next characters are learned better than by their frequencies, by methods of every kind."""
    options = {
        "comet": {"clusters": 2},
        "pfedme": {"inner": 3, "lam": 2.0, "personal_lr": 0.2},
    }.get(method, {})
    spec = experiment(
        {
            "data": {"name": "shakespeare", "dir": str(folder), "length": 6, "stride": 1},
            "split": {"name": "natural"},
            "model": {"name": "transformer_lm", "width": 16, "layers": 1, "heads": 2},
            "public": {"source": "held-out", "samples": 20} if method == "comet" else {},
            "method": {"name": method, **options},
            "train": {"steps": 50, "lr": 0.3},
            "engine": {"name": "inprocess", "compile": "trace"},
            "run": {"rounds": 3},
        }
    )
    out = run(spec, tmp_path / "run")
    with read_only(out) as database:
        # After the last round
        query = "SELECT AVG(loss) FROM metrics WHERE view = 'personal' AND split = 'train'"
        ((loss,),) = database.rows(query)
        said = database.facts()["said"]
        # whole speeches are public
        assert [one.partition(":")[0] for one in said] == (
            ["the public set has 21 rows, not 20"] if method == "comet" else []
        )
    counts = np.unique(list("".join(LINES)), return_counts=True)[1] / len("".join(LINES))
    assert loss < 0.8 * -(counts * np.log(counts)).sum()
    assert opened(out)[1].population.x.dtype == torch.int16


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"model": {"name": "dnn"}}, "model 'dnn' cannot read symbols"),
        ({"data": {"mean": [0.5]}}, "data.mean is for numbers"),
        (
            {"model": {"name": "transformer_lm", "width": 7}},
            "width=7 must be a multiple of heads=4",
        ),
        (
            {"model": {"name": "transformer_lm", "layers": 0}},
            "model.layers of transformer_lm is a whole number",
        ),
    ],
)
def test_what_does_not_fit_is_said(folder, tmp_path, change, sentence):
    content = {
        "data": {"name": "shakespeare", "dir": str(folder), "length": 6, **change.get("data", {})},
        "split": {"name": "natural"},
        "model": change.get("model", {"name": "transformer_lm"}),
        "method": {"name": "fedavg"},
        "engine": {"name": "inprocess"},
    }
    with pytest.raises(FedkinError, match=sentence):
        run(experiment(content), tmp_path / "run")


def test_numbers_are_not_read_as_symbols():
    with pytest.raises(FedkinError, match="reads symbols, the data hold numbers"):
        build_model("transformer_lm", (60,), 5, Key(0))
    with pytest.raises(FedkinError, match="reads rows of symbols"):
        build_model("transformer_lm", (1, 28, 28), 5, Key(0))
