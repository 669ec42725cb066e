"""Files and requests of strangers beside runs, data and messages: rows of a leaderboard, suites,
configurations of nodes, a browser's requests, and what lies in the data folder under a set's name.
"""

import io
import json
import re
import tempfile
import zlib
from contextlib import nullcontext
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

from hypothesis import strategies as st

from fedkin.bench.leaderboard import page as pages
from fedkin.bench.leaderboard.markdown import markdown
from fedkin.bench.row import read_rows, whole_cases
from fedkin.bench.suite import parsed, suite
from fedkin.bench.verify import named, permit
from fedkin.core.errors import FedkinError
from fedkin.core.escaping import COMMANDS
from fedkin.data.sources import load
from fedkin.report.live import Live
from fedkin.report.watch import HERE, _Request
from tests.bench.made_rows import made_rows
from tests.fuzz.boundary import TOML_VALUES, VALUES, Boundary
from tests.fuzz.grammar import places, put
from tests.report.records_for_tests import write

BYTES = st.lists(st.tuples(st.integers(0, 2**20), st.integers(0, 255)), max_size=12)


@cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory()


def _file(name: str) -> Path:
    return Path(_folder().name) / name


@st.composite
def _changed(draw: st.DrawFn, good: Any) -> Any:
    """A good JSON value with a few places changed."""
    content = good
    for _ in range(draw(st.integers(0, 3))):
        path = draw(st.sampled_from(places(good)))
        try:
            content = put(content, path, draw(VALUES))
        except (KeyError, IndexError, TypeError):  # what was there before was changed away
            continue
    return content


# A leaderboard ------------------------------------------------------------------------------------

ROWS = [row.model_dump(mode="json") for row in made_rows() if row.setting != "har"]
CHARTS = 10  # of so many cases one has its charts drawn: they take five times all the rest


def _rows(case: tuple[Any, bytes]) -> None:
    """A file of rows of which one is a stranger's: the page, the table, and whether it may run."""
    changed, tail = case
    path = _file("rows.jsonl")
    lines = [json.dumps(row) for row in (*ROWS, changed)]
    path.write_bytes("\n".join(lines).encode() + b"\n" + tail)
    rows = whole_cases(read_rows(path))
    drawn = zlib.crc32(path.read_bytes()) % CHARTS == 0
    with nullcontext() if drawn else patch.object(pages, "figures", return_value=[]):
        written = pages.page(rows).encode().decode()
    assert "<script>x" not in written
    table = markdown(rows)
    assert "<" not in table
    assert "](" not in table
    lines = table.encode().decode().splitlines()
    assert len({len(re.findall(r"(?<!\\)\|", line)) for line in lines}) == 1
    assert not any(COMMANDS.search(line) for line in lines)
    permit(named(rows, rows[-1].id), trusted=False)


@cache
def _suite() -> Any:
    return suite("small").model_dump(mode="json")


def _suites(content: Any) -> None:
    parsed(content, "a suite")


# Nodes and browsers -------------------------------------------------------------------------------


def _node(case: tuple[str, bytes]) -> None:
    """The file that a deployment's operator, or a node's, hands to the other."""
    from fedkin.flower import config

    name, content = case
    folder = Path(_folder().name)
    (folder / name).write_bytes(content)
    kind: Any = {"node.toml": config.NodeConfig, "deployment.toml": config.Deployment}[name]
    config.load(kind, folder, name)


GOOD = {
    "node.toml": 'client = "b"\nsuperlink = "127.0.0.1:9092"\nport = 9094\nimports = ["a.b"]\n',
    "deployment.toml": 'address = "127.0.0.1:9092"\nclients = ["a", "b"]\nmax_bytes = 1000\n',
}
LINES = [*TOML_VALUES, "[1]", '"../.."', '"a:b"', '"0.0.0.0:1"', '"[::]:99999"', "\xff"]
KEYS = ["client", "superlink", "address", "clients", "port", "imports", "model", "data", "state"]
KEYS += ["max_bytes", "insecure", "deadline", "quorum", "listen", "a", ".".join("a" * 900)]


@st.composite
def _configurations(draw: st.DrawFn) -> tuple[str, bytes]:
    name = draw(st.sampled_from(sorted(GOOD)))
    lines = GOOD[name].splitlines()
    for _ in range(draw(st.integers(0, 2))):
        key, value = draw(st.sampled_from(KEYS)), draw(st.sampled_from(LINES))
        lines = [line for line in lines if not line.startswith(key)] + [f"{key} = {value}"]
    blob = bytearray("\n".join(lines).encode("latin-1"))
    for at, value in draw(st.sampled_from([[], [], [(3, 255)], [(9, 0)]])):
        blob[at % len(blob)] = value
    return name, bytes(blob)


@cache
def _live() -> tuple[tempfile.TemporaryDirectory[str], Live]:
    folder = tempfile.TemporaryDirectory()
    return folder, Live(write(Path(folder.name) / "run"))


class _Connection:
    """A socket that has these bytes, and keeps what it is sent."""

    def __init__(self, content: bytes) -> None:
        self._content, self.sent = content, b""

    def settimeout(self, seconds: float) -> None:
        assert seconds <= 10

    def makefile(self, mode: str, size: int = -1) -> io.BytesIO:
        return io.BytesIO(self._content)

    def sendall(self, content: bytes) -> None:
        self.sent += content


def _watched(content: bytes) -> None:
    """A request to ``fedkin watch``: who does not know the token sees nothing of the run."""
    connection = _Connection(content)
    server = SimpleNamespace(server_port=8080, token="t" * 32, live=_live()[1])
    made: Any = _Request
    made(connection, (HERE, 1), server)
    status = connection.sent.split(b"\r\n")[0]
    if b"200" not in status:
        assert len(connection.sent) < 2000
        assert b"fedavg" not in connection.sent
        raise FedkinError(status.decode("latin-1") or "closed")
    assert b"/" + b"t" * 32 + b"/" in content


WORDS = ["GET", "POST", "HEAD", "PUT", " ", "/", "/" + "t" * 32 + "/", "/" + "t" * 31, "?x", "//"]
WORDS += [" HTTP/1.1", " HTTP/0.9", " HTTP/9.9", " HTTP/1." + "9" * 5000, "\r\n", "\r\n\r\n", "\n"]
WORDS += ["Host: 127.0.0.1:8080", "Host: localhost:8080", "Host: evil", "\0", "é", "x" * 70_000]
WORDS += ["Content-Length: -1", "Expect: 100-continue", ": ", "Transfer-Encoding: chunked"]
ASKED = f"GET /{'t' * 32}/ HTTP/1.1\r\nHost: 127.0.0.1:8080\r\n\r\n"
REQUESTS = st.one_of(
    st.binary(max_size=200),
    st.lists(st.sampled_from(WORDS), max_size=9).map(lambda w: "".join(w).encode("latin-1")),
    st.tuples(st.integers(0, len(ASKED)), st.sampled_from(["", *WORDS])).map(
        lambda case: (ASKED[: case[0]] + case[1] + ASKED[case[0] :]).encode("latin-1")
    ),
)


# The data folder ----------------------------------------------------------------------------------


def _named(case: tuple[str, dict[str, bytes]]) -> None:
    """What lies in the data folder under the name of a known set."""
    name, files = case
    folder = _file(name)
    for file, content in files.items():
        path = folder / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    load(name, folder)


def _idx(shape: tuple[int, ...], content: bytes) -> bytes:
    head = bytes([0, 0, 8, len(shape)])
    return head + b"".join(size.to_bytes(4, "big") for size in shape) + content


@st.composite
def _mnist(draw: st.DrawFn) -> tuple[str, dict[str, bytes]]:
    import gzip

    files = {}
    for stem, dims in (("train-images", 3), ("train-labels", 1), ("t10k-images", 3)):
        files[stem, dims] = (6, 4, 4)[:dims]
    files["t10k-labels", 1] = (6,)
    found = {}
    packed = draw(st.booleans())
    for (stem, dims), shape in files.items():
        says = shape if draw(st.integers(0, 5)) else draw(SHAPES)
        content = bytes(k % 10 for k in range(6 * 16 if dims == 3 else 6))
        blob = _idx(tuple(says), content)
        blob = gzip.compress(blob, 1) if packed else blob
        found[f"mnist/{stem}-idx{dims}-ubyte{'.gz' if packed else ''}"] = _broken(draw, blob)
    return "mnist", found


SHAPES = st.lists(st.sampled_from([0, 1, 4, 6, 2**31, 2**32 - 1]), min_size=1, max_size=4)


def _broken(draw: st.DrawFn, blob: bytes) -> bytes:
    changed = bytearray(blob)
    if draw(st.integers(0, 5)) == 0:
        for at, value in draw(BYTES):
            changed[at % len(changed)] = value
    return bytes(changed)


SPEECH = "To be or not to be, that is the question of it. "
ROLES: dict[str, Any] = {f"role {k}": [SPEECH * 3, SPEECH[k:] * 2, SPEECH * 2] for k in range(3)}
TEXT = _changed(ROLES).map(lambda content: json.dumps(content).encode("utf-8", "replace"))
DEEP = st.sampled_from([b"[" * 100_000, b"{" * 5000, b"\xff\xfe", b"9" * 5000, b"", b'"a"'])
SPOKEN = st.one_of(TEXT, TEXT, TEXT, DEEP).map(
    lambda blob: ("shakespeare", {"shakespeare.json": blob})
)
TAILS = st.sampled_from([b"", b"", b"", b"{", b"[" * 100_000 + b"\n", b"\xff\n", b'"x"\n', b"\n"])
OTHERS = {
    "rows of a leaderboard": Boundary(st.tuples(_changed(ROWS[0]), TAILS), _rows),
    "suites of a leaderboard": Boundary(st.deferred(lambda: _changed(_suite())), _suites),
    "fedkin watch: requests": Boundary(REQUESTS, _watched),
    "data: IDX": Boundary(_mnist(), _named),
    "data: texts": Boundary(SPOKEN, _named),
}
NODES = {"settings of nodes": Boundary(_configurations(), _node)}
