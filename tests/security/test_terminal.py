"""Foreign strings on their way to a person: no terminal obeys them, no page runs them."""

import io
import json
import logging
import os
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
from rich.table import Table

from fedkin.cli.export import as_csv
from fedkin.core.escaping import as_json, cell, markdown, plain
from fedkin.experiment import terminal
from tests.cli.command import fedkin, told
from tests.report.records_for_tests import write
from tests.security.hostile import ESCAPES, changed

EVIL = "\x1b]0;owned\x07[bold red]\x1b[2J\x9b31m\u202ex"


def harmless(text: str) -> bool:
    """Whether a terminal would only show it."""
    return not any(mark in text for mark in ("\x1b", "\x07", "\x9b", "\u202e", "\x08"))


def test_what_a_terminal_would_obey_is_shown() -> None:
    assert plain(EVIL) == "\\x1b]0;owned\\x07[bold red]\\x1b[2J\\x9b31m\\u202ex"
    assert (
        plain("two\nlines\tand a tab, ä, 数, 👩\u200d🔬")
        == "two lines and a tab, ä, 数, 👩\u200d🔬"
    )
    assert plain("\ud800") == "\\ud800"


def test_lines_and_tables_are_plain(capsys: pytest.CaptureFixture[str]) -> None:
    terminal.loudness(logging.INFO)
    terminal.say(f"a\n{EVIL}")
    terminal.print_notice(f"a\n{EVIL}" + "x" * 5000)
    table = Table("column", title=EVIL)
    table.add_row(EVIL)
    terminal.console().print(table)
    terminal.console().print(EVIL)
    out, error = capsys.readouterr()
    assert harmless(out + error)
    assert out.count("[bold red]") == 4  # as it was written, not as markup
    assert error.count("\n") == 1
    assert len(error) < terminal.LONGEST + 10


def test_a_live_table_is_plain(tmp_path: Path) -> None:
    from rich.console import Console

    from fedkin.experiment.progress import LiveTable, Tally
    from fedkin.runs.record import Record
    from fedkin.runs.spec import Spec

    tally = Tally(Spec(), EVIL)
    shown = io.StringIO()
    console = Console(file=shown, force_terminal=True, width=100)
    tally.add(Record(1, "round", [0], [], {0: EVIL}, {}, {}, {}, {"total": 1.0}))
    console.print(LiveTable(tally, console)._draw())
    assert "owned" in shown.getvalue()
    assert "\x1b]0;" not in shown.getvalue()
    assert "\x1b[2J" not in shown.getvalue()
    assert "\x9b" not in shown.getvalue()


def test_no_command_passes_a_record_on_to_the_terminal(tmp_path: Path) -> None:
    run = write(tmp_path / "run", finished=False)
    changed(
        run,
        f"UPDATE clients SET name = {ESCAPES} WHERE client = 1",
        f"UPDATE events SET text = {ESCAPES}",
        """INSERT INTO notes VALUES (2, 1, 'cluster', '"\\u001b[2J"')""",
        """UPDATE facts SET value = '"\\u001b]0;owned\\u0007[red]"' WHERE name = 'method'""",
    )
    for command in (("show", run), ("show", run, "--json"), ("compare", run), ("report", run)):
        result = fedkin(*command)
        assert result.exit_code == 0, result.output
        assert harmless(result.output), command
    assert json.loads(fedkin("show", run, "--json").stdout)["method"] == "\\x1b]0;owned\\x07[red]"
    assert harmless(told("show", tmp_path / EVIL))


def test_json_stays_json() -> None:
    value = {"a": "\x7f\x9b\u202e\n"}
    text = as_json(json.dumps(value, ensure_ascii=False))
    assert harmless(text)
    assert json.loads(text) == value


def test_no_cell_is_a_formula_and_numbers_stay() -> None:
    frame = pd.DataFrame(
        {"prediction": ["=1+1", "-1", "@sum", "a"], "p(=1)": [0.5] * 4, "=2": [1.0] * 4}
    )
    lines = as_csv(frame).splitlines()
    assert lines[0] == "prediction,p(=1),'=2"
    assert [line.split(",")[0] for line in lines[1:]] == ["'=1+1", "-1", "'@sum", "a"]
    assert cell(" +1e5") == " +1e5"
    assert cell("\0\t=1+1") == "'\0\t=1+1"


def test_a_page_of_markdown_runs_nothing() -> None:
    assert markdown("<script>x</script>") == "&lt;script>x&lt;/script>"
    assert "](" not in markdown("![a](http://b)")
    assert "][" not in markdown("[a][b]")


@pytest.mark.rotating
def test_a_terminal_without_our_letters(tmp_path: Path) -> None:
    """Letters that it has not are written by their numbers: no traceback."""
    run = write(tmp_path / "run")
    changed(run, "UPDATE clients SET name = 'Zürich 数' WHERE client = 1")
    here = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(sys.path),
        "PYTHONIOENCODING": "ascii",
        "LC_ALL": "C",
    }
    for command in (("show", run), ("show", run, "--json"), ("methods",), ("show", "none-ü")):
        done = subprocess.run(
            [sys.executable, "-m", "fedkin", *map(str, command)],
            env=here,
            capture_output=True,
            check=False,
        )
        assert b"Traceback" not in done.stderr, done.stderr
        assert done.returncode in (0, 2)
        (done.stdout + done.stderr).decode("ascii")
