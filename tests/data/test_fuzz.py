"""Damaged files: ``fedkin data check`` says what is in them or one sentence, never a traceback, and
loses no row.
"""

import csv
import io
import json
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from fedkin.core.errors import FedkinError
from fedkin.core.rng import Key
from fedkin.data.population_builder import build
from fedkin.data.source import Source
from fedkin.data.sources import load
from fedkin.data.tables.findings import findings
from tests.cli.command import fedkin

TRIES = 60
TABLE = "site,n,word,label\n" + "".join(
    f"s{i % 5},{i / 4},{'ab c'[i % 4]}x,{'yes' if i % 3 else 'no'}\n" for i in range(40)
)
LEAF = json.dumps(
    {
        "users": ["u", "v"],
        "num_samples": [4, 4],
        "user_data": {
            u: {"x": [[i, 0.5] for i in range(4)], "y": [i % 2 for i in range(4)]} for u in "uv"
        },
    }
)
ODD = (
    "",
    "NA",
    "9" * 40,
    "-1e999",
    "inf",
    "é",
    "\ufeff",
    '"',
    "\x00",
    ",",
    "\n",
    ";",
    "0x1F",
    "1_000",
    "True",
    "  ",
    "𝟛",
)


def cut(content: bytes, rng: np.random.Generator) -> bytes:
    return content[: rng.integers(0, len(content))]


def flip(content: bytes, rng: np.random.Generator) -> bytes:
    found = bytearray(content)
    for at in rng.integers(0, len(content), rng.integers(1, 9)):
        found[at] = rng.integers(0, 256)
    return bytes(found)


def insert(content: bytes, rng: np.random.Generator) -> bytes:
    at = int(rng.integers(0, len(content)))
    return content[:at] + str(rng.choice(ODD)).encode() + content[at:]


def repeat(content: bytes, rng: np.random.Generator) -> bytes:
    low, high = sorted(rng.integers(0, len(content), 2))
    return content[:high] + content[low:]


def recode(content: bytes, rng: np.random.Generator) -> bytes:
    return (
        content.decode()
        .replace("yes", "öui")
        .encode(str(rng.choice(["utf-16", "latin-1", "utf-32"])))
    )


DAMAGE: tuple[Callable[[bytes, np.random.Generator], bytes], ...] = (
    cut,
    flip,
    insert,
    repeat,
    recode,
)


def survived(path: str, **options: str) -> Source | None:
    """What a file holds; None where it was refused in one sentence, which is all that may be
    raised.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", RuntimeWarning)
            source = load(path, **options)
            findings(source)
            build(source, "natural", None, Key(0), empty="drop")
    except FedkinError as error:
        said = str(error)
    else:
        return source
    assert "\n" not in said.strip(), said
    return None


@pytest.mark.parametrize("damage", DAMAGE, ids=lambda damage: damage.__name__)
def test_a_damaged_table_is_refused_or_read_whole(
    damage: Callable[..., bytes], tmp_path: Path
) -> None:
    path, read = tmp_path / "t.csv", 0
    for seed in range(TRIES):
        rng = np.random.default_rng(seed)
        path.write_bytes(damage(TABLE.encode(), rng))
        source = survived(str(path), client="site")
        if source is not None:
            read += 1
            text = path.read_bytes().decode("utf-8-sig")
            rows = list(csv.reader(io.StringIO(text, newline="")))
            while rows and not any(rows[-1]):
                rows.pop()
            assert len(source.x) == len(rows) - 1, (damage.__name__, seed)
    assert read or damage is recode  # else nothing but refusals was tested


@pytest.mark.parametrize("damage", DAMAGE, ids=lambda damage: damage.__name__)
def test_damaged_json_is_refused_or_read_whole(
    damage: Callable[..., bytes], tmp_path: Path
) -> None:
    path = tmp_path / "users.json"
    for seed in range(TRIES):
        path.write_bytes(damage(LEAF.encode(), np.random.default_rng(seed)))
        source = survived(str(path))
        if source is not None:
            users = json.loads(path.read_bytes())["user_data"].values()
            assert len(source.x) == sum(len(user["y"]) for user in users), (damage.__name__, seed)


@pytest.mark.parametrize("name", ["t.parquet", "t.arrow", "t.npz", "a/b/c.png"])
def test_damaged_binary_files_are_refused_in_one_sentence(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    x = np.arange(40, dtype=np.float32).reshape(20, 2)
    if name.endswith("png"):
        pytest.importorskip("PIL.Image").fromarray(np.eye(6, dtype=np.uint8)).save(path)
    elif name.endswith("npz"):
        np.savez(path, x=x, y=np.arange(20) % 2, client=np.arange(20) // 10)
    else:
        pytest.importorskip("pyarrow")
        pandas = pytest.importorskip("pandas")
        frame = pandas.DataFrame(
            {"n": x[:, 0], "site": np.arange(20) // 10, "label": np.arange(20) % 2}
        )
        frame.to_parquet(path) if name.endswith("parquet") else frame.to_feather(path)
    options = {} if name.endswith(("png", "npz")) else {"client": "site"}
    place = f"{tmp_path}/" if name.endswith("png") else str(path)
    whole = path.read_bytes()
    for seed in range(TRIES // 2):
        for damage in (cut, flip, repeat):
            path.write_bytes(damage(whole, np.random.default_rng(seed)))
            survived(place, **options)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", "is empty"),
        ("\n\n\n", "is empty"),
        ("site,n,label\n", "has no rows"),
        ("site,n,n,label\na,1,2,0\n", "column 'n' appears twice"),
        ("site,n,label\na,1,0\na,2", "line 3: 2 cells under 3 column names"),
        ("site,n,label\na,1,0\n,2,1\n", "line 3: column 'site' is empty"),
        ('site,n,label\na,1,0\nb,"2,1\n', "not a regular table"),
        ("site,n,label\na," + "9" * 400 + ",0\n", "too large"),
        ("site,n,label\na,1,x\n" + "b,1,\n", "line 3: column 'label' is empty"),
        ("site,n,label\na,1,x\n" + "  ,1,y\n", "line 3: column 'site' is empty"),
        ("site,n,label\na,1,x\n" + "b,1,  \n", "line 3: column 'label' is empty"),
        ("s\0i\0t\0e\0,\0n\0,\0l\0\n\0", "zero bytes between its letters"),
    ],
)
def test_each_fault_is_one_sentence_on_the_command_line(
    content: str, words: str, tmp_path: Path
) -> None:
    (tmp_path / "t.csv").write_text(content)
    done = fedkin(
        "run", "--data", tmp_path / "t.csv", "--set", "data.client=site", "--out", tmp_path / "run"
    )
    assert done.exit_code == 2, done.output
    assert not (tmp_path / "run").exists()
    assert done.stderr.startswith("error: ")
    assert done.stderr.count("\n") == 1
    assert words in done.stderr


def test_huge_numbers_one_class_and_lone_clients_are_findings(tmp_path: Path) -> None:
    huge = "9" * 30
    rows = "".join(f"{huge},{i},{huge}\n" for i in range(6)) + "b,1,7\n"
    (tmp_path / "t.csv").write_text("site,n,label\n" + rows)
    source = survived(str(tmp_path / "t.csv"), client="site")
    assert source is not None
    assert sorted(set(map(str, source.client if source.client is not None else []))) == [huge, "b"]
    assert source.class_names == ("7", huge)
    problems = [one["sentence"] for one in findings(source)["problems"]]
    for words in ("fewer than 3 samples", "one class only"):
        assert any(words in text for text in problems), problems


def test_a_spreadsheets_utf_16_is_known_by_its_mark(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("site,n,label\n" + "a,1,0\nb,2,1\n" * 9, encoding="utf-16")
    done = fedkin("data", "check", tmp_path / "t.csv", "--client", "site")
    assert done.exit_code == 1
    assert "data.encoding=utf-16" in done.stdout
    assert "18 samples" in done.stdout
    again = fedkin(
        "data", "check", tmp_path / "t.csv", "--client", "site", "--set", "data.encoding=utf-16"
    )
    assert "18 samples" in again.stdout
