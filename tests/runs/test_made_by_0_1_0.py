"""Run directories that fedkin 0.1.0 made (commit d58b38a) are read and continued as they are.

made_by_0_1_0/finished is a run of COMET (mlr on digits, 4 clients, 3 rounds).
made_by_0_1_0/interrupted is the same run, stopped after its first round.
"""

import json
import platform
import shutil
from pathlib import Path

import pytest
import torch

from fedkin.runs.database import read_only
from tests.cli.command import fedkin

MADE = Path(__file__).parent / "made_by_0_1_0"
FINGERPRINT = "e095ee52d6bb60db71145dba8b84bcbf09d6ccef11d2ac8a199b7067a7e7dd8a"  # 0.1.0's, of both
CPU = Path("/proc/cpuinfo")
SAME_BITS = (  # torch, the maker of the processor and its widest instructions, as it had
    torch.__version__.startswith("2.13.")
    and platform.machine() == "x86_64"
    and CPU.exists()
    and "AuthenticAMD" in CPU.read_text()
    and "avx512f" in CPU.read_text()
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy: opening a run may leave a lock or a page beside it."""
    return Path(shutil.copytree(MADE, tmp_path / "runs"))


def test_show(folder: Path) -> None:
    shown = fedkin("show", folder / "finished", "--json")
    assert shown.exit_code == 0, shown.output
    found = json.loads(shown.stdout)
    assert found["fingerprint"] == FINGERPRINT
    assert (found["method"], found["clients"], found["rounds"]) == ("comet", 4, 3)
    plain = fedkin("show", folder / "interrupted")
    assert plain.exit_code == 0, plain.output
    assert "comet" in plain.stdout


def test_report(folder: Path) -> None:
    result = fedkin("report", folder / "finished")
    assert result.exit_code == 0, result.output
    assert FINGERPRINT in (folder / "finished" / "report.html").read_text()


def test_compare(folder: Path) -> None:
    other = Path(shutil.copytree(folder / "finished", folder / "again"))
    result = fedkin("compare", folder / "finished", other, "--against", "comet", "--json")
    assert result.exit_code == 0, result.output
    assert "comet" in result.stdout


def test_export(folder: Path) -> None:
    result = fedkin("export", folder / "finished", "--all", "--out", folder / "models")
    assert result.exit_code == 0, result.output
    assert len(list((folder / "models").rglob("*.safetensors"))) == 4


def test_resume(folder: Path) -> None:
    result = fedkin("resume", folder / "interrupted")
    assert result.exit_code == 0, result.output
    with read_only(folder / "interrupted") as now, read_only(folder / "finished") as then:
        messages = "SELECT * FROM messages ORDER BY 1, 2, 3, 4, 5"
        assert now.rows(messages) == then.rows(messages)
        facts = now.facts()
    assert facts["finished"]
    assert not SAME_BITS or facts["fingerprint"] == FINGERPRINT
