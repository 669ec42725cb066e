"""What the tests of findings and of its parts have in common."""

from pathlib import Path
from typing import Any

from fedkin.data.sources import load
from fedkin.data.tables.findings import findings


def found(tmp_path: Path, content: str, **options: Any) -> dict[str, Any]:
    (tmp_path / "t.csv").write_text(content)
    return findings(load(str(tmp_path / "t.csv"), **options))


def sentences(found: dict[str, Any]) -> list[str]:
    """Its problems, each in one sentence."""
    return [problem["sentence"] for problem in found["problems"]]
