"""What `fedkin show` prints."""

from pathlib import Path

import pytest

from fedkin.report import terminal_tables
from fedkin.report.comparison import tables
from fedkin.report.comparison.compare import comparison
from fedkin.report.page.report import write_report
from fedkin.report.summary import summary
from tests.report.comparison.compare_examples import diverge, printed
from tests.report.records_for_tests import write


@pytest.mark.parametrize("options", [{}, {"accuracy": False}, {"finished": False, "until": 0}])
def test_show_prints_every_kind_of_run(tmp_path: Path, options: dict[str, object]) -> None:
    text = printed(terminal_tables.show(summary(write(tmp_path, **options))))  # type: ignore[arg-type]
    if not options:
        assert "68.00 %" in text
        assert "timed out" in text
        assert "setup excluded" in text
        assert "dirichlet alpha=0.3 over=clients floor=10" in text
        assert "worst decile" in text
    if "until" in options:
        assert "Nothing was evaluated yet" in text
    assert "comet" in printed(tables.compare(comparison([tmp_path])))


def test_no_number_and_no_word_of_a_heading_is_broken_where_it_is_narrow(tmp_path: Path) -> None:
    words = printed(terminal_tables.show(summary(write(tmp_path))), width=60).split()
    for whole in ("personal", "weighted", "interval", "validation", "(continued)", "68.00"):
        assert whole in words


@pytest.mark.parametrize("accuracy", [True, False])
def test_clients_that_diverged_are_told_wherever_a_mean_is_without_them(
    tmp_path: Path, accuracy: bool
) -> None:
    run = diverge(write(tmp_path / "x", accuracy=accuracy), 2)
    sentence = "personal: 1 of 3 clients diverged"
    assert sentence in printed(terminal_tables.show(summary(run)))
    assert f"P{sentence[1:]}" in write_report(run).read_text()
    table = comparison([run, write(tmp_path / "y", accuracy=accuracy, seed=8)])
    assert [text for text in table.warnings if f"x: {sentence}" in text]
    assert sentence not in printed(terminal_tables.show(summary(tmp_path / "y")))


def test_a_fingerprint_is_folded_and_whole(tmp_path: Path) -> None:
    whole = "0123456789abcdef" * 4
    found = {**summary(write(tmp_path)), "fingerprint": whole}
    assert whole in "".join(printed(terminal_tables.show(found), 60).split())
