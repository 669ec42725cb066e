"""What a type checker knows of ``import fedkin``: classes and functions, no ``Any``."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import fedkin

ROOT = Path(__file__).parents[2]
USED = """
import fedkin
from fedkin import Experiment, FedkinError, Method, Result, resume, run

result = run(Experiment("fedavg", rounds=1))
reveal_type(result)
reveal_type(result.metrics)
reveal_type(resume("runs/first"))
reveal_type(FedkinError("what"))
one: Method = 3
fedkin.run(3)
fedkin.Experimnt("fedavg")
"""


@pytest.mark.rotating
def test_a_checker_knows_the_interface(tmp_path: Path) -> None:
    path = tmp_path / "used.py"
    path.write_text(USED)
    checker = (sys.executable, "-m", "mypy", "--config-file", ROOT / "pyproject.toml")
    # the cache of scripts/check: without it, a minute
    kept = ("--cache-dir", ROOT / ".mypy_cache" / "linux")
    source = {**os.environ, "MYPYPATH": str(Path(fedkin.__file__).parents[1])}
    done = subprocess.run(
        [*checker, *kept, path], env=source, cwd=tmp_path, capture_output=True, text=True
    )
    assert re.findall(r'Revealed type is "([\w.]+)', done.stdout) == [
        "fedkin.api.result.Result",
        "pandas.core.frame.DataFrame",
        "fedkin.api.result.Result",
        "fedkin.core.errors.FedkinError",
    ], done.stdout + done.stderr
    assert re.findall(r"used\.py:(\d+): error: .*\[([\w-]+)\]$", done.stdout, re.M) == [
        ("10", "assignment"),
        ("11", "arg-type"),
        ("12", "attr-defined"),
    ]
