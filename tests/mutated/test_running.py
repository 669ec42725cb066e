"""A process that runs the tests of a copy, whatever was imported before."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.mutated.running import Covered, read

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
ASKED = """
import sys
from pathlib import Path
import fedkin.report.intervals
from tests.mutated import running
running.quiet(Path(sys.argv[1]), Path(sys.argv[1]) / "said.txt")
import fedkin
print(fedkin.MINE)
"""


def test_the_copy_is_run_although_fedkin_was_imported_before(tmp_path: Path) -> None:
    (tmp_path / "fedkin").mkdir()
    (tmp_path / "fedkin" / "__init__.py").write_text("MINE = 'the copy'")
    paths = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
    subprocess.run(
        [sys.executable, "-c", ASKED, str(tmp_path)],
        check=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": paths},
    )
    assert (tmp_path / "said.txt").read_text() == "the copy\n"


def test_tests_that_ran_none_of_the_lines_are_no_measure(tmp_path: Path) -> None:
    """Every mutant of theirs would live."""
    into = tmp_path / "covered.json"
    into.write_text('{"code": 0, "lines": {}, "seconds": {"tests/test_a.py::test": 0.5}}')
    with pytest.raises(RuntimeError, match="another copy"):
        read(into)
    into.write_text('{"code": 1, "lines": {}, "seconds": {}}')
    with pytest.raises(RuntimeError, match="fail without any mutant"):
        read(into)
    into.write_text('{"code": 0, "lines": {"a.py": {"3": ["t"]}}, "seconds": {"t": 0.5}}')
    assert read(into) == Covered({"a.py": {3: ["t"]}}, {"t": 0.5})


def test_the_copy_has_what_the_tests_of_a_target_import() -> None:
    """Where a folder is missing, no test of the target is run, and no mutant is tried."""
    linked = re.findall(r'for name in \(("docs".*)\):', (ROOT / "scripts" / "mutate").read_text())
    targets = tomllib.loads((HERE / "targets.toml").read_text())["target"]
    for test in {one.split("::")[0] for target in targets for one in target["tests"]}:
        path = ROOT / "tests" / test
        for file in path.rglob("*.py") if path.is_dir() else [path]:
            for folder in re.findall(r"^from (\w+)[. ]", file.read_text(), re.MULTILINE):
                if (ROOT / folder).is_dir() and folder != "tests":
                    assert f'"{folder}"' in linked[0], (file.name, folder)
