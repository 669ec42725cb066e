"""The table of the clients."""

from pathlib import Path

from fedkin.report.matrix import measured
from fedkin.report.page.client_table import MOST, client_table
from fedkin.report.records import opened
from fedkin.report.summary import of_run
from tests.report.records_for_tests import write_large


def test_of_very_many_clients_a_sample_is_listed(tmp_path: Path) -> None:
    with opened(write_large(tmp_path / "x", MOST + 7, 1)) as run:
        found = of_run(run)
        text = client_table(run, found, *measured(run, found), None, "")
    assert text.count("<tr data-client") == MOST
    assert f"{MOST:,} of {MOST + 7:,} clients are shown" in text
