"""The version stands in one place, src/fedkin/__init__.py; all others are read from there or held
against it.
"""

import re
import tomllib
from pathlib import Path

import fedkin
from fedkin.experiment.run_facts import versions

ROOT = Path(__file__).parents[2]


def test_the_package_is_built_with_it() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert "version" not in project["project"]
    assert project["project"]["dynamic"] == ["version"]
    assert project["tool"]["hatch"]["version"]["path"] == "src/fedkin/__init__.py"


def test_records_and_the_citation_have_it() -> None:
    assert versions()["fedkin"] == fedkin.__version__
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert re.findall(r"^version: (.*)$", citation, re.MULTILINE) == [fedkin.__version__]


def test_no_other_file_names_it() -> None:
    package = ROOT / "src" / "fedkin"
    others = [path for path in package.rglob("*.py") if path != package / "__init__.py"]
    named = f'"{fedkin.__version__}"'
    assert [path for path in others if named in path.read_text(encoding="utf-8")] == []
