"""From docs/bench.md alone: a suite of one's own, an outside method in it, and a row verified."""

import json
import re
from pathlib import Path

import pytest

from fedkin.bench.row import append, read_rows
from fedkin.methods import user_methods as methods
from tests.bench.test_verify import a_row
from tests.cli.command import fedkin, told

PAGE = (Path(__file__).parents[2] / "docs" / "bench.md").read_text(encoding="utf-8")


def block(language: str) -> str:
    found = re.search(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)
    assert found
    return found[1]


def command(beginning: str) -> list[str]:
    (line,) = [line for line in PAGE.splitlines() if line.startswith(f"fedkin {beginning}")]
    return line.partition("#")[0].split()[1:]


@pytest.mark.rotating
@pytest.mark.usefixtures("own_modules")
def test_an_outside_method_enters_and_its_row_is_verified(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.toml").write_text(block("toml"))
    Path("my_methods.py").write_text(block("python"))
    added = command("bench add my_methods:slower --suite mine.toml")
    assert fedkin(*added, "--workers", "1").exit_code == 0
    rows = read_rows(Path("mine/rows.jsonl"))
    own = [row for row in rows if row.method == "my_methods:slower"]
    fedavg = [row for row in rows if row.method == "fedavg"]
    assert {row.method for row in rows} == {"local", "fedavg", "my_methods:slower"}
    assert [row.seed for row in own] == [row.seed for row in fedavg] == [0, 1]
    assert len(own[0].trials) == len(fedavg[0].trials) == 2
    assert own[0].budgets == ("rounds", "bytes", "compute")
    assert {trial.hyper["share"] for trial in own[0].trials} == {0.5, 0.9}

    verify = [word.replace("ROW", own[1].id[:6]) for word in command("bench verify ROW")]
    methods._code._allowed.clear()
    assert "names code (my_methods:slower)" in told(*verify)
    assert "the same bits" in fedkin(*verify, "--trust-code").stdout

    assert fedkin(*command("bench page mine")).exit_code == 0
    assert "marks my_methods:slower" in Path("leaderboard.html").read_text()

    wrong = own[1].model_copy(update={"fingerprint": "0" * 64, "versions": {"torch": "1.0"}})
    append(Path("other.jsonl"), [wrong])
    other = fedkin(*verify[:3], "--rows", "other.jsonl", "--trust-code", "--json")
    assert other.exit_code == 1
    found = json.loads(other.stdout)
    assert (found["same"], found["apart"]) == (False, pytest.approx(0, abs=1e-6))
    assert any(text.startswith("torch 1.0 then, ") for text in found["differs"])


def test_what_cannot_be_repeated_says_why(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    append(path, [a_row(id="abcd1", missing="it has no batch norm"), a_row(id="abcd2", content={})])
    expected = {
        "abcd1": "cannot be repeated, for it was not run: it has no batch norm",
        "abcd2": "cannot be repeated: it has no specification",
        "abcd": "'abcd' begins 2 ids",
        "ffff": "no row has the id 'ffff'",
    }
    for name, said in expected.items():
        assert said in told("bench", "verify", name, "--rows", str(path))
    assert "does not exist" in told("bench", "verify", "abcd", "--rows", str(tmp_path / "no"))
