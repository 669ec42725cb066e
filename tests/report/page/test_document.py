"""What every page has around its content."""

import json
import re
import sqlite3
from pathlib import Path

import pytest

from fedkin.report.page.document import _inert
from fedkin.report.page.report import write_report
from tests.report.page.report_examples import figures, parsed
from tests.report.records_for_tests import write

LOADS = {
    "src",
    "href",
    "srcset",
    "action",
    "data",
    "poster",
}  # attributes that make a browser fetch


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


def test_names_cannot_break_out(tmp_path: Path) -> None:
    name = "</script><script>alert(1)</script><!--<b>'\""
    path = write_report(rename(write(tmp_path), name))
    page = parsed(path)
    assert "<script>alert(1)" not in path.read_text(encoding="utf-8")
    assert [tag for tag, _ in page.found].count("script") == 4
    assert next(a["data-client"] for tag, a in page.found if "data-client" in a) == name


def test_what_is_no_json_is_not_written() -> None:
    """A browser reads neither nan nor infinity, and would show no chart at all."""
    assert _inert({"a": "</script>"}) == '{"a":"\\u003c/script>"}'
    for value in (float("nan"), float("inf")):
        with pytest.raises(ValueError, match="not JSON compliant"):
            _inert([value])
