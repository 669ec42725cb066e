"""The live table and the plain lines, from made-up records."""

import io
import math
from typing import Any

from rich.console import Console

from fedkin.experiment.heading import head
from fedkin.experiment.progress import LiveTable, PlainLines, Tally, display, line
from fedkin.runs.record import Record, Sent
from fedkin.runs.spec import Spec, parse

SPEC = parse({"run": {"rounds": 20, "clients": 12}})[0]


def record(number: int, accuracy: float = 0.5, **changes: Any) -> Record:
    """A round whose clients have the test accuracies accuracy, accuracy + 0.01, …, and
    a loss of 2.
    """
    scores = {
        k: {"personal": {"val": (1.0, 0.0), "test": (2.0, accuracy + k / 100)}} for k in range(12)
    }
    sent = [Sent(0, "down", 0, {}, 600), Sent(0, "up", 0, {}, 400)]
    return Record(number, "round", [0], sent, {}, scores, {}, {}, {})._replace(**changes)


def drawn(tally: Tally, width: int) -> str:
    console = Console(file=io.StringIO(), width=width, force_terminal=True, color_system=None)
    console.print(LiveTable(tally, console)._draw())
    text: str = console.file.getvalue()  # type: ignore[attr-defined]
    return text


def test_the_numbers_are_means_over_clients_and_bytes_so_far() -> None:
    tally = Tally(SPEC, head(SPEC), done=3, sent=500)
    assert (tally.round, tally.left) == (3, None)
    tally.add(record(4))
    assert (tally.sent, tally.means_shown, tally.worst_shown) == (
        1500,
        "55.50 % personal",
        "50.00 % personal",
    )
    tally.add(record(5, scores={}))  # a round that is not evaluated keeps the last numbers
    assert (tally.round, tally.means_shown) == (5, "55.50 % personal (of round 4)")
    tally.add(record(6, phase="finish"))
    assert tally.means_shown == "55.50 % personal"
    assert tally.left is not None


def test_rounds_that_are_heard_of_at_once_have_the_pace_of_their_work() -> None:
    """Who follows a deployment's run looks twice a second."""
    tally = Tally(SPEC, "")
    for number in (1, 2):
        tally.add(record(number, seconds={"total": 29.0}))
    assert "29 s a round" in line(tally)


def test_a_regression_shows_its_loss() -> None:
    tally = Tally(SPEC, "")
    tally.add(record(1, math.nan))
    assert "loss 2.0000 personal" in line(tally)


def test_the_table_fits_80_columns_and_tells_who_is_left_out() -> None:
    tally = Tally(SPEC, head(SPEC))
    assert "preparing" in drawn(tally, 80)
    tally.add(record(1, missing={7: "ValueError: nan"}))
    for width in (80, 120):
        rows = drawn(tally, width).splitlines()
        assert max(map(len, rows)) <= width
        text = "\n".join(rows)
        assert "1/20" in text
        assert "client 7: ValueError: nan" in text
    tally.add(record(20))
    assert "left out" not in drawn(tally, 80)
    assert "finishing" in drawn(tally, 80)


def test_the_table_is_for_terminals_only() -> None:
    tally = Tally(Spec(), "")
    assert isinstance(display(tally, Console(file=io.StringIO())), PlainLines)
    assert isinstance(display(tally, Console(file=io.StringIO(), force_terminal=True)), LiveTable)


def test_a_line_names_a_few_of_many_that_are_left_out() -> None:
    tally = Tally(SPEC, "")
    tally.add(record(1, missing=dict.fromkeys(range(50_000), "no reply")))
    assert line(tally).endswith(
        "left out: client 0, client 1, client 2, client 3, client 4 and 49,995 more"
    )
    assert len(line(tally)) < 250
