"""Where something from elsewhere enters fedkin, what a stranger might send there, and who takes it.

Each boundary takes a case and does what fedkin does with it. It may accept it or raise FedkinError;
everything else is a bug. ``scripts/fuzz`` and ``tests/fuzz`` run them.
"""

import json
import os
import sqlite3
import tempfile
from contextlib import closing
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from fedkin.core.errors import FedkinError
from fedkin.core.escaping import COMMANDS, as_json, cell, markdown, plain
from fedkin.core.toml import BadToml, parse_toml
from fedkin.report.summary import summary
from fedkin.runs import trust
from fedkin.runs.bounds import COLUMNS
from fedkin.runs.directory import path_in_run
from fedkin.runs.spec import SECTIONS, Spec, parse
from fedkin.setup.arguments.options import specification
from tests.fuzz.boundary import TEXTS, TOML_VALUES, VALUES, Boundary
from tests.fuzz.data_files import DATA_FILES
from tests.fuzz.others import NODES, OTHERS
from tests.report.records_for_tests import write

KEYS = [f"{name}.{key}" for name in SECTIONS for key in type(getattr(Spec(), name)).model_fields]


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


LINES = [*TOML_VALUES, "{" * 2000, "2020-01-01", "[1, 'a']", '"\\ud800"']
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


def _name(name: str) -> None:
    """A client's name as a folder in a run directory."""
    folder, _ = _record()
    run = Path(folder.name)
    found = path_in_run(run, "joined", name)
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
    "specification: values": Boundary(GIVEN, _specification),
    "specification: TOML": Boundary(TOML, _toml),
    "command line": Boundary(
        st.tuples(
            st.dictionaries(st.sampled_from(OPTIONS), TEXTS, max_size=2),
            st.lists(st.builds("{}={}".format, st.sampled_from(KEYS), TEXTS), max_size=2),
        ),
        _options,
    ),
    "record: one cell": Boundary(
        st.tuples(st.sampled_from(sorted(COLUMNS)), st.integers(0, 11), VALUES), _cell
    ),
    "record: some bytes": Boundary(DAMAGE, _bytes),
    "record: one fact": Boundary(st.tuples(st.sampled_from(FACTS), VALUES), _fact),
    "names of files": Boundary(TEXTS, _name),
    "strings to people": Boundary(TEXTS, _text),
    "who is trusted": Boundary(REMEMBERED, _memory),
    **DATA_FILES,
    **OTHERS,
}
if find_spec("flwr") is not None:  # the extra flower
    from tests.fuzz.network import NETWORK

    BOUNDARIES |= NETWORK | NODES
if find_spec("cryptography") is not None:  # the extra privacy
    from tests.fuzz.masked import MASKED

    BOUNDARIES |= MASKED
