"""report.html: one file, nothing fetched, well-behaved from nothing to two thousand clients."""

import json
import math
import re
import sqlite3
import time
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import altair as alt
import numpy as np
import pytest

from fedkin.core.errors import FedkinError
from fedkin.report.matrix import Matrix, matched
from fedkin.report.page.report import write_report
from tests.report.records_for_tests import write, write_large

LOADS = {
    "src",
    "href",
    "srcset",
    "action",
    "data",
    "poster",
}  # attributes that make a browser fetch


class Elements(HTMLParser):
    """All elements with their attributes, and the text of the scripts by id."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: dict[str, str] = {}
        self.text = ""
        self.inside = ""  # the id of the script that is open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        if tag == "script":
            self.inside = dict(attrs).get("id") or "code"

    def handle_endtag(self, tag: str) -> None:
        if tag == "script":
            self.inside = ""

    def handle_data(self, data: str) -> None:
        if self.inside:
            self.scripts[self.inside] = self.scripts.get(self.inside, "") + data
        else:
            self.text += data


def parsed(path: Path) -> Elements:
    elements = Elements()
    elements.feed(path.read_text(encoding="utf-8"))
    return elements


def figures(path: Path) -> dict[str, dict[str, Any]]:
    return {figure["name"]: figure for figure in json.loads(parsed(path).scripts["figures"])}


def rename(folder: Path, name: str) -> Path:
    with sqlite3.connect(folder / "run.db") as connection:
        connection.execute("UPDATE clients SET name = ? WHERE client = 0", (name,))
    return folder


def test_nothing_is_fetched(tmp_path: Path) -> None:
    path = write_report(write(tmp_path))
    page = parsed(path)
    assert not [
        (tag, attributes)
        for tag, attributes in page.found
        if {
            name for name in LOADS & set(attributes) if not (attributes[name] or "").startswith("#")
        }
        or tag in ("link", "iframe")
    ]
    (policy,) = [
        a["content"] for _, a in page.found if a.get("http-equiv") == "Content-Security-Policy"
    ]
    assert policy is not None
    assert policy.startswith("default-src 'none'")
    assert "http" not in policy
    assert "url(" not in path.read_text(encoding="utf-8").split("</style>")[0]
    for figure in figures(path).values():
        hosts = re.findall(r"https?://[^\"]+", json.dumps(figure["spec"]))
        assert set(hosts) <= {figure["spec"]["$schema"]}  # a name, never fetched


def test_one_copy_of_the_libraries(tmp_path: Path) -> None:
    text = write_report(write(tmp_path)).read_text(encoding="utf-8")
    assert text.count("window.vegaEmbed") == 1
    assert len(text) < 1.2e6


def test_the_figures_are_valid_and_complete(tmp_path: Path) -> None:
    found = figures(write_report(write(tmp_path)))
    # No histogram for three clients.
    first = ["rounds", "bytes", "clients", "data"]
    told = ["flow", "clusters", "simplex", "memberships", "membership", "components", "groups"]
    own = ["own-data", "own-score", "own-kin", "own-clusters"]
    assert list(found) == [*first, *told, "kinds", "seconds", *own]
    for figure in found.values():
        assert figure["spec"]["description"].startswith(figure["title"])
        alt.LayerChart.from_dict(figure["spec"], validate=True)


def test_the_figures_show_the_records(tmp_path: Path) -> None:
    found = {
        name: figure["spec"]["datasets"]["rows"]
        for name, figure in figures(write_report(write(tmp_path))).items()
    }
    finish = [row for row in found["rounds"] if row["view"] == "personal" and row["round"] == 3]
    assert finish == [{"view": "personal", "round": 3, "low": 0.5, "mean": 0.6, "high": 0.8}]
    sent = {row["round"]: row["bytes"] for row in found["bytes"]}
    assert sent == {1: 1520, 2: 3040}  # cumulative unicast bytes; the finish is not drawn there
    assert {"client": "b", "label": "one", "samples": 40, "share": 1.0} in found["data"]
    assert {"client": "a", "round": 2, "cluster": "1"} in found["clusters"]
    assert {"client": "c", "component": 1, "weight": 0.8} in found["membership"]


def test_clusters_keep_their_number_where_the_method_permutes_them() -> None:
    nan = math.nan
    values = np.array([[0, 0, 1, 1, 2], [2, 2, 0, 0, 1], [nan, 1, 0, 0, 2]])
    kept = matched(Matrix([1, 2, 3], [0, 1, 2, 3, 4], values)).values
    np.testing.assert_array_equal(kept, [[1, 1, 0, 0, 2], [1, 1, 0, 0, 2], [nan, 1, 0, 0, 2]])


def test_clusters_that_split_have_numbers_of_their_own() -> None:
    values = np.array([[0.0, 0.0, 0.0, 1.0], [1.0, 1.0, 2.0, 0.0]])
    kept = matched(Matrix([1, 2], [0, 1, 2, 3], values)).values
    np.testing.assert_array_equal(kept, [[1, 1, 1, 0], [1, 1, 2, 0]])


def test_equal_views_are_drawn_once(tmp_path: Path) -> None:
    folder = write(tmp_path)
    with sqlite3.connect(folder / "run.db") as connection:
        connection.execute(
            "UPDATE metrics SET accuracy = accuracy + 0.1 WHERE view = 'global' AND split = 'test'"
        )
    rounds = figures(write_report(folder))["rounds"]
    assert {row["view"] for row in rounds["spec"]["datasets"]["rows"]} == {"personal"}
    assert "Personal = global" in rounds["note"]


def test_the_head_has_no_folders_and_the_whole_split(tmp_path: Path) -> None:
    text = write_report(write(tmp_path, data="/home/someone/tables/mine.csv")).read_text(
        encoding="utf-8"
    )
    assert "<title>comet on mine.csv</title>" in text
    assert "split dirichlet alpha=0.3 over=clients floor=10" in text


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


def test_names_cannot_break_out(tmp_path: Path) -> None:
    name = "</script><script>alert(1)</script><!--<b>'\""
    path = write_report(rename(write(tmp_path), name))
    page = parsed(path)
    assert "<script>alert(1)" not in path.read_text(encoding="utf-8")
    assert [tag for tag, _ in page.found].count("script") == 4
    assert next(a["data-client"] for tag, a in page.found if "data-client" in a) == name


def test_key_numbers_and_state_are_in_the_text(tmp_path: Path) -> None:
    text = parsed(write_report(write(tmp_path / "whole"))).text
    assert "68.00 %" in text
    assert re.search(r"final test accuracy\s*60\.00 %", text)
    assert "NOT finished" not in text
    assert "flatters" in text
    text = parsed(write_report(write(tmp_path / "half", finished=False, until=1))).text
    assert "NOT finished" in text


@pytest.mark.parametrize(
    "options",
    [{"accuracy": False}, {"finished": False, "until": 0}, {"finished": False, "until": 1}],
)
def test_every_kind_of_run_has_a_report(tmp_path: Path, options: dict[str, Any]) -> None:
    for figure in figures(write_report(write(tmp_path, **options))).values():
        alt.LayerChart.from_dict(figure["spec"], validate=True)


def test_a_report_from_next_to_nothing(tmp_path: Path) -> None:
    folder = write(tmp_path)
    with sqlite3.connect(folder / "run.db") as connection:
        connection.execute("DELETE FROM facts WHERE name != 'version'")
        connection.execute("DELETE FROM clients")
    assert write_report(folder).is_file()


def test_one_client_one_round(tmp_path: Path) -> None:
    found = figures(write_report(write_large(tmp_path, 1, 1)))
    assert "bytes" not in found
    assert len(found["rounds"]["spec"]["datasets"]["rows"]) == 1  # both views are equal


def test_large_runs_stay_small(tmp_path: Path) -> None:
    folder = write_large(tmp_path, 2000, 5)
    began = time.monotonic()
    path = write_report(folder)
    assert time.monotonic() - began < 20
    assert path.stat().st_size < 10e6
    found = figures(path)
    assert len(found["clusters"]["spec"]["datasets"]["rows"]) == 60 * 5
    assert "60 of 2000 clients are shown" in found["clusters"]["note"]
    assert "200 of 2000 clients are shown" in found["data"]["note"]


def test_a_failure_leaves_the_old_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write(tmp_path)
    (folder / "report.html").write_text("old")

    def refuse(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", refuse)
    with pytest.raises(FedkinError, match="No space left"):
        write_report(folder)
    assert (folder / "report.html").read_text() == "old"
    assert not list(folder.glob("*.part"))


def test_no_run_no_report(tmp_path: Path) -> None:
    with pytest.raises(FedkinError, match="not a run directory"):
        write_report(tmp_path)
