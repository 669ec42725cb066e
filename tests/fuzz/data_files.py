"""Data files as a stranger might make them: honest ones with hostile cells, bytes and headers."""

import json
import tempfile
import zipfile
from contextlib import suppress
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import strategies as st

from fedkin.data.formats.npz import load_arrays
from fedkin.data.sources import load
from tests.fuzz.boundary import ODD, STRINGS, Boundary
from tests.fuzz.grammar import places, put

SHAPES = st.lists(
    st.one_of(st.integers(0, 5), st.sampled_from([10**9, 10**12, 2**63, 10**30])), max_size=4
)
DTYPES = st.sampled_from(
    ["<f8", "<f4", "|u1", "<i8", "|O", "<U9", "<M8[s]", "|V8", "<c16", "|b1", "<f2", ">f8", "|S0"]
)
MEMBERS = st.lists(
    st.tuples(st.sampled_from(["x", "y", "../x", "client"]), SHAPES, DTYPES, st.integers(0, 64)),
    max_size=3,
    unique_by=lambda member: member[0],
)
BYTES = st.lists(st.tuples(st.integers(0, 2**20), st.integers(0, 255)), max_size=12)


@cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory()


def _file(name: str) -> Path:
    return Path(_folder().name) / name


def _archive(case: tuple[list[tuple[str, list[int], str, int]], bytes]) -> None:
    """An .npz whose headers need not be true."""
    members, tail = case
    path = _file("case.npz")
    with zipfile.ZipFile(path, "w") as archive:
        for name, shape, dtype, size in members:
            head = BytesIO()
            about = {"descr": dtype, "fortran_order": False, "shape": tuple(shape)}
            np.lib.format.write_array_header_1_0(head, about)
            archive.writestr(f"{name}.npy", head.getvalue() + bytes(size))
    with open(path, "ab") as file:
        file.write(tail)
    load_arrays(path)


CELLS = st.one_of(
    st.sampled_from([str(value)[:9000] for value in ODD]),
    st.sampled_from(["\0", '"', '""', "\r", "\n", ";", "1,2", "NA", "2020-13-45", "0x1F", "é"]),
    st.text(max_size=12),
)
ENCODINGS = st.sampled_from(["utf-8", "utf-16", "latin-1", "utf-8-sig"])
GOOD_ROWS = [[str(k % 5), f"{k / 7:.3f}", f"w{k % 3}", str(k % 2)] for k in range(12)]
TABLES = st.one_of(
    st.tuples(
        st.lists(CELLS, min_size=1, max_size=4),
        st.lists(st.lists(CELLS, max_size=5), max_size=6),
        ENCODINGS,
    ),
    st.lists(st.tuples(st.integers(-1, 11), st.integers(0, 3), CELLS), max_size=3).map(
        lambda changes: _with_cells(changes)
    ),
)


def _with_cells(
    changes: list[tuple[int, int, str]],
) -> tuple[list[str], list[list[str]], str]:
    """A good table with a few cells changed; row -1 is the head."""
    head, rows = ["age", "bmi", "word", "odd"], [[*row] for row in GOOD_ROWS]
    for row, column, cell in changes:
        (head if row < 0 else rows[row])[column] = cell
    return head, rows, "utf-8"


def _csv(case: tuple[list[str], list[list[str]], str]) -> None:
    """A table of odd cells, in any encoding."""
    head, rows, encoding = case
    lines = "\n".join(",".join(cells) for cells in [[*head, "label"], *rows])
    path = _file("case.csv")
    path.write_bytes(lines.encode(encoding, "replace"))
    load(str(path), label="label")


@cache
def _columnar(ending: str) -> bytes:
    import pyarrow
    from pyarrow import feather, parquet

    rows = 60
    table = pyarrow.table(
        {
            "age": np.arange(rows, dtype=np.float64),
            "word": [f"w{k % 7}" for k in range(rows)],
            "when": np.arange(rows).astype("datetime64[D]"),
            "label": np.arange(rows) % 3,
        }
    )
    path = _file(f"good.{ending}")
    write: Any = parquet.write_table if ending == "parquet" else feather.write_feather
    write(table, path, compression="zstd")
    return path.read_bytes()


def _damaged(case: tuple[str, list[tuple[int, int]], int]) -> None:
    """A columnar file some bytes of which are others, and which may end too early."""
    ending, changes, cut = case
    whole = bytearray(_columnar(ending))
    for at, value in changes:
        whole[-1 - at % len(whole)] = value  # what describes the columns lies at the end
    path = _file(f"case.{ending}")
    path.write_bytes(whole[: len(whole) - cut])
    load(str(path), label="label")


VALUES = st.one_of(
    st.sampled_from([value for value in ODD if value == value]), st.lists(st.integers(0, 3))
)
USERS = st.dictionaries(
    st.sampled_from(["u", "v", *STRINGS[:6]]),
    st.one_of(VALUES, st.fixed_dictionaries({"x": VALUES, "y": VALUES}), st.just({"x": [[1]]})),
    max_size=3,
)


GOOD_LEAF: dict[str, Any] = {
    "users": ["u", "v"],
    "num_samples": [3, 4],
    "user_data": {
        "u": {"x": [[1, 2], [3, 4], [5, 7]], "y": [0, 1, 0]},
        "v": {"x": [[1, 0], [0, 4], [5, 6], [9, 1]], "y": [1, 1, 0, 2]},
    },
}


@st.composite
def _changed_leaf(draw: st.DrawFn) -> Any:
    """Good users with a few places changed."""
    content: Any = GOOD_LEAF
    for _ in range(draw(st.integers(0, 2))):
        path = draw(st.sampled_from(places(GOOD_LEAF)))
        with suppress(KeyError, IndexError, TypeError):  # what was there was changed away
            content = put(content, path, draw(VALUES))
    return content


def _leaf(case: tuple[Any, str]) -> None:
    """LEAF's JSON, good or of another shape."""
    content, tail = case
    path = _file("case.json")
    path.write_bytes((json.dumps(content) + tail).encode("utf-8", "surrogatepass"))
    load(str(path))


def _saved(case: tuple[str, Any]) -> None:
    """A saved data set of Hugging Face with another description."""
    saved = _file("saved")
    if not saved.is_dir():
        from tests.data.formats.test_hugging_face import write_saved

        write_saved(saved, {"a": [1, 2, 3], "label": [0, 1, 1]}, {})
    name, content = case
    before = (saved / name).read_bytes()
    try:
        raw = isinstance(content, str) and content.startswith(("[", "{"))
        (saved / name).write_text(content if raw else json.dumps(content))
        load(f"{saved}/")
    finally:
        (saved / name).write_bytes(before)


LEAVES = st.one_of(
    st.fixed_dictionaries(
        {
            "users": st.one_of(VALUES, st.just(["u"])),
            "num_samples": st.just([1]),
            "user_data": USERS,
        }
    ),
    _changed_leaf(),
    _changed_leaf(),
)
DESCRIBED = st.one_of(
    VALUES,
    st.sampled_from(["[" * 100_000, '{"features": ' * 50_000, "[1", "{}" * 9]),  # as they stand
    st.fixed_dictionaries({"_data_files": st.lists(st.fixed_dictionaries({"filename": VALUES}))}),
    st.fixed_dictionaries({"features": st.dictionaries(st.sampled_from(["a", "label"]), VALUES)}),
)
DATA_FILES = {
    "data: archive of arrays": Boundary(st.tuples(MEMBERS, st.binary(max_size=8)), _archive),
    "data: CSV": Boundary(TABLES, _csv),
    "data: Parquet, Arrow": Boundary(
        st.tuples(
            st.sampled_from(["parquet", "feather"]), BYTES, st.sampled_from([0, 0, 0, 1, 9, 500])
        ),
        _damaged,
    ),
    "data: LEAF": Boundary(
        st.tuples(LEAVES, st.sampled_from(["", "", "", "", "]", "\0"])),
        _leaf,
    ),
    "data: saved data set": Boundary(
        st.tuples(st.sampled_from(["state.json", "dataset_info.json"]), DESCRIBED), _saved
    ),
}
