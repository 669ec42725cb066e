"""The codec: what goes in comes out, what is malformed is said to be, nothing is unpickled,
everything is counted.
"""

import contextlib
import json
import math
import pickle
import struct

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.torch import save

from fedkin.core.bounded import UpTo
from fedkin.core.errors import FedkinError
from fedkin.core.kinds import KINDS
from fedkin.core.tree import leaves, named_leaves
from fedkin.engine import codec
from fedkin.engine.codec import BadMessage, check, check_kinds, count, decode, encode

DTYPES = [
    torch.float32,
    torch.float64,
    torch.float16,
    torch.bfloat16,
    torch.int64,
    torch.int32,
    torch.uint8,
    torch.bool,
]


@st.composite
def tensors(draw):
    shape = draw(st.lists(st.integers(0, 4), max_size=3))
    dtype = draw(st.sampled_from(DTYPES))
    seed = draw(st.integers(0, 2**31))
    made = torch.randint(0, 200, shape, generator=torch.Generator().manual_seed(seed)).to(dtype)
    if made.dim() > 1 and draw(st.booleans()):
        return made.transpose(0, 1)  # not contiguous
    return made


numbers = st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=True, allow_infinity=True)
names = st.text(
    st.characters(exclude_characters="/(", exclude_categories=["Cs"]), min_size=1, max_size=8
)
trees = st.recursive(
    tensors() | numbers,
    lambda inner: (
        st.dictionaries(names, inner, max_size=4) | st.lists(inner, max_size=3).map(tuple)
    ),
    max_leaves=8,
)
MESSAGE = {
    "parameters": {"weight": torch.arange(6.0).view(2, 3), "buffer:mean": torch.zeros(3)},
    "coefficients": (torch.ones(2, dtype=torch.float64), 3, 0.5),
}


def same(a, b) -> bool:
    """Same structure, types and bits."""
    one, two = list(named_leaves(a)), list(named_leaves(b))
    if [path for path, _ in one] != [path for path, _ in two] or type(a) is not type(b):
        return False
    return all(_same_leaf(x, y) for (_, x), (_, y) in zip(one, two, strict=True))


def _same_leaf(x, y) -> bool:
    if not isinstance(x, torch.Tensor):
        return (
            type(x) is type(y) and struct.pack("d", x) == struct.pack("d", y)
            if isinstance(x, float)
            else x == y
        )
    return x.dtype == y.dtype and x.shape == y.shape and torch.equal(x, y)


@settings(max_examples=150, deadline=None)
@given(trees)
def test_round_trip(tree):
    blob = encode(tree)
    back = decode(blob)
    assert same(tree, back)
    assert encode(back) == blob  # canonical: fingerprints may be taken of bytes


def test_nan_and_infinity_pass_the_codec_as_they_are():
    # the codec also writes checkpoints; refusing them is the check's business
    back = decode(
        encode({"a": torch.tensor([math.nan, math.inf, -0.0]), "b": math.nan, "c": -math.inf})
    )
    assert back["a"].isnan().tolist() == [True, False, False]
    assert math.isnan(back["b"])
    assert back["c"] == -math.inf


def test_shared_memory():
    base = torch.arange(12.0).view(4, 3)
    tree = {
        "whole": base,
        "again": base,
        "tail": base[1:],
        "overlap": (base[0:2], base[1:3]),
        "turned": base.t(),
        "wide": base[:1].expand(5, 3),
        "column": base[:, 1],
        "nothing": base[:0],
    }
    assert same(tree, decode(encode(tree)))
    assert encode(tree) == encode({name: _clone(part) for name, part in tree.items()})


def _clone(part):
    return tuple(x.clone() for x in part) if isinstance(part, tuple) else part.clone()


def test_what_comes_out_is_writable_and_nobody_elses():
    blob = encode({"a": torch.zeros(3)})
    one, two = decode(blob)["a"], decode(blob)["a"]
    one.add_(1)
    assert two.tolist() == [0, 0, 0]


@pytest.mark.parametrize(
    "tree",
    [
        {1: torch.zeros(1)},
        {"(": torch.zeros(1)},
        {"a/b": 1, "a": {"b": 2}},
        {"__metadata__": torch.zeros(1)},
        {"a": [1, 2]},
        {"a": None},
        {"a": "text"},
    ],
)
def test_what_cannot_be_sent_is_refused(tree):
    with pytest.raises(FedkinError):
        encode(tree)


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=300))
def test_random_bytes(blob):
    with pytest.raises(BadMessage):
        decode(blob)


@settings(max_examples=500, deadline=None)
@given(st.data())
def test_mutated_bytes(data):
    blob = bytearray(encode(MESSAGE))
    for _ in range(data.draw(st.integers(1, 4))):
        blob[data.draw(st.integers(0, len(blob) - 1))] = data.draw(st.integers(0, 255))
    with contextlib.suppress(BadMessage):
        decode(bytes(blob))  # numbers changed, structure whole: that is a message


def test_truncated_bytes():
    blob = encode(MESSAGE)
    for end in range(len(blob)):
        with pytest.raises(BadMessage):
            decode(blob[:end])
    with pytest.raises(BadMessage):
        decode(blob + b"x")


OUTLINES = [
    "t",
    "i",
    "f",
    "x",
    3,
    None,
    [],
    ["t"],
    {},
    {"a": "i"},
    {"a": "f"},
    {"a": "t", "b": "t"},
    {"a": None},
]
OUTLINES += [{"(": "t"}, {"(": ["t"]}, {"(": {"a": "t"}, "b": "t"}, {"a": {"b": "t"}}, {"a": ["t"]}]


@pytest.mark.parametrize("outline", OUTLINES, ids=str)
@pytest.mark.parametrize(
    "value",
    [
        torch.zeros(3),
        torch.tensor(math.inf, dtype=torch.float64),
        torch.tensor(math.inf),
        torch.tensor(1j),
    ],
    ids=["three", "inf", "single", "1j"],
)
def test_outlines_that_do_not_fit(outline, value):
    blob = save({"a": value}, {"tree": json.dumps(outline)})
    if outline == {"a": "f"} and value.dim() == 0 and value.dtype == torch.float64:
        assert decode(blob) == {"a": math.inf}
        return
    with pytest.raises(BadMessage):
        decode(blob)


def test_deep_nesting_and_hidden_tensors():
    deep = json.dumps({"a": 1}).replace("1", '{"a":' * 100_000 + "1" + "}" * 100_000)
    for metadata in ({"tree": deep}, {"tree": "{"}, {"tree": "{}"}, {"other": "{}"}, None):
        with pytest.raises(BadMessage):
            decode(save({"a": torch.zeros(1)}, metadata))


def test_a_pickle_is_not_read(tmp_path):
    class Bomb:
        def __reduce__(self):
            return (tmp_path.joinpath("exploded").touch, ())

    for blob in (pickle.dumps(Bomb()), pickle.dumps({"parameters": torch.zeros(2)})):
        with pytest.raises(BadMessage):
            decode(blob)
    torch.save(MESSAGE, tmp_path / "model.pt")
    with pytest.raises(BadMessage):
        decode((tmp_path / "model.pt").read_bytes())
    assert not (tmp_path / "exploded").exists()


def test_oversized(monkeypatch):
    blob = encode(MESSAGE)
    monkeypatch.setattr(codec, "MAX_BYTES", len(blob) - 1)
    with pytest.raises(BadMessage, match=f"{len(blob)} bytes"):
        decode(blob)


def test_counting():
    blob = encode(MESSAGE)
    counted = count(MESSAGE, len(blob))
    assert counted.bytes == len(blob)
    assert counted.scalars == {**dict.fromkeys(KINDS, 0), "parameters": 9, "coefficients": 4}
    empty = count({}, len(encode({})))
    assert empty.bytes == 0
    assert set(empty.scalars.values()) == {0}


@pytest.mark.parametrize(
    "message", [{"weights": torch.zeros(1)}, (torch.zeros(1),), torch.zeros(1), 3]
)
def test_kinds(message):
    with pytest.raises(BadMessage, match=r"'mine' sends .* must be among"):
        check_kinds(message, "mine")


def altered(**parts):
    return {**MESSAGE, **parts}


WEIGHT = MESSAGE["parameters"]["weight"]
MEAN = MESSAGE["parameters"]["buffer:mean"]
TAIL = MESSAGE["coefficients"]
INFINITE = torch.tensor([[math.inf, -math.inf, 0], [0, 0, 0]])
BAD = {
    "missing part": ({"parameters": MESSAGE["parameters"]}, "lacks coef.*expected_update"),
    "unknown part": (altered(control=1), "has control, which expected_update"),
    "missing name": (altered(parameters={"weight": WEIGHT}), "lacks .*buffer:mean"),
    "unknown name": (altered(parameters={**MESSAGE["parameters"], "bias": MEAN}), "has .*bias"),
    "empty": ({}, "lacks .* and 2 more, which"),
    "shape": (
        altered(parameters={"weight": WEIGHT.t(), "buffer:mean": MEAN}),
        r"expected \[2, 3\].*got \[3, 2\]",
    ),
    "flat": (altered(parameters={"weight": WEIGHT.flatten(), "buffer:mean": MEAN}), "expected"),
    "broadcastable": (altered(parameters={"weight": WEIGHT[:1], "buffer:mean": MEAN}), "expected"),
    "dtype": (altered(parameters={"weight": WEIGHT.double(), "buffer:mean": MEAN}), "float64"),
    "integers": (altered(parameters={"weight": WEIGHT.long(), "buffer:mean": MEAN}), "int64"),
    "nan": (altered(parameters={"weight": WEIGHT / 0, "buffer:mean": MEAN}), "NaN or infinity"),
    "both infinities": (
        altered(parameters={"weight": INFINITE, "buffer:mean": MEAN}),
        "NaN or infinity",
    ),
    "nan statistics": (
        altered(parameters={"weight": WEIGHT, "buffer:mean": MEAN / 0}),
        "NaN or infinity",
    ),
    "nan number": (altered(coefficients=(TAIL[0], 3, math.nan)), "NaN or infinity"),
    "large number": (altered(coefficients=(TAIL[0], 3, 1e31)), r"numbers are at most 1e\+30"),
    "large whole number": (
        altered(coefficients=(TAIL[0], 2**60, 0.5)),
        "not the number that was expected",
    ),
    "a fraction for a whole number": (
        altered(coefficients=(TAIL[0], 3.0, 0.5)),
        "not the number that was expected",
    ),
    "large": (
        altered(parameters={"weight": WEIGHT * 1e37, "buffer:mean": MEAN}),
        "numbers are at most",
    ),
    "number for tensor": (altered(coefficients=(1.0, 3, 0.5)), "expected a tensor"),
    "tensor for number": (
        altered(coefficients=(TAIL[0], torch.tensor(3), 0.5)),
        "expected a number",
    ),
    "longer tuple": (altered(coefficients=(*TAIL, 1)), "has coef"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_messages(case):
    message, reason = BAD[case]
    with pytest.raises(BadMessage, match=reason):
        check(decode(encode(message)), MESSAGE)


ROWS = {"parameters": UpTo(torch.zeros(3, 2))}
SHORTER = {
    "more rows": (torch.zeros(4, 2), r"expected \[3, 2\].*got \[4, 2\]"),
    "wider rows": (torch.zeros(2, 3), r"expected \[2, 2\].*got \[2, 3\]"),
    "one row alone": (torch.zeros(2), r"got \[2\]"),
    "no row": (torch.tensor(0.0), r"got \[\]"),
    "deep": (torch.zeros(3, 2, 1), r"got \[3, 2, 1\]"),
    "dtype": (torch.zeros(2, 2).half(), "float16"),
    "nan": (torch.full((2, 2), math.nan), "NaN or infinity"),
    "number": (3, "expected a tensor"),
}


@pytest.mark.parametrize("case", SHORTER)
def test_fewer_rows_must_be_rows(case):
    sent, reason = SHORTER[case]
    with pytest.raises(BadMessage, match=reason):
        check(decode(encode({"parameters": sent})), ROWS)


@pytest.mark.parametrize("rows", [0, 1, 3])
def test_as_many_rows_as_there_may_be(rows):
    sent = {"parameters": torch.full((rows, 2), 5.0)}
    assert check(decode(encode(sent)), ROWS) == {"parameters": 5.0 if rows else 0.0}


def test_good_messages():
    check(decode(encode(MESSAGE)), MESSAGE)
    big = torch.full((3,), -3e29)
    check({"parameters": big}, {"parameters": torch.zeros(3)})
    check(
        {"parameters": torch.full((3,), 6e4, dtype=torch.float16)},
        {"parameters": torch.zeros(3).half()},
    )
    assert len(leaves(MESSAGE)) == 5


def test_the_largest_weight_is_told_by_kind():
    spread = {
        "parameters": {"a": torch.tensor([1.0, -3.0]), "buffer:mean": torch.tensor([9.0])},
        "control": 2.5,
    }
    assert check(spread, spread) == {"parameters": 3.0, "control": 2.5}


def test_a_draw_does_not_stand_for_a_weight():
    """Of random places: else weights of 10^12 would pass as usual beside everybody's draw."""
    sent = {"parameters": {"values": torch.tensor([0.5, -2.0]), "draw": 2**40}}
    assert check(sent, sent) == {"parameters": 2.0}


def test_a_tensor_without_entries_stands_for_few():
    """Whoever is sent [0, 10**12] may make room for as many."""
    assert decode(encode({"a": torch.zeros(0, 1 << 20)}))["a"].shape == (0, 1 << 20)
    with pytest.raises(BadMessage, match="empty tensor"):
        decode(encode({"a": torch.zeros(0, 10**12)}))
