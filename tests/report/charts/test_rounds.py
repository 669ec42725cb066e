"""Scores over rounds, with the line of a chosen client."""

import json
from pathlib import Path

from fedkin.report.page.report import write_report
from tests.report.page.report_examples import parsed
from tests.report.records_for_tests import write


def test_chosen_clients_have_their_line(tmp_path: Path) -> None:
    scripts = parsed(write_report(write(tmp_path))).scripts
    places = {figure["name"]: figure["own"] for figure in json.loads(scripts["figures"])}
    assert places["rounds"] == places["own-score"]  # held once
    line = json.loads(scripts["owns"])[places["rounds"]]
    assert (line["columns"], line["keys"], line["scale"]) == (
        ["round", "value"],
        [[1], [2], [3]],
        1e-4,
    )
    assert line["values"]["c"] == [8000, 7000, 8000]
