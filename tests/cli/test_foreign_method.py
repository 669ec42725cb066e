"""A method of another package: installed, listed, run, and the same as FedAvg where it
should be.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.command import SMALL

EXAMPLE = Path(__file__).parents[2] / "examples" / "foreign_method"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example, installed by pip into a folder of its own; its sources are copied, for building
    leaves files.
    """
    folder = tmp_path_factory.mktemp("foreign")
    shutil.copytree(
        EXAMPLE,
        folder / "source",
        ignore=shutil.ignore_patterns("__pycache__", "build", "*.egg-info"),
    )
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    offline = ["--no-index", "--no-deps", "--no-build-isolation", "--target", str(folder / "site")]
    subprocess.run(
        [*pip, *offline, str(folder / "source")], check=True, capture_output=True, text=True
    )
    return folder / "site"


def fedkin(site: Path, *arguments: object) -> str:
    """Standard output of a real ``fedkin …`` that finds the package."""
    path = os.pathsep.join([str(site), *filter(None, [os.environ.get("PYTHONPATH")])])
    command = [sys.executable, "-m", "fedkin", *map(str, arguments)]
    done = subprocess.run(
        command,
        env={**os.environ, "PYTHONPATH": path},
        cwd=site.parent,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.rotating
def test_it_is_listed_and_has_no_certificate(site: Path) -> None:
    (one,) = json.loads(fedkin(site, "methods", "fedavgm", "--json"))
    assert (
        one["summary"]
        == "FedAvgM (Hsu, Qi & Brown, 2019): FedAvg whose server moves with momentum."
    )
    assert one["hyper_parameters"] == {"beta": 0.9}
    assert "no certificate" in fedkin(site, "methods", "fedavgm", "--certificate")


@pytest.mark.rotating
def test_it_runs(site: Path, tmp_path: Path) -> None:
    small = [*SMALL[:2], *SMALL[4:]]  # without its --method
    fedkin(site, "run", *small, "--method", "fedavgm:beta=0.5", "--out", tmp_path / "run")
    found = json.loads(fedkin(site, "show", tmp_path / "run", "--json"))
    assert (found["method"], found["hyper"]["beta"], found["finished"]) == ("fedavgm", 0.5, True)
    assert set(found["accuracy"]) == {"personal", "global"}


@pytest.mark.rotating
def test_one_that_cannot_be_imported_says_why_and_spoils_no_other(tmp_path: Path) -> None:
    facts = tmp_path / "broken-1.dist-info"
    facts.mkdir()
    (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1\n")
    (facts / "entry_points.txt").write_text("[fedkin.methods]\nbroken = broken:method\n")
    (tmp_path / "broken.py").write_text("import nowhere")
    why = (
        "method 'broken' of another package cannot be loaded: ModuleNotFoundError: No "
        "module named 'nowhere'"
    )
    for method in ("broken", "broken:beta=0.5"):
        with pytest.raises(AssertionError, match=why):
            fedkin(
                tmp_path,
                "run",
                *SMALL[:2],
                *SMALL[4:],
                "--method",
                method,
                "--out",
                tmp_path / "run",
            )
    found = {
        one["name"]: one["summary"] for one in json.loads(fedkin(tmp_path, "methods", "--json"))
    }
    assert found["broken"] == why
    assert found["ditto"].startswith("Ditto")
