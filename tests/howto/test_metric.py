"""A measure that is added as docs/howto/metric.md says stands in every table."""

import subprocess
import sys
from pathlib import Path

import pytest

# A process of its own: the two lines of the page are there before anything reads the catalogues.
ADDED = """
import sys
from pathlib import Path

import fedkin.core.measures as catalogue
import fedkin.engine.measures as computed

catalogue.MEASURES["top_two"] = catalogue.Measure("top two", ("classes",), True, True, most=1.0)
computed.OF["top_two"] = lambda found: 0.5

from rich.console import Console

from fedkin import Experiment, run
from fedkin.cli.talk.closing import closing
from fedkin.report.comparison.compare import comparison

made = run(Experiment("local", data="digits", clients=3, rounds=1, model="mlr"), out=sys.argv[1])
print("summary", made.summary["measures"]["personal"]["top_two"]["mean"])
print("compare", comparison([made.folder]).runs["personal top two"][0])
closing(Path(made.folder), Console(width=200))
"""


@pytest.mark.rotating
def test_it_is_in_every_table(tmp_path: Path) -> None:
    words = [sys.executable, "-c", ADDED, str(tmp_path / "run")]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "summary 0.5" in done.stdout
    assert "compare 0.5" in done.stdout
    assert "top two 50.00 %" in done.stdout
    page = (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
    assert "top two" in page
