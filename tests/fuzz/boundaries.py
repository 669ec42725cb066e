"""Where something from elsewhere enters fedkin, what a stranger might send there, and who takes it.

Each boundary takes a case and does what fedkin does with it. It may accept it or raise FedkinError;
everything else is a bug. ``scripts/fuzz`` and ``tests/fuzz`` run them.
"""

import json
import os
import sqlite3
import tempfile
import zipfile
from collections.abc import Callable
from contextlib import closing
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from hypothesis import strategies as st

from fedkin.core.errors import FedkinError
from fedkin.core.plain import COMMANDS, as_json, cell, markdown, plain
from fedkin.core.toml import BadToml, parse_toml
from fedkin.data.formats.npz import load_arrays
from fedkin.report.summary import summary
from fedkin.runs import trust
from fedkin.runs.bounds import COLUMNS
from fedkin.runs.directory import own
from fedkin.runs.spec import Spec, parse
from fedkin.setup.options import specification
from tests.report.records_for_tests import write


class Boundary(NamedTuple):
    """``cases``: how many the fast tests try; the nightly tries 10,000."""

    cases: int
    strategy: st.SearchStrategy[Any]
    enter: Callable[[Any], None]


NUMBERS = [0, -1, 1, 2**31, 2**53, 2**63, -(2**63), 10**30, 10**200, 0.5, -0.0, 1e308, 1e-320]
NUMBERS += [float("inf"), float("nan"), True, False]
NAMES = ["", " ", ".", "..", "../..", "/etc/passwd", "a/b", "a\\b", "\0", "x" * 10_000, "9" * 5000]
MARKS = [
    "\x1b[2J",
    "\x1b]0;x\x07",
    "\u202e",
    "\ud800",
    "[bold]x[/]",
    "<script>",
    "=1+1",
    ":",
    "=",
    ",",
]
CODE = ["os:system", "os:system:command='x'", "builtins:exec", "nets:Net"]
KNOWN = [
    "mlr",
    "dnn:hidden=0",
    "dnn:hidden=[[[[",
    "fedavg",
    "digits",
    "synthetic_mixture",
    "held-out",
]
KNOWN += ["natural", "dirichlet:alpha=1e400", "a=b,c=d"]
SHAPED = [None, [], {}, [[]], {"a": {"b": []}}, [1, "a", None], {"": 0}, {"name": "dnn"}]
STRINGS = [*NAMES, *MARKS, *CODE, *KNOWN]
ODD: list[Any] = [*NUMBERS, *STRINGS, *SHAPED]
VALUES = st.one_of(
    st.sampled_from(ODD),
    st.integers(),
    st.floats(),
    st.text(max_size=40),
    st.recursive(
        st.sampled_from(ODD),
        lambda inner: (
            st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
        ),
        max_leaves=6,
    ),
)
KEYS = [f"{name}.{key}" for name, section in Spec() for key in type(section).model_fields]
TEXTS = st.one_of(st.text(max_size=60), st.sampled_from(STRINGS))


def _specification(given: dict[str, Any]) -> None:
    content: dict[str, Any] = {}
    for key, value in given.items():
        section, _, name = key.partition(".")
        content.setdefault(section, {})[name] = value
    parse(content, "", "a.toml")


def _toml(text: str) -> None:
    try:
        parse(parse_toml(text), text)
    except BadToml as error:
        raise FedkinError(str(error)) from None


LINES = ["1", "-1", "9" * 5000, "1e999", "nan", "[" * 2000, "{" * 2000, '"x"', "'''", "true", ""]
LINES += ["2020-01-01", "{a = 1}", "[1, 'a']", '"\\u0000"', '"\\ud800"']
PLACES = [*KEYS, "a", "[run]", "run", '"a.b".c']
TOML = st.one_of(
    st.text(max_size=200),
    st.lists(st.tuples(st.sampled_from(PLACES), st.sampled_from(LINES)), max_size=6).map(
        lambda lines: "\n".join(f"{key} = {value}" for key, value in lines)
    ),
    st.integers(1, 5000).map(lambda n: ".".join("a" * n) + " = 1"),
)
OPTIONS = ("method", "data", "split", "model", "public", "engine", "clients", "rounds", "seed")


def _options(given: tuple[dict[str, Any], list[str]]) -> None:
    options, settings = given
    specification(None, {key: value for key, value in options.items() if key in OPTIONS}, settings)


@cache
def _record() -> tuple[tempfile.TemporaryDirectory[str], bytes]:
    folder = tempfile.TemporaryDirectory()
    run = write(Path(folder.name) / "run")
    return folder, (run / "run.db").read_bytes()


def _placed(content: bytes) -> Path:
    folder, _ = _record()
    run = Path(folder.name) / "run"
    for path in run.iterdir():
        path.unlink()
    (run / "run.db").write_bytes(content)
    return run


def _cell(case: tuple[str, int, Any]) -> None:
    """One cell of one table of a record."""
    table, column, value = case
    run = _placed(_record()[1])
    with closing(sqlite3.connect(run / "run.db", isolation_level=None)) as connection:
        connection.execute("PRAGMA synchronous = OFF")
        names = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
        if not names:
            return
        name = names[column % len(names)]
        shown = json.dumps(value) if isinstance(value, list | dict) else value
        try:
            connection.execute(f"UPDATE OR REPLACE {table} SET {name} = ?", (shown,))
        except (OverflowError, UnicodeEncodeError, sqlite3.Error):
            return
    summary(run)


def _bytes(case: list[tuple[int, int]]) -> None:
    """Some bytes of a record."""
    whole = bytearray(_record()[1])
    for at, value in case:
        whole[at % len(whole)] = value
    summary(_placed(bytes(whole)))


FACTS = ["spec", "hyper", "rounds", "clients", "class_names", "newcomers", "said", "method", "data"]
FACTS += ["seed", "finished", "versions", "participation", "version"]


def _fact(case: tuple[str, Any]) -> None:
    """One fact of a record."""
    name, value = case
    run = _placed(_record()[1])
    text = json.dumps(value)
    with closing(sqlite3.connect(run / "run.db", isolation_level=None)) as connection:
        connection.execute("PRAGMA synchronous = OFF")
        connection.execute("INSERT OR REPLACE INTO facts VALUES (?, ?)", (name, text))
    summary(run)


SHAPES = st.lists(
    st.one_of(st.integers(0, 5), st.sampled_from([10**9, 10**12, 2**63, 10**30])), max_size=4
)
DTYPES = st.sampled_from(
    ["<f8", "<f4", "|u1", "<i8", "|O", "<U9", "<M8[s]", "|V8", "<c16", "|b1", "<f2", ">f8", "|S0"]
)


def _archive(case: tuple[list[tuple[str, list[int], str, int]], bytes]) -> None:
    """An .npz whose headers need not be true."""
    members, tail = case
    folder, _ = _record()
    path = Path(folder.name) / "case.npz"
    with zipfile.ZipFile(path, "w") as archive:
        for name, shape, dtype, size in members:
            head = BytesIO()
            about = {"descr": dtype, "fortran_order": False, "shape": tuple(shape)}
            np.lib.format.write_array_header_1_0(head, about)
            archive.writestr(f"{name}.npy", head.getvalue() + bytes(size))
    with open(path, "ab") as file:
        file.write(tail)
    load_arrays(path)


MEMBERS = st.lists(
    st.tuples(st.sampled_from(["x", "y", "../x", "client"]), SHAPES, DTYPES, st.integers(0, 64)),
    max_size=3,
    unique_by=lambda member: member[0],
)


def _name(name: str) -> None:
    """A client's name as a folder in a run directory."""
    folder, _ = _record()
    run = Path(folder.name)
    found = own(run, "joined", name)
    assert os.path.realpath(found).startswith(os.path.realpath(run / "joined") + os.sep), name


def _text(text: str) -> None:
    """A foreign string on its way to a terminal, to a page, to a spreadsheet."""
    assert not COMMANDS.search(plain(text))
    assert "<" not in markdown(text)
    assert "](" not in markdown(text)
    if all(not "\ud800" <= mark <= "\udfff" for mark in text):
        assert json.loads(as_json(json.dumps(text, ensure_ascii=False))) == text
    assert cell(text).endswith(text)


def _memory(content: bytes) -> None:
    """The file in which it is remembered whom a person trusts: never believed by accident."""
    home = trust._home()
    assert home is not None
    (home / trust.REMEMBERED).write_bytes(content)
    spec = Spec.model_validate({"model": {"name": "nets:Net"}})
    trust.require(Path("/nowhere/experiment.toml"), spec, ["nets:Net"], False)
    raise AssertionError("it was trusted")


GIVEN = st.dictionaries(st.sampled_from(KEYS), VALUES, max_size=3)
BYTE = st.tuples(st.integers(0, 2**20), st.integers(0, 255))
DAMAGE = st.lists(BYTE, min_size=1, max_size=20)
REMEMBERED = st.one_of(
    st.binary(max_size=60), VALUES.map(lambda value: repr(value).encode("utf-8", "replace"))
)
BOUNDARIES = {
    "specification: values": Boundary(500, GIVEN, _specification),
    "specification: TOML": Boundary(500, TOML, _toml),
    "command line": Boundary(
        300,
        st.tuples(
            st.dictionaries(st.sampled_from(OPTIONS), TEXTS, max_size=2),
            st.lists(st.builds("{}={}".format, st.sampled_from(KEYS), TEXTS), max_size=2),
        ),
        _options,
    ),
    "record: one cell": Boundary(
        120, st.tuples(st.sampled_from(sorted(COLUMNS)), st.integers(0, 11), VALUES), _cell
    ),
    "record: some bytes": Boundary(120, DAMAGE, _bytes),
    "record: one fact": Boundary(120, st.tuples(st.sampled_from(FACTS), VALUES), _fact),
    "archive of arrays": Boundary(150, st.tuples(MEMBERS, st.binary(max_size=8)), _archive),
    "names of files": Boundary(500, TEXTS, _name),
    "strings to people": Boundary(500, TEXTS, _text),
    "who is trusted": Boundary(100, REMEMBERED, _memory),
}
